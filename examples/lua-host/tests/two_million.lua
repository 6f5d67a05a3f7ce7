-- A heap of 2,000,000 tables in four shapes, 500,000 of each, with known references:
--
--   Pair      two fields: the Pair before it, and the Leaf of its number
--   Leaf      nothing
--   List      an array of its Pair, its Leaf and itself
--   table     without a class: one field, its List
--
-- One table per shape holds them all. Prints "ready", and computes for some seconds.
local count = tonumber(arg[1] or 500000)
local Pair, Leaf, List = { __name = "Pair" }, { __name = "Leaf" }, { __name = "List" }
pairs_of, leaves, lists, plain = {}, {}, {}, {}
for i = 1, count do
    leaves[i] = setmetatable({}, Leaf)
    pairs_of[i] = setmetatable({ before = pairs_of[i - 1], leaf = leaves[i] }, Pair)
    local list = setmetatable({ pairs_of[i], leaves[i] }, List)
    list[3] = list
    lists[i] = list
    plain[i] = { list = list }
end
print("ready")
io.stdout:flush()
local stop = os.time() + tonumber(arg[2] or 30)
while os.time() < stop do end
