-- Takes a lease on a domain, or renews the holder's own (LN-1).
-- KEYS  1 {host:<host>}:inflight (zset: holder -> expiry, ms)
-- ARGV  1 holder  2 limit  3 now, ms  4 until, ms  5 time to live beyond the lease, ms
-- Reply 1 taken, 0 full.
-- Atomic: two concurrent holders must not both count the leases before one of them takes its own.
local key, limit = KEYS[1], tonumber(ARGV[2])
if not redis.call('ZSCORE', key, ARGV[1]) and redis.call('ZCARD', key) >= limit then
  redis.call('ZREMRANGEBYSCORE', key, '-inf', ARGV[3])
  if redis.call('ZCARD', key) >= limit then
    return 0
  end
end
redis.call('ZADD', key, ARGV[4], ARGV[1])
redis.call('PEXPIRE', key, tonumber(ARGV[4]) - tonumber(ARGV[3]) + tonumber(ARGV[5]))
return 1
