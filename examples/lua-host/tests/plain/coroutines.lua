-- Coroutines: states, values, wrap and close with their errors, tables as errors.
print(pcall(coroutine.create))
print(pcall(coroutine.create, 1))
print(pcall(coroutine.resume))
print(pcall(coroutine.resume, {}))
print(pcall(coroutine.wrap, "x"))
print(pcall(coroutine.close, 1))
print(pcall(coroutine.status))
print(coroutine.resume(coroutine.running()))
local main, is_main = coroutine.running()
print(type(main), is_main, coroutine.status(main))
print(pcall(coroutine.close, main))

local co = coroutine.create(function(...)
    print("in", ...)
    print("got", coroutine.yield(1, 2, 3))
    print("status", coroutine.status(coroutine.running()))
    return "end", nil
end)
print(coroutine.status(co))
print(coroutine.resume(co, "a", nil, "c"))
print(coroutine.status(co))
print(coroutine.resume(co, "d"))
print(coroutine.status(co))
print(coroutine.resume(co, "e"))
print(coroutine.resume(co))
print(coroutine.close(co))

-- An error, with the stack still there for a traceback.
co = coroutine.create(function() local x; x.y = 1 end)
print(coroutine.resume(co))
print(coroutine.status(co))
print(debug.traceback(co))
print(coroutine.resume(co))
print(coroutine.close(co))
print(coroutine.close(co))
co = coroutine.create(function() error({code = 7}) end)
local ok, object = coroutine.resume(co)
print(ok, type(object), object.code)

-- wrap.
local wrapped = coroutine.wrap(function(a) local b = coroutine.yield(a) error("wrapped " .. b) end)
print(wrapped("first"))
print(pcall(wrapped, "second"))
print(pcall(wrapped))
wrapped = coroutine.wrap(function() error({1}) end)
print(select("#", pcall(wrapped)), type(select(2, pcall(wrapped))))
wrapped = coroutine.wrap(function() error("zero", 0) end)
local function caller() wrapped() end
print(pcall(caller))
for value in coroutine.wrap(function() for i = 1, 3 do coroutine.yield(i) end end) do
    io.write(value, " ")
end
print()
local outer = coroutine.wrap(function()
    local inner = coroutine.wrap(function() coroutine.yield("inner"); error("from inner") end)
    coroutine.yield(inner())
    inner()
end)
print(outer())
print(pcall(outer))
wrapped = coroutine.wrap(function() return wrapped() end)
print(pcall(wrapped))

-- normal, and resuming what cannot be.
local first
first = coroutine.create(function()
    local second = coroutine.create(function()
        print("first is", coroutine.status(first))
        print(coroutine.resume(first))
        print(pcall(coroutine.close, first))
    end)
    print(coroutine.resume(second))
end)
print(coroutine.resume(first))

-- close, with pending variables.
local function closing(name, fail)
    return setmetatable({}, {__close = function(_, e)
        print("close", name, e)
        if fail then error(fail, 0) end
    end})
end
co = coroutine.create(function() local a <close> = closing("a"); coroutine.yield() end)
coroutine.resume(co)
print(coroutine.close(co), coroutine.status(co))
co = coroutine.create(function() local a <close> = closing("b", "bad"); coroutine.yield() end)
coroutine.resume(co)
print(coroutine.close(co))
print(coroutine.close(co))
print(coroutine.close(coroutine.create(print)))
wrapped = coroutine.wrap(function()
    local a <close> = closing("w", "replaced")
    error("original", 0)
end)
print(pcall(wrapped))

-- Yields from everywhere.
print(coroutine.wrap(function() return pcall(pcall, coroutine.yield, "through") end)())
local t = setmetatable({}, {__index = function(_, k) return coroutine.yield(k) end})
local reader = coroutine.wrap(function() return "value", t.key end)
print(reader(), reader("answer"))
local sorter = coroutine.create(function() table.sort({3, 2, 1}, function() coroutine.yield() end) end)
print(coroutine.resume(sorter))
print(coroutine.resume(coroutine.create(function() return coroutine.isyieldable() end)))

-- Many arguments, and deep nesting.
print(select("#", coroutine.resume(coroutine.create(function(...) return ... end), table.unpack({}, 1, 5000))))
print(pcall(coroutine.resume, coroutine.create(print), table.unpack({}, 1, 200)))
local function nest(n) if n == 0 then return "bottom" end return coroutine.wrap(nest)(n - 1) end
print(nest(50))
print((select(2, pcall(nest, 300)):gsub("^.*C stack overflow.*$", "C stack overflow")))
