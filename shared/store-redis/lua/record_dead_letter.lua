-- Records at a webhook which tenant's index has its dead letter, so that the dead letter is found by the webhook's id alone.
-- KEYS  1 {wh:<id>} (hash)
-- ARGV  1 config id  2 idle time to live, ms
-- Reply 1
-- Atomic: a key that was made by the first command and not given a time to live would stay for ever.
redis.call('HSET', KEYS[1], 'dead', ARGV[1])
if redis.call('PTTL', KEYS[1]) < tonumber(ARGV[2]) then
  redis.call('PEXPIRE', KEYS[1], ARGV[2])
end
return 1
