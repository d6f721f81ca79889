-- Leases webhooks of the due set that are still where they were seen.
-- KEYS  1 {due:NN}:at (zset: id -> ms)  2 {due:NN}:records (hash: id -> value)  3 {due:NN}:leases (hash: id -> token)
-- ARGV  1 token  2 until, ms, then for each webhook: id, the time it was seen at, ms
-- Reply for each webhook its value, or "" when another was faster.
-- Atomic: two schedulers that saw the same webhook must not both lease it.
local values = {}
for i = 3, #ARGV, 2 do
  local id, value = ARGV[i], ''
  local at = redis.call('ZSCORE', KEYS[1], id)
  if at and tonumber(at) == tonumber(ARGV[i + 1]) then
    value = redis.call('HGET', KEYS[2], id) or ''
    if value == '' then -- a member without its record can't be released
      redis.call('ZREM', KEYS[1], id)
      redis.call('HDEL', KEYS[3], id)
    else
      redis.call('ZADD', KEYS[1], ARGV[2], id)
      redis.call('HSET', KEYS[3], id, ARGV[1])
    end
  end
  values[#values + 1] = value
end
return values
