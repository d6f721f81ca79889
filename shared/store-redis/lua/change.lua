-- Changes an endpoint's circuit and cooldown if its version is still the one that the decision was made on (CB-1).
-- KEYS  1 {ep:<hash>} (hash)  2 {ep:<hash>}:settings (set)
-- ARGV  1 version  2 circuit line  3 cooldown line, "": none  4 URL  5 idle time to live, ms
-- Reply 1 (made) or 0 (lost), 1 when the endpoint became healthy or unhealthy, else 0, fields and values of the hash
-- Atomic: of many processes that read the same version, only one may change it.
local key = KEYS[1]
local version, circuit, cooldown = unpack(redis.call('HMGET', key, 'version', 'circuit', 'cooldown'))
if tonumber(version or 0) ~= tonumber(ARGV[1]) then
  return {0, 0, redis.call('HGETALL', key)}
end
local was_normal = not cooldown and string.sub(circuit or 'closed', 1, 6) == 'closed'
local is_normal = ARGV[3] == '' and string.sub(ARGV[2], 1, 6) == 'closed'
redis.call('HINCRBY', key, 'version', 1)
redis.call('HSET', key, 'circuit', ARGV[2], 'url', ARGV[4])
if ARGV[3] == '' then
  redis.call('HDEL', key, 'cooldown')
else
  redis.call('HSET', key, 'cooldown', ARGV[3])
end
if redis.call('EXISTS', KEYS[2]) == 0 then
  redis.call('PEXPIRE', key, ARGV[5])
  local ends = string.match(ARGV[3], '^%d+ (%d+) ')
  if ends then redis.call('PEXPIREAT', key, ends, 'GT') end -- a cooldown is not forgotten before its window ends
end
return {1, was_normal ~= is_normal and 1 or 0, redis.call('HGETALL', key)}
