-- Errors that are caught, in order. The last line is the expectation.
local expected = {}
local function expect(message, kind)
    expected[#expected + 1] = string.format('["%s", "%s"]', message, kind or "runtime")
end

pcall(error, "first") expect "first"
pcall(error, {}) expect "(error object is a table value)"
pcall(error) expect "(error object is a nil value)"
pcall(error, 42) expect "42"
pcall(error, 1.5) expect "1.5"
pcall(assert, false, "asserted") expect "asserted"
pcall(function() local x; x.y = 1 end) 
expect("SCRIPT:" .. debug.getinfo(1, "l").currentline - 1 .. ": attempt to index a nil value (local 'x')")
xpcall(error, function(m) return m .. " handled" end, "x") expect "x handled"
xpcall(error, error, "x") expect("error in error handling", "handler")
pcall(pcall, error, "once") expect "once"
pcall(string.rep, "x", 1 << 50) expect "resulting string too large"
load("not Lua") -- an answer, not an error
pcall(function() end)

-- Caught by resume; by the caller of a wrapped coroutine; by close.
local co = coroutine.create(function() error("in coroutine", 0) end)
coroutine.resume(co) expect "in coroutine"
coroutine.resume(co)
coroutine.close(co)
pcall(coroutine.wrap(function() error("wrapped", 0) end)) expect "wrapped"
co = coroutine.create(function()
    local pending <close> = setmetatable({}, {__close = function() error("in close", 0) end})
    coroutine.yield()
end)
coroutine.resume(co)
coroutine.close(co) expect "in close"
co = coroutine.create(function()
    pcall(function() coroutine.yield() error("after yield", 0) end)
end)
coroutine.resume(co)
coroutine.resume(co) expect "after yield"

pcall(error, ("\u{e4}"):rep(5000)) expect(("\u{e4}"):rep(2047)) -- cut at a character
expect "the last one is not caught"
print("[" .. table.concat(expected, ", ") .. "]")
error("the last one is not caught", 0)
