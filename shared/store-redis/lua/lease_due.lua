-- Leases webhooks of the due set that still have the time at which they were seen, up to a number of bytes.
-- KEYS  1 {due:NN}:at (zset: id -> ms)  2 {due:NN}:records (hash: id -> value)  3 {due:NN}:leases (hash: id -> token)
-- ARGV  1 token  2 until, ms  3 bytes, as unpacked, then for each webhook: id, the time it was seen at, ms
-- Reply for each webhook its value, or "" when it was leased or moved meanwhile, or the bytes are used up. The last one may
--       go beyond.
-- Atomic: two schedulers that saw the same webhook must not both lease it.
local values, room = {}, tonumber(ARGV[3])
local function size(value) -- at least what its zstd frame says that it holds (RFC 8878, 3.1.1.1), little end first
  local at = (string.find(value, ' ', 1, true) or 0) + 5
  local head = string.byte(value, at) or 0
  local width, single, bytes = 2 ^ math.floor(head / 64), math.floor(head / 32) % 2, 0
  for i = at + 1 - single + width, at + 2 - single, -1 do
    bytes = bytes * 256 + (string.byte(value, i) or 0)
  end
  return math.max(bytes, #value)
end
for i = 4, #ARGV, 2 do
  local id, value = ARGV[i], ''
  local at = room > 0 and redis.call('ZSCORE', KEYS[1], id)
  if at and tonumber(at) == tonumber(ARGV[i + 1]) then
    value = redis.call('HGET', KEYS[2], id) or ''
    if value == '' then -- a member without its record can't be released
      redis.call('ZREM', KEYS[1], id)
      redis.call('HDEL', KEYS[3], id)
    else
      redis.call('ZADD', KEYS[1], ARGV[2], id)
      redis.call('HSET', KEYS[3], id, ARGV[1])
      room = room - size(value)
    end
  end
  values[#values + 1] = value
end
return values
