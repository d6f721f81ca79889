-- Gives back a lease of an endpoint, and a token that was taken and not used: domain::Tokens::give_back.
-- KEYS  1 {ep:<hash>} (hash)  2 {ep:<hash>}:inflight (zset)
-- ARGV  1 holder of the lease, "": there is none  2 the interval of the pace, us
-- Reply 1
-- Atomic: between reading the tokens and writing them, another request may take one.
if ARGV[1] ~= '' then
  redis.call('ZREM', KEYS[2], ARGV[1])
end
local full_at, last_turn = string.match(redis.call('HGET', KEYS[1], 'tokens') or '', '^(%d+) (%d+)$')
if full_at then
  full_at = math.max(tonumber(full_at) - tonumber(ARGV[2]), 0)
  redis.call('HSET', KEYS[1], 'tokens', string.format('%.0f %s', full_at, last_turn))
end
return 1
