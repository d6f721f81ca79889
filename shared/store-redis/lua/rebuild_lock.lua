-- Takes or renews the rebuild's lock.
-- KEYS  1 {system}:rebuild (hash: holder, until, fence, cursor)
-- ARGV  1 holder  2 now, ms  3 until, ms
-- Reply fence, cursor or "" | nothing when somebody else holds it
-- Atomic: of many that ask at once, one may see it free.
local key = KEYS[1]
local holder, held_until, fence, cursor = unpack(redis.call('HMGET', key, 'holder', 'until', 'fence', 'cursor'))
if holder ~= ARGV[1] then
  if holder and tonumber(ARGV[2]) < tonumber(held_until or 0) then
    return {}
  end
  -- By the clock, so that a fence given before a loss is stale after it.
  fence = string.format('%.0f', math.max(tonumber(fence or 0) + 1, tonumber(ARGV[2])))
end
redis.call('HSET', key, 'holder', ARGV[1], 'until', ARGV[3], 'fence', fence)
return {fence, cursor or ''}
