-- Takes the claim on one dispatch of a webhook: domain::ClaimState::take (CL-1).
-- KEYS  1 {wh:<id>} (hash)
-- ARGV  1 dispatch  2 replayed_from  3 holder  4 until, ms  5 now, ms  6 idle time to live, ms
-- Reply "taken", fence, 0 or 1 (takeover) | "settled", 0 or 1 (terminal), due, attempt | "held", until
-- Atomic: two concurrent holders must not both read a free claim before one of them writes it.
local key, dispatch, now = KEYS[1], tonumber(ARGV[1]), tonumber(ARGV[5])
local pattern = '^(%d+) (%d+) ([01]) (%S+) (%S+) (%S+) (%S+) (.*)$'
local line = redis.call('HGET', key, 'claim') or ''
local fence, settled, terminal, due, attempt, held, held_until, holder = string.match(line, pattern)
if not fence then -- there is no claim, or its value cannot be read and counts as lost
  fence, settled, terminal, due, attempt, held = '0', '0', '0', '-', '-', '-'
end
local past = tonumber(settled)
if past >= dispatch or (terminal == '1' and tonumber(ARGV[2]) < past) then
  if past ~= dispatch then
    due, attempt = '-', '-'
  end
  return {'settled', terminal, due, attempt}
end
local takeover = '0'
if held ~= '-' and tonumber(held) > dispatch then
  return {'settled', '0', '-', '-'}
elseif held ~= '-' and tonumber(held) == dispatch then
  if holder ~= '+' .. ARGV[3] and now < tonumber(held_until) then
    return {'held', held_until}
  end
  takeover = '1'
end
-- At least the time, so that a fence from before a loss of the store is stale after it.
fence = string.format('%.0f', math.max(tonumber(fence) + 1, now))
local kept = table.concat({fence, settled, terminal, due, attempt}, ' ')
redis.call('HSET', key, 'claim', kept .. ' ' .. ARGV[1] .. ' ' .. ARGV[4] .. ' +' .. ARGV[3])
redis.call('PEXPIRE', key, ARGV[6])
return {'taken', fence, takeover}
