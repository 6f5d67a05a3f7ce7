-- Calls, returns and tail calls, counted by name, or by line where Lua knows no name: what pcall or
-- resume calls. The last line of output is what to expect.
local expected = {}
local function count(key, calls, tailcalls, returns)
    local name = type(key) == "string" and key or "line " .. debug.getinfo(key, "S").linedefined
    expected[#expected + 1] = string.format('"%s": [%d, %d, %d]', name, calls, tailcalls, returns)
end

local function plain(x)
    return x
end
local function tail(x)
    return plain(x)
end
local function fails()
    error("unwinds")
end
local object = {}
function object:method()
    return self
end
function object_global()
    return 1
end

for i = 1, 100 do local _ = plain(i) end
for i = 1, 50 do local _ = tail(i) end -- plain is entered by a tail call, and returns for both
for i = 1, 20 do pcall(fails) end      -- no return
for i = 1, 30 do object:method() end
for i = 1, 10 do object_global() end
for i = 1, 40 do string.upper("x") end

-- One function, many closures: one number.
local function make(i)
    return function() return i end
end
for i = 1, 25 do local closure = make(i); closure() end

-- Chunks that are loaded, run and collected: new numbers, though addresses come back.
for i = 1, 200 do
    load("local function short() return 1 end short()", "=chunk" .. i)()
    load("local function long() return 1 end long()", "=a name of a chunk beyond forty characters " .. i)()
    if i % 20 == 0 then collectgarbage() end
end

-- In a coroutine.
local function inside()
    coroutine.yield()
    plain(1)
end
for i = 1, 5 do
    local co = coroutine.create(inside)
    coroutine.resume(co)
    coroutine.resume(co)
end

count("plain", 105, 50, 155)
count("tail", 50, 0, 0)
count(fails, 20, 0, 0)
count("method", 30, 0, 30)
count("object_global", 10, 0, 10)
count("string.upper", 40, 0, 40)
count("make", 25, 0, 25)
count("closure", 25, 0, 25)
count("short", 200, 0, 200)
count("long", 200, 0, 200)
count(inside, 5, 0, 5)
print("{" .. table.concat(expected, ", ") .. "}")
