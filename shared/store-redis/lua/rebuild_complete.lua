-- Writes the epoch: the hot state is rebuilt.
-- KEYS  1 {system}:rebuild (hash: holder, until, fence, cursor)  2 {system}:epoch
-- ARGV  1 fence  2 epoch line
-- Reply 1, or 0 when the fence is stale.
-- Atomic: a loss in between also loses the fence, so an empty store never gets an epoch.
if redis.call('HGET', KEYS[1], 'fence') ~= ARGV[1] then
  return 0
end
redis.call('SET', KEYS[2], ARGV[2])
return 1
