-- debug.sethook and gethook, per coroutine, with what Lua gives the function.
local log = {}
local function note(...) log[#log + 1] = table.concat({...}, ":") end
local function show(label) debug.sethook() print(label, table.concat(log, " ")) log = {} end
local function plain(x) return x end
local function tail(x) return plain(x) end

print(debug.gethook())
debug.sethook(function(event, line) note(event, tostring(line)) end, "c")
plain(1); tail(2)
show("c")
debug.sethook(function(event) note(event) end, "r")
plain(1); tail(2)
show("r")
debug.sethook(function(event) note(event) end, "cr")
plain(1); tail(2)
show("cr")
debug.sethook(function(event, line) note(event, tostring(line)) end, "l")
plain(1)
local y = 1
show("l")
debug.sethook(function(event, line) note(event, tostring(line)) end, "crl")
tail(1)
show("crl")
local counted = 0
debug.sethook(function(event) counted = counted + 1 end, "", 100)
for i = 1, 10000 do end
debug.sethook()
print("count", counted)

local function hook() end
debug.sethook(hook, "lrc", 7)
local f, mask, count = debug.gethook()
print(f == hook, mask, count)
debug.sethook(hook, "")
print(debug.gethook())
debug.sethook(hook, "", 5)
f, mask, count = debug.gethook()
print(f == hook, mask, count)
debug.sethook(nil)
print(debug.gethook())
print(pcall(debug.sethook, hook))
print(pcall(debug.sethook, hook, 1))
print(pcall(debug.sethook, 1, "c"))
print(pcall(debug.sethook, hook, "c", "x"))

-- A new coroutine inherits the mask, but not the function.
debug.sethook(hook, "cl", 3)
local co = coroutine.create(function()
    local f2, m2, c2 = debug.gethook()
    coroutine.yield(f2, m2, c2)
end)
print(debug.gethook(co))
print(coroutine.resume(co))
debug.sethook()
print(debug.gethook(co))
print(debug.gethook())

-- A hook of one coroutine only.
co = coroutine.create(function() plain(1); coroutine.yield(); plain(2) end)
debug.sethook(co, function(event) note(event) end, "cr")
print(select(2, debug.gethook(co)), debug.gethook())
coroutine.resume(co)
plain(3)
coroutine.resume(co)
show("coroutine")
print(pcall(debug.sethook, co, hook))
debug.sethook(co)
print(debug.gethook(co))

-- Errors and levels in a hook.
local ok, message = pcall(function()
    debug.sethook(function() debug.sethook(); error("from hook") end, "l")
    local a = 1
    return a
end)
debug.sethook()
print(ok, message)
local names = {}
debug.sethook(function(event)
    local info = debug.getinfo(2, "nSt")
    names[#names + 1] = event .. "=" .. tostring(info.name) .. "/" .. info.what .. "/" .. tostring(info.istailcall)
end, "cr")
tail(string.rep("x", 2))
pcall(plain)
debug.sethook()
print(table.concat(names, " "))
local transferred
debug.sethook(function(event)
    local info = debug.getinfo(2, "r")
    transferred = (transferred or "") .. info.ftransfer .. "," .. info.ntransfer .. " "
end, "cr")
plain(1, 2)
debug.sethook()
print(transferred)
