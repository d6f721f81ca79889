-- Records a decision on the setting of an endpoint for one tenant: of two decisions the later one stays, and of two of the
-- same time the stricter one.
-- KEYS  1 {ep:<hash>} (hash)  2 {ep:<hash>}:settings (set: config ids with a setting that is not active, or with held webhooks)
--       3 {ep:<hash>}:setting:<config_id>  4 {ep:<hash>}:held:<config_id> (hash)
-- ARGV  1 config id  2 state  3 decided at, ms  4 idle time to live, ms
-- Reply 1 when the set became empty or not empty any more; else 0.
-- Atomic: decisions come in any order, and the set must follow from the setting and the held webhooks.
local rank = {active = 0, paused = 1, disabled = 2, gone = 3}
local state, at = string.match(redis.call('GET', KEYS[3]) or '', '^(%l+) (%d+)$')
local newer = not state or tonumber(ARGV[3]) > tonumber(at)
if newer or (ARGV[3] == at and rank[ARGV[2]] >= (rank[state] or 0)) then
  state = ARGV[2]
  redis.call('SET', KEYS[3], state .. ' ' .. ARGV[3])
end
local before = redis.call('EXISTS', KEYS[2])
if state ~= 'active' or redis.call('EXISTS', KEYS[4]) == 1 then
  redis.call('SADD', KEYS[2], ARGV[1])
  redis.call('PERSIST', KEYS[1])
else
  redis.call('SREM', KEYS[2], ARGV[1])
end
if state == 'active' then
  redis.call('PEXPIRE', KEYS[3], ARGV[4])
else
  redis.call('PERSIST', KEYS[3])
end
local after = redis.call('EXISTS', KEYS[2])
if after == 0 then
  redis.call('PEXPIRE', KEYS[1], ARGV[4])
  local ends = string.match(redis.call('HGET', KEYS[1], 'cooldown') or '', '^%d+ (%d+) ')
  if ends then redis.call('PEXPIREAT', KEYS[1], ends, 'GT') end -- a cooldown is not forgotten before its window ends
end
return before ~= after and 1 or 0
