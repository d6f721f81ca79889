-- Records how far the rebuild has come.
-- KEYS  1 {system}:rebuild (hash: holder, until, fence, cursor)
-- ARGV  1 fence  2 cursor line
-- Reply 1, or 0 when the fence is stale.
-- Atomic: a process that takes the lock in between must not find its cursor moved.
if redis.call('HGET', KEYS[1], 'fence') ~= ARGV[1] then
  return 0
end
redis.call('HSET', KEYS[1], 'cursor', ARGV[2])
return 1
