-- Chunks that are loaded, in order, after the script itself. The last line is the expectation.
local expected = {}
local function expect(name, bytes, ok)
    name = name:gsub('"', '\\"')
    expected[#expected + 1] = string.format('["%s", %d, %s]', name, bytes, ok)
end

load("return 1", "=named") expect("named", 8, true)
load("return 1", "@file.lua") expect("file.lua", 8, true)
load("return 12") expect('[string "return 12"]', 9, true)
load("x = 1\nreturn x") expect('[string "x = 1..."]', 14, true)
load("not Lua", "=bad") expect("bad", 7, false)
local pieces = {"return ", "12345"}
load(function() return table.remove(pieces, 1) end, "=pieces") expect("pieces", 12, true)
load(function() error("x") end) expect("(load)", 0, false)

local name = os.tmpname()
local function write(file, text) local f <close> = assert(io.open(file, "w")) f:write(text) end
write(name, "return 'file'")
loadfile(name) expect(name, 13, true)
dofile(name) expect(name, 13, true)
write(name, "not Lua")
loadfile(name) expect(name, 7, false)
pcall(dofile, name) expect(name, 7, false)
os.remove(name)
loadfile(name) expect(name, 0, false)

local module = "m" .. name:match("[^/]*$"):gsub("%W", "_")
local file = name:match("^(.*/)") .. module .. ".lua"
package.path = file:gsub(module, "?")
write(file, "return {}")
require(module) expect(file, 9, true)
require(module) -- loaded already
package.loaded[module] = nil
write(file, "not Lua")
pcall(require, module) expect(file, 7, false)
os.remove(file)
pcall(require, module)
print("[" .. table.concat(expected, ", ") .. "]")
