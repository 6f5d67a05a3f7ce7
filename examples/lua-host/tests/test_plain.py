"""lua-host against the standalone interpreter: stdout, stderr and status, untraced and traced."""
import os
import re

from support import HERE, Case, programs

SCRIPT = "print(...) for i = -9, 9 do if arg[i] then print(i, i < 0 and i == -#arg or arg[i]) end end"

# Arguments, standard input, environment.
COMMANDS = [
    (["-e", "print(1)"], "", {}),
    (["-eprint(1)"], "", {}),
    (["-e", "print(1)", "-e", "print(2)"], "", {}),
    (["-e", "x ="], "", {}),
    (["-e", "error('text')"], "", {}),
    (["-e", "error('text', 0)"], "", {}),
    (["-e", "error({})"], "", {}),
    (["-e", "error()"], "", {}),
    (["-e", "error(42)"], "", {}),
    (["-e", "error(setmetatable({}, {__tostring = function() return 'own' end}))"], "", {}),
    (["-e", "error(setmetatable({}, {__tostring = function() return 1 end}))"], "", {}),
    (["-e", "local function f() error('deep') end local function g() f() end g()"], "", {}),
    (["-e", "local t <close> = setmetatable({}, {__close = function() print('closed') end}) error('x')"], "", {}),
    (["-e", "string.rep('x', 1 << 50)"], "", {}),
    (["-e", "local function f() return f() + 1 end f()"], "", {}),
    (["-e", "print(#arg, arg[0] ~= nil, arg[1])"], "", {}),
    (["-e"], "", {}),
    (["-e", "-v"], "", {}),
    (["-l"], "", {}),
    (["-l", "--"], "", {}),
    (["-x"], "", {}),
    (["-vv"], "", {}),
    (["-Ee"], "", {}),
    (["-Wx"], "", {}),
    (["--x"], "", {}),
    (["-", "a", "b"], "print(...)", {}),
    ([], "print('stdin', ...)", {}),
    ([], "x =", {}),
    ([], "error('from stdin')", {}),
    (["--"], "print('stdin')", {}),
    (["--", "-"], "print('stdin')", {}),
    (["--", "script.lua", "a"], "", {}),
    (["-v"], "print('not read')", {}),
    (["-v", "-e", "print(1)"], "", {}),
    (["-v", "script.lua"], "", {}),
    (["-E", "-e", "print(1)"], "", {"LUA_INIT": "print('init')"}),
    (["-e", "print(1)"], "", {"LUA_INIT": "print('init')"}),
    (["-e", "print(1)"], "", {"LUA_INIT": "print('init')", "LUA_INIT_5_4": "print('init 5.4')"}),
    (["-e", "print(1)"], "", {"LUA_INIT": "@init.lua"}),
    (["-e", "print(1)"], "", {"LUA_INIT": "@none.lua"}),
    (["-e", "print(1)"], "", {"LUA_INIT": "x ="}),
    (["-e", "print(1)"], "", {"LUA_INIT": "error('in init')"}),
    (["-e", "print(package.path:match('^PATH'))"], "", {"LUA_PATH": "PATH"}),
    (["-E", "-e", "print(package.path:match('^PATH'))"], "", {"LUA_PATH": "PATH"}),
    (["script.lua"], "", {}),
    (["script.lua", "a", "-b", "--", "c d", ""], "", {}),
    (["-e", "x = 1", "-W", "script.lua", "a"], "", {}),
    (["none.lua"], "", {}),
    (["broken.lua"], "", {}),
    (["fails.lua"], "", {}),
    (["exits.lua", "3"], "", {}),
    (["exits.lua", "true"], "", {}),
    (["exits.lua", "false"], "", {}),
    (["-lmodule", "-e", "print(module.value)"], "", {}),
    (["-l", "module", "-e", "print(module.value)"], "", {}),
    (["-l", "m=module", "-e", "print(m.value, module)"], "", {}),
    (["-lm=module", "script.lua", "a"], "", {}),
    (["-l", "none"], "", {}),
    (["-l", "broken"], "", {}),
    (["-l", "fails"], "", {}),
    (["-e", "warn('hidden')"], "", {}),
    (["-W", "-e", "warn('shown', '!')"], "", {}),
    (["-e", "warn('hidden')", "-W", "-e", "warn('shown')"], "", {}),
    (["-e", "arg = nil", "script.lua"], "", {}),
    (["-e", "arg = {'changed', 'too'}", "script.lua", "a"], "", {}),
    (["-e", "print(collectgarbage('incremental'))"], "", {}),
    (["-e", "os.exit(true, true)"], "", {}),
    (["-e", "setmetatable({}, {__gc = function() print('gc') end}) os.exit(4, true)"], "", {}),
    (["-e", "setmetatable({}, {__gc = function() print('gc') end}) os.exit(4)"], "", {}),
    (["-e", "setmetatable({}, {__gc = function() print('gc') end})"], "", {}),
    (["-e", "io.stdout:close() print(1)"], "", {}),
    (["-e", "require 'lfs' print(lfs.attributes('.', 'mode'))"], "", {}),
    (["-e", "print(debug.traceback('x'))"], "", {}),
    (["-e", "coroutine.wrap(function() error('in wrap') end)()"], "", {}),
    (["-e", "print(xpcall(function() error('x') end, debug.traceback))"], "", {}),
    (["-e", "debug.sethook(error, 'c') print(1)"], "", {}),
]

FILES = {
    "script.lua": SCRIPT,
    "init.lua": "print('init file')",
    "broken.lua": "return x = 1",
    "fails.lua": "local function f() error('it fails') end f()",
    "exits.lua": "local a = ... os.exit(load('return ' .. a)())",
    "module.lua": "return {value = 'of the module'}",
}


class Plain(Case):
    def setUp(self):
        super().setUp()
        for name, text in FILES.items():
            self.write(name, text)

    def outcome(self, program, *arguments, **options):
        """The streams without the program's name and addresses, and the status."""
        result = self.run_program(program, *arguments, **options)
        texts = [re.sub(r"0x[0-9a-f]+", "0xADDRESS", text.replace(programs[program], "PROGRAM"))
                 for text in (result.stdout, result.stderr)]
        # A hook needs some of Lua's stack, which then overflows a few levels earlier.
        texts[1] = re.sub(r"skipping \d+ levels", "skipping levels", texts[1])
        # The usage hint differs, because the host has more options.
        texts[1] = re.sub(r"(?s)^usage: .*", "usage\n", texts[1], flags=re.M)
        return (*texts, result.returncode)

    def compare(self, *arguments, **options):
        expected = self.outcome("lua", *arguments, **options)
        self.assertEqual(self.outcome("host", *arguments, **options), expected, "untraced")
        traced = self.outcome("host", "--trace", self.path("t.nettrace"), *arguments, **options)
        self.assertEqual(traced, expected, "traced")

    def test_command_lines(self):
        for arguments, stdin, env in COMMANDS:
            with self.subTest(arguments, env=env):
                self.compare(*arguments, stdin=stdin, env=env)

    def test_scripts(self):
        for name in sorted(os.listdir(os.path.join(HERE, "plain"))):
            with self.subTest(name):
                self.compare(os.path.join(HERE, "plain", name))


class Programs(Case):
    """A larger program over a larger library, where they are installed."""

    def test_luacheck(self):
        luacheck, penlight = "/usr/bin/luacheck", "/usr/share/lua/5.1/pl"
        if not (os.path.exists(luacheck) and os.path.exists(penlight)):
            self.skipTest("needs luacheck and Penlight")
        modules = "/usr/share/lua/5.1"
        env = {"LUA_PATH": f"{modules}/?.lua;{modules}/?/init.lua;;"}
        trace = self.path("t.nettrace")
        expected = self.run_program("lua", luacheck, penlight, env=env)
        found = self.host("--trace", trace, luacheck, penlight, env=env)
        self.assertEqual((found.stdout, found.returncode), (expected.stdout, expected.returncode))
        stat = self.stat(trace, lossless=False)
        self.assertEqual(stat["status"], "complete")
        self.assertGreater(stat["eventCount"], 1_000_000)


class Interactive(Case):
    """Not compared with lua5.4, which echoes its input if that is not a terminal."""

    def check(self, stdin, expected, stderr="", arguments=()):
        result = self.host("-i", *arguments, stdin=stdin)
        self.assertEqual(result.returncode, 0)
        head, _, output = result.stdout.partition("\n")
        self.assertTrue(head.startswith("Lua 5.4"), head)
        self.assertEqual((output, result.stderr), (expected, stderr))

    def test_expressions_and_statements(self):
        self.check("1 + 1\n", "> 2\n> \n")
        self.check("=1, nil\n", "> 1\tnil\n> \n")
        self.check("x = 5\nx\n", "> > 5\n> \n")
        self.check("for i = 1, 2 do\nprint(i)\nend\n", "> >> >> 1\n2\n> \n")

    def test_errors(self):
        self.check("x = = 1\n", "> > \n", "stdin:1: unexpected symbol near '='\n")
        self.check("error('x', 0)\n1\n", "> > 1\n> \n",
                   "x\nstack traceback:\n\t[C]: in function 'error'\n\tstdin:1: in main chunk\n\t[C]: in ?\n")
        self.check("do\n", "> >> > \n", "stdin:1: 'end' expected near <eof>\n")

    def test_prompts(self):
        self.check("_PROMPT2 = '. '\ndo\nend\n", "$ $ . $ \n", arguments=("-e", "_PROMPT = '$ '"))
