-- Gives back a claim that was taken and not used: domain::ClaimState::give_back.
-- KEYS  1 {wh:<id>} (hash)
-- ARGV  1 fence
-- Reply 1 when it was given back, 0 when the fence is stale.
-- Atomic: between reading the fence and writing, another holder may take the claim.
local line = redis.call('HGET', KEYS[1], 'claim') or ''
local kept, fence = string.match(line, '^((%d+) %d+ [01] %S+ %S+) ')
if not fence or tonumber(fence) ~= tonumber(ARGV[1]) then
  return 0
end
redis.call('HSET', KEYS[1], 'claim', kept .. ' - - -')
return 1
