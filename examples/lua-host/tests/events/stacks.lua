-- Errors, each with the lines that the Lua functions in its stack execute, the innermost first. The last line of the
-- output is the expectation.
local expected = {}
local function line() return debug.getinfo(2, "l").currentline end
local function expect(...) expected[#expected + 1] = "[" .. table.concat({...}, ", ") .. "]" end

local here = line()
local function inner() error("raised in a coroutine") end
local function outer() inner() return 1 end
local coroutine_of_outer = coroutine.create(outer)
local function resumes() coroutine.resume(coroutine_of_outer) return 1 end
resumes()
expect(here + 1, here + 2, here + 4, here + 5)

here = line()
local function catches() pcall(inner) return 1 end -- inner's frame is gone
catches()
expect(here + 1, here + 2)

here = line()
local function deep(n) return n > 0 and 1 + deep(n - 1) or error("deeper than a stack") end
coroutine.resume(coroutine.create(deep), 1000)
local lines = {}
for i = 1, 99 do lines[i] = here + 1 end
expect(table.unpack(lines))

here = line()
local function closes() pcall(error) return 1 end -- meanwhile another error is on its way
expect(here + 1)
expect()
print("[" .. table.concat(expected, ", ") .. "]")
local pending <close> = setmetatable({}, {__close = closes})
error("not caught")
