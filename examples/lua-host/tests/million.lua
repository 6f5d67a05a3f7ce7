-- A million events, and a few: the calls of this function and their ends.
local function f() end
for _ = 1, 500000 do
  f()
end
