"""A real program: tracing changes neither its output nor its status, and the trace is whole and loses nothing. Once
with calls only and once with all events; --rounds repeats that."""
import os
import unittest

import support
from support import Case

LUACHECK = "/usr/bin/luacheck"
SOURCES = "/usr/share/lua/5.1/pl"
PATHS = {"LUA_PATH": "/usr/share/lua/5.1/?.lua;/usr/share/lua/5.1/?/init.lua;;"}


@unittest.skipUnless(os.path.exists(LUACHECK) and os.path.isdir(SOURCES), "needs lua-check and lua-penlight")
class Luacheck(Case):
    def test_traced(self):
        plain = self.run_program("lua", LUACHECK, SOURCES, env=PATHS)
        self.assertEqual(plain.returncode, 1, "luacheck finds warnings in these sources")
        for providers in ["Lua:0x1", "Lua"] * support.rounds:
            trace = self.path("program.nettrace")
            traced = self.host("--trace", trace, "--providers", providers, LUACHECK, SOURCES, env=PATHS)
            self.assertEqual((traced.returncode, traced.stdout), (1, plain.stdout), traced.stderr)
            self.assertGreater(self.stat(trace)["eventCount"], 1000000)
            check = self.run_program("weir", "check", trace)
            self.assertEqual(check.returncode, 0, check.stdout)
