-- Puts webhooks into the due set. A later dispatch stays; a webhook that is put loses its lease (X7, X13).
-- KEYS  1 {due:NN}:at (zset: id -> ms)  2 {due:NN}:records (hash: id -> value)  3 {due:NN}:leases (hash: id -> token)
-- ARGV  for each webhook: id, due, ms, value ("<dispatch> " and compressed bytes)
-- Reply the number of webhooks that were put.
-- Atomic: member, record and lease move together, and an earlier dispatch must not replace a later one.
local put = 0
local function number(value)
  return tonumber(string.match(value, '^(%d+) ') or 0)
end
for i = 1, #ARGV, 3 do
  local id, due, value = ARGV[i], ARGV[i + 1], ARGV[i + 2]
  local known = redis.call('HGET', KEYS[2], id)
  if not known or number(known) <= number(value) then
    redis.call('ZADD', KEYS[1], due, id)
    redis.call('HSET', KEYS[2], id, value)
    redis.call('HDEL', KEYS[3], id)
    put = put + 1
  end
end
return put
