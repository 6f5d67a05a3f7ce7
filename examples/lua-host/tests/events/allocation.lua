-- Objects made between two strings of known lengths. The last line is the count of each type.
collectgarbage("stop")
local kept = {}
for i = 1, 4000 do kept[i] = false end -- room, so that keeping things allocates nothing

local opening = string.rep("<", 77777)
for i = 1, 1000 do kept[i] = {} end
for i = 1001, 1300 do kept[i] = function() return i end end
for i = 1301, 1350 do kept[i] = coroutine.create(print) end
for i = 1351, 1370 do kept[i] = "a string that is too long to be kept only once, number " .. i end
local closing = string.rep(">", 88888)

collectgarbage("restart")
kept = nil
collectgarbage()
print('{"opening": 77777, "closing": 88888, "5": 1000, "6": 300, "8": 50, "strings": 20}')
