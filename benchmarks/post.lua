-- Reports for wrk: a random output of a random mechanism, each with an id of its own.
local names = {"careful", "relaxed"}
local digits = {}
for number = 0, 65535 do digits[number] = string.format("%04x", number) end
math.randomseed(os.time())
wrk.method = "POST"
wrk.headers["content-type"] = "application/json"

request = function()
  local id = {}
  for place = 1, 8 do id[place] = digits[math.random(0, 65535)] end
  return wrk.format(nil, nil, nil, string.format(
    '{"mechanism":"%s","report":%d,"report_id":"%s"}',
    names[math.random(1, 2)], math.random(0, 99), table.concat(id)))
end
