"""The programs of bench/peers/ and their runner: each prints a report that obeys the contract and adds up, a missing peer
is skipped with its reason, and nothing is left behind. No speed is judged here.

WEIR_BENCH names the weir-bench of the build that is tested; without it, build/bench is.
"""
import contextlib
import io
import json
import os
import signal
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

from bench.judge import points, samples
from bench.peers import lttng, rig, runner as peers
from bench.peers.runner import MIB, Case
from bench.peers.rig import Failed, Missing

FOLDER = os.path.dirname(os.path.dirname(os.environ["WEIR_BENCH"])) if "WEIR_BENCH" in os.environ else peers.FOLDER
PROGRAMS = ("floor", "weir", "ck-ring", "boost", "dpdk", "lttng")


class Programs(unittest.TestCase):
    """All programs in one workplace, so that one session daemon serves all."""

    @classmethod
    def setUpClass(cls):
        cls.stack = contextlib.ExitStack()
        cls.addClassCleanup(cls.stack.close)
        cls.runner = peers.Runner(cls.stack.enter_context(rig.Workplace()), folder=FOLDER)

    def run_peer(self, peer, of):
        try:
            return self.runner.run(peer, of)
        except Missing as missing:
            self.skipTest(f"{peer.name}: {missing}")

    def check(self, peer, of):
        run = self.run_peer(peer, of)
        self.assertEqual((run["peer"], run["variant"], run["case"]), (peer.program, peer.variant, of.kind))
        self.assertEqual(run["emitted"], of.events * of.threads)
        self.assertGreater(run["ns_per_event"], 0)
        self.assertGreater(run["cpu_ns_per_event"], 0)
        self.assertGreater(run["seconds"], 0)
        if peer.program == "floor":
            self.assertIsNone(run["delivered"])
            return run
        self.assertEqual(run["delivered"] + run["lost"], run["emitted"])
        self.assertGreater(run["delivered"], 0)
        self.assertGreaterEqual(run["bytes_per_event"], 32)
        return run

    def check_cases(self, program):
        """Each variant in each case, with enough room: nothing may be lost."""
        for peer in peers.select([program]):
            for kind in peers.ALL:
                with self.subTest(peer.name, case=kind):
                    run = self.check(peer, peers.case(kind, 2, events=1000))
                    self.assertIn(run["lost"], (0, None))

    def test_floor(self):
        self.check_cases("floor")

    def test_weir(self):
        self.check_cases("weir")

    def test_ck_ring(self):
        self.check_cases("ck-ring")

    def test_boost(self):
        self.check_cases("boost")

    def test_dpdk(self):
        self.check_cases("dpdk")

    def test_lttng(self):
        self.check_cases("lttng")

    def test_eventpipe(self):
        for name, kind in (("256MB", "burst"), ("256MB+stack", "sustained"), ("1MB", "flood")):
            with self.subTest(name, case=kind):
                run = self.check(peers.select([f"eventpipe:{name}"])[0], peers.case(kind, 2, events=1000))
                self.assertEqual(run["lost"], 0)
                self.assertEqual(run["buffer_bytes"], int(name.split("MB", maxsplit=1)[0]) * MIB)

    def test_eventpipe_without_room(self):
        """If the stream cannot be written, the session would never stop: the run must end, with the reason."""
        try:
            place = self.runner.prepare(peers.select(["eventpipe:1MB"])[0])
        except Missing as missing:
            self.skipTest(str(missing))
        folder = self.runner.workplace.make_folder("full")
        os.symlink("/dev/full", os.path.join(folder, "eventpipe.nettrace"))
        with self.assertRaisesRegex(Failed, "No space left"):
            self.runner.workplace.run([*place.command, "--case", "sustained", "--events", "1000000", "--output", folder],
                                      60, env=place.environment)

    def test_what_a_flood_leaves(self):
        """Peers that wait lose nothing; those that overwrite or discard keep what fits, and report it if they can."""
        of = Case("flood", 2, 100_000, 256 << 10)
        for name in ("weir:overwrite", "weir:block", "ck-ring:wait", "boost:wait", "dpdk:discard"):
            with self.subTest(name):
                peer = peers.select([name])[0]
                run = self.check(peer, of)
                if peer.waits:
                    self.assertEqual(run["lost"], 0)
                else:
                    self.assertLess(run["delivered"], 2 * of.budget / 32)
                self.assertIn(run["told_lost"], (run["lost"], None))

    def test_words_that_make_no_sense(self):
        for name in PROGRAMS:
            try:
                program = peers.program_of(FOLDER, name)
            except Missing:
                continue
            for words in (["--events", "0"], ["--events", "1x"], ["--threads", "257"], ["--budget", "-1"],
                          ["--case", "calm"], ["--variant", "none"], ["more"], ["--nonsense"]):
                with self.subTest(name, words=words):
                    done = subprocess.run([program, *words], capture_output=True, text=True, timeout=20, check=False)
                    self.assertEqual(done.returncode, 2, done)
                    self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)

    def test_without_a_session(self):
        """Without a session, LTTng's program fails and says so."""
        try:
            program = peers.program_of(FOLDER, "lttng")
        except Missing as missing:
            self.skipTest(str(missing))
        place = self.runner.workplace
        home = place.make_folder("nobody-home")
        with self.assertRaisesRegex(Failed, "no session has enabled the event"):
            place.run([program], 20, env=place.environment({"LTTNG_HOME": home, "LTTNG_UST_REGISTER_TIMEOUT": "0"}))


class Skips(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(lambda: subprocess.run(["rm", "-rf", self.folder], check=True))
        self.place = self.enter(rig.Workplace())
        self.runner = peers.Runner(self.place, folder=self.folder)

    def enter(self, context):
        stack = contextlib.ExitStack()
        self.addCleanup(stack.close)
        return stack.enter_context(context)

    def list_peers(self, **missing):
        os.makedirs(os.path.join(self.folder, "bench", "peers"))
        with open(os.path.join(self.folder, "bench", "peers", "peers.json"), "w", encoding="utf-8") as file:
            json.dump({name: {"version": "1", "missing": reason} for name, reason in missing.items()}, file)

    def rows(self, name):
        going = peers.Rounds(self.runner, peers.select([name]), [peers.case("flood", 1, events=10)], lambda _text: None)
        going.go()
        return going.rows()

    def test_not_built(self):
        row, = self.rows("floor")
        self.assertRegex(row["skipped"], "not built: there is no .*peers.json")
        self.assertEqual((row["failed"], row["rounds"], row["delivered"], row["runs"]), (None, 0, None, []))

    def test_without_its_package(self):
        reason = "pkg-config does not know libdpdk (Debian: libdpdk-dev)"
        self.list_peers(dpdk=reason)
        rows = self.rows("dpdk")
        self.assertEqual({row["skipped"] for row in rows}, {reason})
        self.assertIn(f"dpdk:discard skipped: {reason}", list(peers.tables(rows)))

    def test_without_tools(self):
        self.list_peers(lttng="")
        with mock.patch.dict(os.environ, {"PATH": self.folder}):
            self.assertEqual({row["skipped"] for row in self.rows("lttng")},
                             {"there is no lttng-sessiond (Debian: lttng-tools)"})
            self.assertEqual({row["skipped"] for row in self.rows("eventpipe")},
                             {"no .NET SDK: 'dotnet' is not on PATH"})

    def test_failed_is_not_skipped(self):
        """A program that was built and then removed, or that prints nonsense."""
        self.list_peers(floor="", weir="")
        os.makedirs(os.path.join(self.folder, "bin"))
        for name, line in (("peer-floor", '{"peer": "floor"}'), ("weir-machine", '{"step_ns": 1, "trip_ns": null}')):
            with open(os.path.join(self.folder, "bin", name), "w", encoding="utf-8") as file:
                file.write(f"#!/bin/sh\necho '{line}'\n")
            os.chmod(file.name, 0o755)
        row, = self.rows("floor")
        self.assertRegex(row["failed"], "floor, flood, threads 1: it printed no valid report")
        self.assertRegex(self.rows("weir:drop")[0]["failed"], "peer-weir: No such file")
        self.assertEqual(row["skipped"], None)


# A report that obeys the contract.
GOOD = {"peer": "weir", "variant": "drop", "version": "1", "case": "flood", "threads": 1, "payload_bytes": 32,
        "events": 10, "emitted": 10, "delivered": 9, "lost": 1, "told_lost": 1, "ns_per_event": 1.5,
        "cpu_ns_per_event": 1.5, "seconds": 0.1, "seconds_delivered": 0.2, "budget_bytes": 4096, "buffer_bytes": 4096,
        "bytes_per_event": 34.0, "pinned": False, "note": ""}


class Figures(unittest.TestCase):
    """Medians and ratios of rounds with known figures."""

    class Fake:
        """A runner whose n-th round costs n times as much."""
        COSTS = {"floor": 10, "weir:drop": 12, "weir:block": 15, "lttng:discard": 120, "lttng:blocking": 150}

        def __init__(self):
            self.asked = []

        def run(self, peer, of):
            self.asked.append(peer.name)
            factor = self.asked.count(peer.name)
            if peer.name not in self.COSTS:
                raise Missing("not here")
            return GOOD | {"ns_per_event": self.COSTS[peer.name] * factor, "delivered": of.events - factor,
                           "lost": factor, "told_lost": None}

    def go(self, names, rounds, kind="burst"):
        fake = self.Fake()
        going = peers.Rounds(fake, peers.select(names), [peers.case(kind, 1)], lambda _text: None)
        for _ in range(rounds):
            going.go()
        return fake, {row["name"]: row for row in going.rows()}

    def test_medians_and_ratios(self):
        fake, rows = self.go(["floor", "weir", "lttng", "boost"], 3)
        self.assertEqual(rows["weir:drop"]["ns_per_event"], 24)
        self.assertEqual(rows["weir:drop"]["least"]["ns_per_event"], 12)
        self.assertEqual(rows["weir:drop"]["greatest"]["ns_per_event"], 36)
        self.assertAlmostEqual(rows["weir:drop"]["of_floor"], 1.2)
        self.assertAlmostEqual(rows["lttng:discard"]["of_weir"], 10, msg="against DROP")
        self.assertAlmostEqual(rows["lttng:blocking"]["of_weir"], 10, msg="against BLOCK")
        self.assertIsNone(rows["weir:drop"]["told_lost"])
        self.assertEqual(rows["boost:drop"]["skipped"], "not here")
        self.assertEqual(fake.asked[:6], [*self.Fake.COSTS, "boost:drop"])
        self.assertEqual(fake.asked[6:11], fake.asked[:5], "in turn, and a missing peer is not run again")

    def test_only_one_state_is_compared(self):
        """The floor is in a core of its own in all rounds; Weir is so in two of three."""
        class Changing(self.Fake):
            def run(self, peer, of):
                run = super().run(peer, of)
                is_shared = peer.name == "weir:drop" and self.asked.count(peer.name) == 3
                return run | samples.reading(1.2, 1.9 if is_shared else None) | {"ns_per_event": 20 if is_shared else 12}
        going = peers.Rounds(Changing(), peers.select(["floor", "weir:drop"]), [peers.case("burst", 1)], lambda _: None)
        for _ in range(3):
            going.go()
        rows = {(row["name"], row["state"]): (row["rounds"], row["ns_per_event"], row["of_floor"]) for row in going.rows()}
        self.assertEqual(rows, {("floor", "own core, one cache"): (3, 12, 1.0),
                                ("weir:drop", "own core, one cache"): (2, 12, 1.0), ("weir:drop", "mixed"): (1, 20, None)})
        self.assertIn("own core, one cache", "\n".join(peers.tables(going.rows())))

    def test_table(self):
        _, rows = self.go(["floor", "weir:drop"], 3)
        text = "\n".join(peers.tables(list(rows.values())))
        self.assertIn("burst, threads 1, 310,000 events, budget 4 MiB, rounds 3", text)
        self.assertRegex(text, r"weir:drop +24\.0 \(12\.0\.\.36\.0\) +1\.50 +1\.20 \(1\.20\.\.1\.20\)")

    def test_names(self):
        self.assertEqual([peer.name for peer in peers.select(["weir:block", "floor"])], ["floor", "weir:block"])
        with self.assertRaisesRegex(ValueError, "'weird' is not a peer; known are floor, weir"):
            peers.select(["weird"])

    def test_reports(self):
        weir = peers.select(["weir:drop"])[0]
        good = json.dumps(GOOD)
        self.assertEqual(peers.Runner.report(weir, good, {"read": 9})["lost"], 1)
        known = {"delivered": 4, "bytes": 160, "told_lost": None}
        run = peers.Runner.report(weir, good, known)
        self.assertEqual((run["delivered"], run["lost"], run["told_lost"], run["bytes_per_event"]), (4, 6, None, 40))
        for text, known in ((good, {"read": 8}), (good, {"delivered": 11}), ("", {}), ("[]", {}),
                            (json.dumps(GOOD | {"events": "10"}), {}), (json.dumps(GOOD | {"more": 1}), {})):
            with self.assertRaises(Failed, msg=text):
                peers.Runner.report(weir, text, known)

    def test_sub_buffers(self):
        with mock.patch.object(lttng, "processors", return_value=2):
            self.assertEqual(lttng.sub_buffer_bytes("flood", MIB), 128 << 10)
            self.assertEqual(lttng.sub_buffer_bytes("burst", MIB), MIB)
        with mock.patch.object(lttng, "processors", return_value=6):
            self.assertEqual(lttng.sub_buffer_bytes("flood", MIB), 32 << 10)
        with mock.patch.object(lttng, "processors", return_value=4096):
            self.assertEqual(lttng.sub_buffer_bytes("flood", MIB), 4096)


# Starts a process that ignores SIGTERM and has a child, prints where, and waits.
HOLDER = """
import sys, time
from bench.peers import rig
from bench.stress import runs
rig.GRACE_S = 0.5
def main():
    with rig.Workplace() as place:
        process = place.start(["sh", "-c", "trap '' TERM; sleep 1000 & echo > {mark}; wait"])
        print(place.folder, process.pid, flush=True)
        time.sleep(100)
runs.run_command("holder", main)
"""


class Ends(unittest.TestCase):
    def held(self, number):
        with tempfile.TemporaryDirectory() as folder:
            mark = os.path.join(folder, "mark")
            holder = subprocess.Popen([sys.executable, "-B", "-c", HOLDER.format(mark=mark)],
                                      stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
            with holder:
                place, group = holder.stdout.readline().split()
                while not os.path.exists(mark):
                    self.assertIsNone(holder.poll())
                self.assertEqual(len(list(rig.members(int(group)))), 2)
                holder.send_signal(number)
                status = holder.wait(timeout=30)
        self.assertEqual(list(rig.members(int(group))), [])
        self.assertFalse(os.path.exists(place))
        return status

    def test_interrupted(self):
        self.assertEqual(self.held(signal.SIGINT), 130)

    def test_too_long(self):
        with rig.Workplace() as place:
            with self.assertRaisesRegex(Failed, "not done after 0 s: sleep"):
                place.run(["sleep", "100"], 0.2)
            self.assertEqual(place.groups, [])

    def test_words_of_a_failure(self):
        with rig.Workplace() as place:
            with self.assertRaisesRegex(Failed, "sh: exit code 3: second"):
                place.run(["sh", "-c", "echo first >&2; echo second >&2; exit 3"], 10)


class Command(unittest.TestCase):
    def test_usage(self):
        for words in (["--only", "weird"], ["--case", "calm"], ["--rounds", "0"], ["--threads", "1,300"],
                      ["--threads", "x"]):
            with self.subTest(words):
                done = subprocess.run([sys.executable, "-B", "-m", "bench.judge.cmd_peers", *words],
                                      capture_output=True, text=True, timeout=60, check=False)
                self.assertEqual(done.returncode, 2, done)

    def test_what_is_written(self):
        """The command with faked runs: its file, its table, and its exit code if a peer fails."""
        from bench.judge import cmd_peers
        good = Figures().go(["floor", "weir:drop"], 2)[1]
        for failed, status in ((None, 0), ("it fell", 1)):
            rows = [row | {"failed": failed} for row in good.values()]
            with tempfile.TemporaryDirectory() as folder, mock.patch.object(peers, "measure", return_value=rows):
                path = os.path.join(folder, "deep", "peers.json")
                words = ["peers", "--case", "burst", "--only", "floor,weir", "-o", path]
                out, err = io.StringIO(), io.StringIO()
                with mock.patch.object(sys, "argv", words), contextlib.redirect_stdout(out), \
                        contextlib.redirect_stderr(err), self.assertRaises(SystemExit) as ended:
                    cmd_peers.command.run("peers", cmd_peers.main)
                self.assertEqual(ended.exception.code, status, err.getvalue())
                with open(path, encoding="utf-8") as file:
                    result = json.load(file)
            self.assertIn("weir:drop", out.getvalue())
            self.assertEqual(result["command"], f"./dev bench peers --case burst --only floor,weir -o {path}")
            self.assertEqual([row["name"] for row in result["rows"]], ["floor", "weir:drop"])
            points.validate("environment", result["environment"], path)


if __name__ == "__main__":
    unittest.main()
