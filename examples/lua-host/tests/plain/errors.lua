-- Protected calls: values, levels, handlers, error objects, yields across them.
print(pcall(error))
print(pcall(error, "text"))
print(pcall(error, "text", 2))
print(pcall(error, 42))
print(select("#", pcall(function() return nil, nil, nil end)))
print(pcall(pcall))
print(pcall(xpcall))
print(pcall(xpcall, print))
print(pcall(xpcall, print, 1))
print(pcall(1))
print(select("#", pcall(table.unpack, {}, 1, 250)))
local object = setmetatable({}, {__tostring = function() return "object" end})
print(select(2, pcall(error, object)) == object)
print(pcall(function() local x = nil; return x.field end))
print(pcall(function() return undefined.field end))
print(pcall(function() return 1 + {} end))
print(pcall(function() return #5 end))
print(pcall(string.rep))
print(pcall(string.rep, "x", -1))
print(pcall(string.rep, "x", 1 << 40))
print(pcall(assert, false))
print(pcall(assert, false, "no"))
print(pcall(assert, nil, object))
print(xpcall(function(...) return ... end, print, 1, 2, 3))
print(xpcall(error, function(m) return m .. "!" end, "text"))
print(xpcall(error, function(m) error("again") end, "text"))
print(xpcall(error, function(m) return debug.traceback(m, 1) end, "trace"))
print(xpcall(function() local a; a() end, function(m) return debug.traceback(m, 2) end))
print(xpcall(function() return pcall(error, "inner") end, print))
print(pcall(pcall, pcall, error, "nested"))

-- The levels that error() and debug.getinfo() count.
local function raise(level) error("level", level) end
local function calls(level) raise(level) end
for level = 0, 4 do print(pcall(calls, level)) end
print(pcall(function() return debug.getinfo(2, "n").name, debug.getinfo(2, "S").what end))
print(debug.traceback("here"))
print(pcall(function() return debug.traceback("there", 0) end))

-- Yields across protected calls.
local function across()
    local ok, a, b = pcall(function(x)
        local y = coroutine.yield(x + 1)
        local z = coroutine.yield(y + 1)
        return y, z
    end, 1)
    print("pcall", ok, a, b)
    print("xpcall", xpcall(function()
        coroutine.yield("in xpcall")
        error("after yield")
    end, function(m) return "handled: " .. m end))
    print("isyieldable", coroutine.isyieldable(), pcall(coroutine.isyieldable))
    return "done"
end
local co = coroutine.create(across)
print(coroutine.resume(co))
print(coroutine.resume(co, 10))
print(coroutine.resume(co, 20))
print(coroutine.resume(co))
print(coroutine.resume(co))
print(coroutine.isyieldable(), pcall(coroutine.yield))

-- To-be-closed variables.
local function closing(name, fail)
    return setmetatable({}, {__close = function(_, e)
        print("close", name, e)
        if fail then error(fail, 0) end
    end})
end
print(pcall(function()
    local a <close> = closing("a")
    local b <close> = closing("b", "from close")
    error("body", 0)
end))
print(pcall(function()
    local a <close> = closing("a", "last")
    return 1
end))

-- Too deep.
local function deep(n) return 1 + deep(n + 1) end
local ok, message = pcall(deep, 1)
print(ok, (message:gsub("\n.*", "")))
local function nest(n) return pcall(nest, n + 1) end
print(nest(1))
local depth = 0
local function metadeep() depth = depth + 1; return setmetatable({}, {__index = metadeep}).x end
print(pcall(string.gsub, string.rep("x", 10), ".", function() error("in gsub", 0) end))
print((select(2, xpcall(deep, function(m) return (m:gsub("\n.*", "")) end, 1))))
local function handler_overflow() local function h() return h() + 1 end return h() end
print(xpcall(error, handler_overflow, "x"))
print(#debug.traceback("x", 1) > 0)
