-- Adds to the counters of one hour.
-- KEYS  1 stats:<YYYYMMDDHH> (hash)
-- ARGV  1 time to live, ms, then for each counter: name, number to add
-- Reply 1
-- Atomic: an hour is counted whole or not at all, and never stays without a time to live.
for i = 2, #ARGV, 2 do
  redis.call('HINCRBY', KEYS[1], ARGV[i], ARGV[i + 1])
end
redis.call('PEXPIRE', KEYS[1], ARGV[1])
return 1
