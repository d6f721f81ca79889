-- Writes the first status of a webhook, if nothing is known of it: the lowest there is, so that any other outranks it.
-- KEYS  1 {wh:<id>} (hash)
-- ARGV  1 status line  2 idle time to live, ms
-- Reply 1, or 0 when there is a status already and nothing changed.
-- Atomic: a webhook that is written must not stay for ever when the writer dies between the two steps.
if redis.call('HSETNX', KEYS[1], 'status', ARGV[1]) == 0 then
  return 0
end
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return 1
