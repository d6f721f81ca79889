-- Adds endpoints to the estimate of different ones in one hour.
-- KEYS  1 {hll}:<YYYYMMDDHH> (HyperLogLog)
-- ARGV  1 time to live, ms, then the endpoints' hashes
-- Reply 1
-- Atomic: the estimate never stays without a time to live.
for i = 2, #ARGV do
  redis.call('PFADD', KEYS[1], ARGV[i])
end
redis.call('PEXPIRE', KEYS[1], ARGV[1])
return 1
