-- Switches between coroutines, in order; coroutines are numbered by first appearance. The last line is the expectation.
local expected = {}
local numbers = {[coroutine.running()] = 0}
local function expect(what, co, other, finished)
    expected[#expected + 1] = string.format('["%s", %d, %s, %s]', what, numbers[co],
        other and numbers[other] or "null", finished == nil and "null" or tostring(finished))
end
local next_number = 0
local function number(co)
    next_number = next_number + 1
    numbers[co] = next_number
    expect("create", co)
end
local main = coroutine.running()
local function round(co, finished)
    expect("resume", co, main)
    coroutine.resume(co)
    expect("yield", co, main, finished)
end

local a = coroutine.create(function() coroutine.yield() coroutine.yield() end) number(a)
round(a, false)
round(a, false)
round(a, true)
coroutine.resume(a) -- dead: nothing switches

local b = coroutine.create(function() error("x") end) number(b)
round(b, true)

local self
local w = coroutine.wrap(function() self = coroutine.running() coroutine.yield() end)
next_number = next_number + 1
expected[#expected + 1] = string.format('["create", %d, null, null]', next_number)
local at = #expected + 1
w()
numbers[self] = next_number
expect("resume", self, main)
expect("yield", self, main, false)
expect("resume", self, main)
w()
expect("yield", self, main, true)
pcall(w)

local c = coroutine.create(function() coroutine.yield() end) number(c)
round(c, false)
coroutine.close(c)
expect("yield", c, main, true)
coroutine.close(c)

-- One in another.
local inner, outer
inner = coroutine.create(function() coroutine.yield() end)
number(inner)
outer = coroutine.create(function()
    expect("resume", inner, outer)
    coroutine.resume(inner)
    expect("yield", inner, outer, false)
end)
number(outer)
round(outer, true)
print("[" .. table.concat(expected, ", ") .. "]")
