"""The server that tools attach to: when it is there, what a tool gets, and that nothing of it is left."""
import json
import os
import re
import select
import signal
import socket
import struct
import subprocess
import time

from support import Case, environment, programs

SOCKET = re.compile(r"^dotnet-diagnostic-(\d+)-\d+7-socket$")
WAITS = "io.stdout:write('ready\\n') io.stdout:flush() io.read()"


def collect(provider):
    """CollectTracing2: 16 MB, nettrace, rundown, one provider with all keywords at level 5."""
    name = (provider + "\0").encode("utf-16-le")
    payload = struct.pack("<IIBIQII", 16, 1, 1, 1, 0, 5, len(name) // 2) + name + struct.pack("<I", 0)
    return b"DOTNET_IPC_V1\0" + struct.pack("<HBBH", 20 + len(payload), 2, 3, 0) + payload


class Serve(Case):
    def start(self, *arguments, script=WAITS, **variables):
        """Starts a script that waits for a line, and returns when it does."""
        process = subprocess.Popen([programs["host"], *arguments, "-e", script], stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=self.directory,
                                   env={**environment(), "TMPDIR": self.directory, **variables})
        self.addCleanup(process.communicate)
        self.addCleanup(process.kill)
        self.assertTrue(select.select([process.stdout], [], [], 60)[0])
        self.assertEqual(process.stdout.readline(), "ready\n")
        return process

    def sockets(self):
        return [name for name in os.listdir(self.directory) if SOCKET.match(name)]

    def test_asked_for(self):
        for arguments, variables, count in ((["--diagnostics"], {}, 1), ([], {"WEIR_DIAGNOSTICS": "1"}, 1), ([], {}, 0),
                                            (["--diagnostics"], {"WEIR_DIAGNOSTICS": "0"}, 0),
                                            (["--diagnostics"], {"DOTNET_EnableDiagnostics": "0"}, 0)):
            with self.subTest(arguments=arguments, variables=variables):
                process = self.start(*arguments, **variables)
                self.assertEqual(len(self.sockets()), count)
                _, errors = process.communicate("\n", timeout=60)
                self.assertEqual((process.returncode, errors, self.sockets()), (0, "", []))

    def test_removed_at_signals(self):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            with self.subTest(number):
                process = self.start("--diagnostics")
                self.assertEqual(len(self.sockets()), 1)
                process.send_signal(number)
                if number == signal.SIGINT:  # the interpreter's own, which ends the script when it has read
                    process.stdin.write("\n")
                process.communicate(timeout=60)
                self.assertNotEqual(process.returncode, 0)
                self.assertEqual(self.sockets(), [])

    def test_signal_while_held(self):
        """The script does not run."""
        port = self.path("port")
        process = subprocess.Popen([programs["host"], "-e", "io.write('ran')"], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   text=True, env={**environment(), "WEIR_DIAGNOSTIC_PORTS": port + ",listen"})
        self.addCleanup(process.kill)
        while not os.path.exists(port):
            time.sleep(0.01)
        time.sleep(0.05)
        process.send_signal(signal.SIGTERM)
        self.assertEqual((process.communicate(timeout=60), process.returncode), (("", ""), -signal.SIGTERM))
        self.assertFalse(os.path.exists(port))

    def test_a_tool(self):
        """A tool that asks for providers of .NET gets Lua's, and a whole stream when the script ends."""
        process = self.start("--diagnostics", script="load('x = 1')() " + WAITS + " load('x = 2')()")
        with socket.socket(socket.AF_UNIX) as tool:
            tool.connect(self.path(self.sockets()[0]))
            tool.sendall(collect("Microsoft-Windows-DotNETRuntime"))
            reply = tool.recv(28, socket.MSG_WAITALL)
            self.assertEqual(reply[16:18], b"\xff\x00", reply)
            process.stdin.write("\n")
            process.stdin.flush()
            with open(self.path("t.nettrace"), "wb") as file:
                while part := tool.recv(65536):
                    file.write(part)
        process.communicate(timeout=60)
        names = [event["name"] for event in self.dump(self.path("t.nettrace"), "--provider", "Lua")]
        self.stat(self.path("t.nettrace"))
        self.assertEqual(names.count("ChunkLoad"), 1)

    def collect(self, *arguments, status=0):
        """weir collect, in Block through 1 MB; returns how often each function was called."""
        result = self.run_program("weir", "collect", "--mode", "block", "--budget", "1", "--providers", "Lua:1:5", "--json",
                                  "-o", "t.nettrace", *arguments, env={"TMPDIR": self.directory})
        self.assertEqual(result.returncode, status, result.stderr)
        self.assertEqual(json.loads(result.stdout)["lost"], 0)
        counts = {"Call": 0, "Return": 0}
        for event in self.stat(self.path("t.nettrace"))["events"]:
            if event["provider"] == "Lua" and event["name"] in counts:
                counts[event["name"]] = event["count"]
        return counts

    def test_weir_launches(self):
        """From the first call to the last one, several times what the budget holds, and the script's status."""
        script = "local function f() end for i = 1, 100000 do f() end os.exit(7)"
        counts = self.collect("--", programs["host"], "-e", script, status=7)
        self.assertGreaterEqual(counts["Call"], 100000)
        self.assertGreaterEqual(counts["Return"], 100000)

    def test_weir_attaches(self):
        script = "io.write('ready\\n') io.flush() local function f() end while true do f() end"
        process = self.start("--diagnostics", script=script)
        listed = json.loads(self.run_program("weir", "ps", "--json", env={"TMPDIR": self.directory}).stdout)
        self.assertIn(process.pid, [entry["pid"] for entry in listed["processes"]])
        self.assertGreater(self.collect("-p", str(process.pid), "--duration", "0.3")["Call"], 1000)
        process.kill()
