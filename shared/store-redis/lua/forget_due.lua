-- Forgets webhooks of the due set that are still under this lease.
-- KEYS  1 {due:NN}:at (zset)  2 {due:NN}:records (hash)  3 {due:NN}:leases (hash: id -> token)
-- ARGV  1 token, then the ids
-- Reply the number of webhooks that were forgotten.
-- Atomic: a webhook that is scheduled again in between has no lease any more and must stay (X7).
local forgotten = 0
for i = 2, #ARGV do
  if redis.call('HGET', KEYS[3], ARGV[i]) == ARGV[1] then
    redis.call('ZREM', KEYS[1], ARGV[i])
    redis.call('HDEL', KEYS[2], ARGV[i])
    redis.call('HDEL', KEYS[3], ARGV[i])
    forgotten = forgotten + 1
  end
end
return forgotten
