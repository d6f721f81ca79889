-- Takes a dead letter out of the index, unless a later one of its webhook has replaced it.
-- KEYS  1 {dead:<config_id>}:at (zset: line -> ms)  2 {dead:<config_id>}:ids (hash: id -> "<leased until> <line>")
-- ARGV  1 id  2 given up at, ms
-- Reply 1, or 0 when it is not there.
-- Atomic: a later dead letter that is indexed in between must stay, and both keys must have the same entries.
local known = redis.call('HGET', KEYS[2], ARGV[1]) or ''
local line = string.match(known, '^%d+ (.*)$')
local at = string.match(line or '', '^%S+ %S+ %S+ %S+ (%d+) ')
if not at or tonumber(at) ~= tonumber(ARGV[2]) then
  return 0
end
redis.call('ZREM', KEYS[1], line)
redis.call('HDEL', KEYS[2], ARGV[1])
return 1
