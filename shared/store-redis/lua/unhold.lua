-- Takes webhooks of one tenant at an endpoint, up to a dispatch each, out of what is held.
-- KEYS  1 {ep:<hash>} (hash)  2 {ep:<hash>}:settings (set)
--       3 {ep:<hash>}:setting:<config_id>  4 {ep:<hash>}:held:<config_id> (hash: id -> value)
-- ARGV  1 config id  2 idle time to live, ms, then for each webhook: id, dispatch
-- Reply 1 when the set of settings became empty; else 0.
-- Atomic: a later dispatch that is held in between must stay, and the set must not name a tenant without held webhooks.
if redis.call('EXISTS', KEYS[4]) == 0 then
  return 0
end
for i = 3, #ARGV, 2 do
  local known = redis.call('HGET', KEYS[4], ARGV[i])
  if known and tonumber(string.match(known, '^(%d+) ') or 0) <= tonumber(ARGV[i + 1]) then
    redis.call('HDEL', KEYS[4], ARGV[i])
  end
end
local state = string.match(redis.call('GET', KEYS[3]) or 'active', '^%l+')
if redis.call('EXISTS', KEYS[4]) == 1 or state ~= 'active' then
  return 0
end
redis.call('SREM', KEYS[2], ARGV[1])
if redis.call('EXISTS', KEYS[2]) == 1 then
  return 0
end
redis.call('PEXPIRE', KEYS[1], ARGV[2])
local ends = string.match(redis.call('HGET', KEYS[1], 'cooldown') or '', '^%d+ (%d+) ')
if ends then redis.call('PEXPIREAT', KEYS[1], ends, 'GT') end -- a cooldown is not forgotten before its window ends
return 1
