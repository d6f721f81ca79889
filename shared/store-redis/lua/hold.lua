-- Holds webhooks of one tenant at an endpoint; a later dispatch stays.
-- KEYS  1 {ep:<hash>} (hash)  2 {ep:<hash>}:settings (set)  3 {ep:<hash>}:held:<config_id> (hash: id -> value)
-- ARGV  1 config id  2 URL, then for each webhook: id, value ("<dispatch> " and compressed bytes)
-- Reply 1 when the set of settings was empty before; else 0.
-- Atomic: an earlier dispatch must not replace a later one that comes in between, and the set must name the tenant.
local before = redis.call('EXISTS', KEYS[2])
local function number(value)
  return tonumber(string.match(value, '^(%d+) ') or 0)
end
for i = 3, #ARGV, 2 do
  local known = redis.call('HGET', KEYS[3], ARGV[i])
  if not known or number(known) <= number(ARGV[i + 1]) then
    redis.call('HSET', KEYS[3], ARGV[i], ARGV[i + 1])
  end
end
redis.call('SADD', KEYS[2], ARGV[1])
redis.call('HSET', KEYS[1], 'url', ARGV[2])
redis.call('PERSIST', KEYS[1])
return 1 - before
