-- Collections, counted by the script's own sentinel.
local cycles = 0
local function arm()
    setmetatable({}, {__gc = function()
        cycles = cycles + 1
        arm()
    end})
end
collectgarbage("incremental")
collectgarbage()
arm()
load("", "=begin")
for i = 1, 10 do collectgarbage() end
local t
for i = 1, 200000 do t = {i} end
collectgarbage("stop")
load("", "=end")
print(string.format('{"cycles": %d}', cycles))
