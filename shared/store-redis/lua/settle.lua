-- Settles a dispatch: merges its status (domain::Status::merge, ST-1), ends its claim, keeps its attempt.
-- KEYS  1 {wh:<id>} (hash)
-- ARGV  1 fence, "-": only merge the status, the claim stays  2 status line  3 idle time to live, ms
--       4 attempts to keep  5 field of the attempt, "": none  6 attempt line
-- Reply 1, or 0 when the fence is stale and nothing changed.
-- Atomic: fence, status and claim must be those of one moment (CL-1), and merging is a read and a write.
local key, words = KEYS[1], '^(%d+) ([01]) (%d+) ([0-5]) (%d+) (%S+) (%S+) (%S+) (%S+) (%S+) (%S+) (%d+) (%S+) (.*)$'
local claim, known = unpack(redis.call('HMGET', key, 'claim', 'status'))
local fence, settled, held = string.match(claim or '', '^(%d+) (%d+) [01] %S+ %S+ (.*)$')
fence, settled, held = fence or '0', tonumber(settled or 0), held or '- - -'
local new, old = {string.match(ARGV[2], words)}, {string.match(known or '', words)}
local function through(status) return tonumber(status[3]) - (tonumber(status[4]) < 2 and 1 or 0) end
if ARGV[1] ~= '-' then
  if tonumber(ARGV[1]) < tonumber(fence) or settled >= through(new) then return 0 end
  held = '- - -'
end
local function further() -- whether the new status is, by the fields in the order that the domain derives
  for i = 1, old[1] and 11 or 0 do
    local a, b = tonumber(new[i]) or -1, tonumber(old[i]) or -1
    if a ~= b then return a > b end
  end
  return not old[1] or (new[14] ~= '-' and (old[14] == '-' or new[14] > old[14]))
end
local latest, status = math.max(tonumber(new[12]), tonumber(old[12] or 0)), further() and new or old
status[12] = string.format('%.0f', latest)
settled = string.format('%.0f', through(status))
if status[2] == '1' then held = '- - -' end -- domain::ClaimState::follow
claim = table.concat({fence, settled, status[2], status[6], status[7], held}, ' ')
redis.call('HSET', key, 'status', table.concat(status, ' '), 'claim', claim)
redis.call(status[4] == '3' and 'PERSIST' or 'PEXPIRE', unpack(status[4] == '3' and {key} or {key, ARGV[3]}))
if ARGV[5] == '' or redis.call('HSETNX', key, ARGV[5], ARGV[6]) == 0 then return 1 end
if redis.call('HLEN', key) <= tonumber(ARGV[4]) + 2 then return 1 end
local made = {}
for _, field in ipairs(redis.call('HKEYS', key)) do
  if string.sub(field, 1, 2) == 'a:' then made[#made + 1] = field end
end
table.sort(made)
for i = 1, #made - tonumber(ARGV[4]) do redis.call('HDEL', key, made[i]) end
return 1
