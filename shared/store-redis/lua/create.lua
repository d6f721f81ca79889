-- Writes the first status of a webhook, if it has none: the lowest status there is, so that any other one replaces it.
-- KEYS  1 {wh:<id>} (hash)
-- ARGV  1 status line  2 idle time to live, ms
-- Reply 1, or 0 when the webhook has a status and nothing changed.
-- Atomic: a key that was made by the first command and not given a time to live would stay for ever.
if redis.call('HSETNX', KEYS[1], 'status', ARGV[1]) == 0 then
  return 0
end
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return 1
