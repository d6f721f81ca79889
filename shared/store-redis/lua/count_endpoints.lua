-- Adds endpoints to the estimate of the number of different endpoints in one hour.
-- KEYS  1 {hll}:<YYYYMMDDHH> (HyperLogLog)
-- ARGV  1 time to live, ms, then the endpoints' hashes
-- Reply 1
-- Atomic: an estimate that was begun and not given a time to live would stay for ever.
for i = 2, #ARGV do
  redis.call('PFADD', KEYS[1], ARGV[i])
end
redis.call('PEXPIRE', KEYS[1], ARGV[1])
return 1
