-- Counts the outcome of a request at its endpoint, merges a cooldown, and gives the lease of the request back.
-- KEYS  1 {ep:<hash>} (hash)  2 {ep:<hash>}:inflight (zset)  3 {ep:<hash>}:settings (set)
-- ARGV  1 bucket's start, ms  2 failures  3 successes  4 slow  5 keep buckets since, ms
--       6 cooldown line, "": none  7 URL  8 idle time to live, ms  9 holder of the lease, "": none
-- Reply {} after a success at a healthy endpoint: nothing was written | 1 (the endpoint had no cooldown) or 0, fields, values
-- Atomic: counts and cooldowns of concurrent requests must all be kept, and the reply is their sum.
if ARGV[9] ~= '' then redis.call('ZREM', KEYS[2], ARGV[9]) end
local key, cooldown, fields, buckets = KEYS[1], ARGV[6], {}, 0
local list = redis.call('HGETALL', key)
for i = 1, #list, 2 do
  fields[list[i]] = list[i + 1]
  if string.sub(list[i], 1, 7) == 'bucket:' then buckets = buckets + 1 end
end
local is_normal = not fields.cooldown and string.sub(fields.circuit or 'closed', 1, 6) == 'closed'
if cooldown == '' and ARGV[2] == '0' and ARGV[4] == '0' and is_normal and buckets == 0 then return {} end
for name in pairs(fields) do
  local start = string.match(name, '^bucket:(%d+)$')
  if start and tonumber(start) < tonumber(ARGV[5]) then redis.call('HDEL', key, name) end
end
local tally = {string.match(redis.call('HGET', key, 'bucket:' .. ARGV[1]) or '', '^(%d+) (%d+) (%d+)$')}
for i = 1, 3 do tally[i] = string.format('%.0f', math.min((tonumber(tally[i]) or 0) + ARGV[i + 1], 4294967295)) end
local counts = ARGV[2] ~= '0' or ARGV[3] ~= '0' or ARGV[4] ~= '0'
if counts then redis.call('HSET', key, 'bucket:' .. ARGV[1], table.concat(tally, ' ')) end
local words = '^(%d+) (%d+) ([01]) (%S+)$'
local new, old = {string.match(cooldown, words)}, {string.match(fields.cooldown or '', words)}
local longer = cooldown ~= '' and not old[1] -- of two cooldowns, the one whose first differing number is greater
for i = 1, (new[1] and old[1]) and 4 or 0 do
  local a, b = tonumber(new[i]) or -1, tonumber(old[i]) or -1
  if a ~= b then longer = a > b break end
end
if longer then redis.call('HINCRBY', key, 'version', 1) redis.call('HSET', key, 'cooldown', cooldown) end
redis.call('HSET', key, 'url', ARGV[7])
if redis.call('EXISTS', KEYS[3]) == 0 then
  redis.call('PEXPIRE', key, ARGV[8])
  local ends = string.match(redis.call('HGET', key, 'cooldown') or '', '^%d+ (%d+) ')
  if ends then redis.call('PEXPIREAT', key, ends, 'GT') end -- a cooldown is not forgotten before its window ends
end
return {(longer and not fields.cooldown) and 1 or 0, redis.call('HGETALL', key)}
