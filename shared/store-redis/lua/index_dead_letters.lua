-- Indexes dead letters of one tenant, each in place of an earlier one of its webhook.
-- KEYS  1 {dead:<config_id>}:at (zset: line -> ms)  2 {dead:<config_id>}:ids (hash: id -> "<leased until> <line>")
-- ARGV  1 time to live, ms, then for each entry: id, given up at, ms, line of wire::hot::dead_letter
-- Reply the number of entries that were indexed.
-- Atomic: of two dead letters of one webhook the later stays, in both keys.
local indexed = 0
for i = 2, #ARGV, 3 do
  local id, at, line = ARGV[i], ARGV[i + 1], ARGV[i + 2]
  local known = redis.call('HGET', KEYS[2], id) or ''
  local leased_until, old = string.match(known, '^(%d+) (.*)$')
  local old_at = tonumber(string.match(old or '', '^%S+ %S+ %S+ %S+ (%d+) ') or -1)
  if old_at <= tonumber(at) then
    if old then
      redis.call('ZREM', KEYS[1], old)
    end
    -- The same dead letter once more keeps its lease, so that a replay that is under way stays the only one.
    leased_until = old_at == tonumber(at) and leased_until or '0'
    redis.call('ZADD', KEYS[1], at, line)
    redis.call('HSET', KEYS[2], id, leased_until .. ' ' .. line)
    indexed = indexed + 1
  end
end
-- Entries that are older than the newest by more than the time to live have no record in the log any more; 100 at once,
-- so that the script stays short.
local newest = redis.call('ZRANGE', KEYS[1], -1, -1, 'WITHSCORES')
local past = string.format('(%.0f', tonumber(newest[2] or 0) - tonumber(ARGV[1]))
for _, line in ipairs(redis.call('ZRANGE', KEYS[1], '-inf', past, 'BYSCORE', 'LIMIT', 0, 100)) do
  redis.call('ZREM', KEYS[1], line)
  redis.call('HDEL', KEYS[2], string.match(line, '^%S+'))
end
redis.call('PEXPIRE', KEYS[1], ARGV[1])
redis.call('PEXPIRE', KEYS[2], ARGV[1])
return indexed
