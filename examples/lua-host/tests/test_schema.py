"""The events of provider Lua are those of lua.schema.json: what reads them finds the fields that it knows.

After a change on purpose, `weir schema --provider Lua TRACE` of such a trace prints the file anew."""
import os

from support import HERE, Case

# One of each event: the session starts late, so that there are frames.
SCRIPT = """
local id = sessions.start(..., "Lua")
local function call() end
local function tail() return call() end
tail()
load("return 1")()
pcall(error, "x")
coroutine.wrap(function() coroutine.yield() end)()
collectgarbage()
sessions.stop(id)
"""


class Schema(Case):
    def test_against_the_recorded(self):
        trace = self.path("t.nettrace")
        result = self.run_program("sessions", self.write("s.lua", SCRIPT), trace)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        result = self.run_program("weir", "schema", "--provider", "Lua", "--against", os.path.join(HERE, "lua.schema.json"), trace)
        if "built without" in result.stderr:
            self.skipTest("weir was built without a library for JSON")
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        self.assertIn(": 14 events against ", result.stdout)
        self.assertIn(": 0 findings, 0 notes\n", result.stdout)
