-- Leases a dead letter, so that a replay is made once.
-- KEYS  1 {dead:<config_id>}:ids (hash: id -> "<leased until> <line>")
-- ARGV  1 id  2 given up at, ms  3 now, ms  4 until, ms
-- Reply 1, or 0 when it is gone, replaced by a later one, or leased already.
-- Atomic: of many concurrent callers only one may find it free.
local known = redis.call('HGET', KEYS[1], ARGV[1]) or ''
local leased_until, line = string.match(known, '^(%d+) (.*)$')
local at = string.match(line or '', '^%S+ %S+ %S+ %S+ (%d+) ')
if not at or tonumber(at) ~= tonumber(ARGV[2]) or tonumber(leased_until) > tonumber(ARGV[3]) then
  return 0
end
redis.call('HSET', KEYS[1], ARGV[1], ARGV[4] .. ' ' .. line)
return 1
