-- What an observer inside the script can see of the host.
print(_VERSION, #package.searchers, type(arg))
print(collectgarbage("incremental"))
print(collectgarbage("generational"))
print(collectgarbage("isrunning"), collectgarbage("step"), collectgarbage())
local weak = setmetatable({}, {__mode = "v"})
weak[1] = load("return function() end")()
weak[1]()
collectgarbage(); collectgarbage()
print(weak[1])
do
    local f = load("local upvalue = {} ; return function() return upvalue end")()
    weak[1] = f()
end
collectgarbage(); collectgarbage()
print(weak[1])
setmetatable({}, {__gc = function() print("finalized", pcall(error, "in gc", 0)) end})
collectgarbage()
setmetatable({}, {__gc = function() print("at close") end})
warn("@on"); warn("a ", "warning"); warn("@off"); warn("hidden")
setmetatable({}, {__gc = function() error("in finalizer") end})
warn("@on"); collectgarbage(); warn("@off")
print(pcall(os.exit, {}))
print(pcall(string.format, "%d", "x"))
local functions = {}
for name, value in pairs(_G) do
    if type(value) == "function" then functions[#functions + 1] = name end
end
table.sort(functions)
print(table.concat(functions, " "))
for _, library in ipairs {"coroutine", "debug", "os", "package"} do
    local names = {}
    for name in pairs(_G[library]) do names[#names + 1] = name end
    table.sort(names)
    print(library, table.concat(names, " "))
end
for i = 1, 200 do load("local function f() return " .. i .. " end f()", "chunk" .. i)() end
