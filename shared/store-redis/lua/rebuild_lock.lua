-- Takes or renews the lock of the rebuild.
-- KEYS  1 {system}:rebuild (hash: holder, until, fence, cursor)
-- ARGV  1 holder  2 now, ms  3 until, ms
-- Reply fence, cursor or "" | nothing when another process holds it
-- Atomic: of many concurrent callers only one may find it free.
local key = KEYS[1]
local holder, held_until, fence, cursor = unpack(redis.call('HMGET', key, 'holder', 'until', 'fence', 'cursor'))
if holder ~= ARGV[1] then
  if holder and tonumber(ARGV[2]) < tonumber(held_until or 0) then
    return {}
  end
  -- At least the time, so that a fence from before a loss of the store is stale after it.
  fence = string.format('%.0f', math.max(tonumber(fence or 0) + 1, tonumber(ARGV[2])))
end
redis.call('HSET', key, 'holder', ARGV[1], 'until', ARGV[3], 'fence', fence)
return {fence, cursor or ''}
