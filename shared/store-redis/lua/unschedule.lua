-- Takes webhooks up to a dispatch out of the due set, leased or not.
-- KEYS  1 {due:NN}:at (zset)  2 {due:NN}:records (hash)  3 {due:NN}:leases (hash)
-- ARGV  for each webhook: id, dispatch
-- Reply the number of webhooks that were taken out.
-- Atomic: member, record and lease go together (X13), and a later dispatch that is put in between must stay.
local out = 0
for i = 1, #ARGV, 2 do
  local known = redis.call('HGET', KEYS[2], ARGV[i])
  if known and tonumber(string.match(known, '^(%d+) ') or 0) <= tonumber(ARGV[i + 1]) then
    redis.call('ZREM', KEYS[1], ARGV[i])
    redis.call('HDEL', KEYS[2], ARGV[i])
    redis.call('HDEL', KEYS[3], ARGV[i])
    out = out + 1
  end
end
return out
