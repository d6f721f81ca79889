-- Takes a lease and a token of an endpoint and reads its state and setting. Of a healthy endpoint it writes nothing else.
-- KEYS  1 {ep:<hash>} (hash)  2 {ep:<hash>}:inflight (zset: holder -> expiry, ms)
--       3 {ep:<hash>}:setting:<config_id>
-- ARGV  1 holder  2 limit  3 now, ms  4 until, ms  5 time to live beyond the lease, ms
--       6 the interval of the pace, us, 0: no pace  7 the burst of the pace, us  8 idle time to live, ms
-- Reply 1 or 0 (lease taken), "free" (no pace) | "taken" | time of the next token, us, setting or "", fields and values of 1
-- Atomic: between counting leases or tokens and taking one, another request may take it (LN-1, domain::Tokens::take).
local lease, now = 1, tonumber(ARGV[3])
if not redis.call('ZSCORE', KEYS[2], ARGV[1]) and redis.call('ZCARD', KEYS[2]) >= tonumber(ARGV[2]) then
  redis.call('ZREMRANGEBYSCORE', KEYS[2], '-inf', ARGV[3])
  lease = redis.call('ZCARD', KEYS[2]) < tonumber(ARGV[2]) and 1 or 0
end
if lease == 1 then
  redis.call('ZADD', KEYS[2], ARGV[4], ARGV[1])
  redis.call('PEXPIRE', KEYS[2], tonumber(ARGV[4]) - now + tonumber(ARGV[5]))
end
local token, interval = 'free', tonumber(ARGV[6])
if interval > 0 then
  local full_at, last_turn = string.match(redis.call('HGET', KEYS[1], 'tokens') or '0 0', '^(%d+) (%d+)$')
  local now_us = now * 1000
  full_at, last_turn = tonumber(full_at or 0), tonumber(last_turn or 0)
  local filled = math.max(full_at, now_us) + interval
  if filled <= now_us + tonumber(ARGV[7]) then
    token, full_at = 'taken', filled
  else
    last_turn = math.max(last_turn, now_us) + interval
    token = string.format('%.0f', last_turn)
  end
  redis.call('HSET', KEYS[1], 'tokens', string.format('%.0f %.0f', full_at, last_turn))
  if redis.call('HLEN', KEYS[1]) == 1 then
    redis.call('PEXPIRE', KEYS[1], ARGV[8])
  end
end
return {lease, token, redis.call('GET', KEYS[3]) or '', redis.call('HGETALL', KEYS[1])}
