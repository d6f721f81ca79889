-- Sets the mark of a whole hot state.
-- KEYS  1 {system}:rebuild (hash: setting, until, fence, cursor)  2 {system}:epoch
-- ARGV  1 fence  2 epoch line
-- Reply 1, or 0 when the fence is stale.
-- Atomic: after a loss in between there is no fence, and so no mark on an empty store.
if redis.call('HGET', KEYS[1], 'fence') ~= ARGV[1] then
  return 0
end
redis.call('SET', KEYS[2], ARGV[2])
return 1
