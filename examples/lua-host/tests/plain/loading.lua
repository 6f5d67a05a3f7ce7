-- load, loadfile, dofile, require.
print(load("return 1, 2")())
print(load("syntax error here"))
print(load("x =", "=name"))
print(load("x =", "@file.lua"))
print(load("x = = =\nmore", nil))
print(load(42))
print(pcall(load))
print(pcall(load, nil))
print(pcall(load, {}))
print(pcall(load, "return", {}))
print(pcall(load, "return", "n", 1))
print(load("return x", "n", "t", {x = "env"})())
print(load("return x", "n", "bt", nil) ~= nil, pcall(load("return x", "n", "bt", nil)))
print(load("return 1", "n", "b"))
print(load(string.dump(load("return 7")), "n", "t"))
print(load(string.dump(load("return 7")), "n", "b")())
print(load("\27bad", "n"))
local pieces = {"return ", "'pieces'", ", ...", nil}
local i = 0
print(load(function() i = i + 1 return pieces[i] end)("argument"))
print(load(function() return nil end) ~= nil)
print(load(function() return {} end))
print(load(function() error("reader") end))
print(load(function() error({}) end) == nil)
i = 0
print(load(function() i = i + 1 return i == 1 and "return y" or nil end, "=r", "t", {y = "reader env"})())
i = 0
print(pcall(load, function() i = i + 1 return i == 1 and "return 1" or "" end, 1, 2))
print(load(function() return coroutine.yield() end))
print(coroutine.resume(coroutine.create(function() return load(function() coroutine.yield() end) end)))

local name = os.tmpname()
local function write(text) local f <close> = assert(io.open(name, "w")) f:write(text) end
local function clean(...) -- the name differs between runs
    local out = table.pack(...)
    for n = 1, out.n do out[n] = tostring(out[n]):gsub(name, "NAME", nil) end
    print(table.concat(out, "\t"))
end
write("#!shebang\nreturn 'file', ...")
clean(loadfile(name)("argument"))
clean(dofile(name))
write("return x")
clean(loadfile(name, "t", {x = "file env"})())
clean(loadfile(name, "b"))
write("broken(")
clean(loadfile(name))
clean(pcall(dofile, name))
write("error('at run')")
clean(pcall(dofile, name))
write("\u{feff}return 'bom'")
clean(dofile(name))
write("coroutine.yield('from dofile') return 'end'")
local co = coroutine.wrap(function() return dofile(name) end)
clean(co())
clean(co())
clean(pcall(loadfile, {}))
clean(pcall(dofile, {}))
os.remove(name)
clean(loadfile(name))
clean(pcall(dofile, name))

-- require
local directory, base = name:match("^(.*)/([^/]*)$")
local module = "m" .. base:gsub("%W", "_")
local file = directory .. "/" .. module .. ".lua"
local function put(text) local f <close> = assert(io.open(file, "w")) f:write(text) end
local function scrub(...)
    local out = table.pack(...)
    for n = 1, out.n do
        out[n] = tostring(out[n]):gsub(file, "FILE"):gsub(module, "MODULE"):gsub(directory, "DIR")
    end
    print(table.concat(out, "\t"))
end
package.path = directory .. "/?.lua"
package.cpath = ""
put("return {...}")
local m, where = require(module)
scrub(m[1], m[2], where)
print(require(module) == m)
package.loaded[module] = nil
put("broken(")
scrub(pcall(require, module))
put("error('at run', 0)")
scrub(pcall(require, module))
put("return nil")
scrub(require(module))
os.remove(file)
package.loaded[module] = nil
scrub(pcall(require, module))
scrub(pcall(require, "not.there"))
package.path = nil
scrub(pcall(require, module))
package.path = 12
scrub(pcall(require, module))
package.path = ""
scrub(pcall(require))
scrub(pcall(require, {}))
package.searchers[2] = nil
scrub(pcall(require, module))
