"""Fork, multiprocessing, sub-interpreters, daemon threads, and the ends of a process."""
import glob
import os

import support

WORK = """
import multiprocessing, os, sys, weir
def f(): pass
def work(number):
    with weir.session(f"child-{number}.nettrace", mode="block"):
        f(); f()
"""


class Processes(support.Case):
    def test_fork(self):
        """The child has no session; its stop does nothing, it may begin one, and the parent's goes on."""
        self.run_script(WORK + """
import gc, threading
with weir.session("parent.nettrace", mode="block") as session:
    f()
    child = os.fork()
    if child == 0:
        assert session.stats() is None and gc.callbacks == [] and threading.getprofile() is None
        f()
        work(1)
        thread = threading.Thread(target=f); thread.start(); thread.join()
if child == 0:
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
with weir.session("later.nettrace"): f()
""")
        self.assertEqual(self.calls("parent.nettrace")["f"], 1)
        self.assertEqual(self.calls("child-1.nettrace")["f"], 2)
        self.assertEqual(self.calls("later.nettrace")["f"], 1)

    def test_fork_while_threads_wait(self):
        self.run_script(WORK + """
import threading, time
stopped = False
def spin():
    while not stopped: f()
threads = [threading.Thread(target=spin) for _ in range(3)]
with weir.session(sink=lambda part: time.sleep(0.001), mode="block", budget=64 << 10, segment=4 << 10):
    for thread in threads: thread.start()
    for number in range(5):
        child = os.fork()
        if child == 0:
            work(number)
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 0
    stopped = True
    for thread in threads: thread.join()
""")
        self.assertEqual([self.calls(f"child-{n}.nettrace")["f"] for n in range(5)], [2] * 5)

    def test_multiprocessing(self):
        for method in "fork", "spawn":
            self.run_script(WORK + f"""
if __name__ == "__main__":
    with weir.session("parent.nettrace", mode="block"):
        with multiprocessing.get_context({method!r}).Pool(2) as pool:
            pool.map(work, range(4))
            pool.close(); pool.join()
""")
            for number in range(4):
                self.assertEqual(self.calls(f"child-{number}.nettrace")["f"], 2)
                os.remove(os.path.join(self.directory, f"child-{number}.nettrace"))
            self.assertNotIn("f", self.calls("parent.nettrace"))

    def test_environment(self):
        """Sessions of the environment begin with the import, in each process that is spawned too, and end at its exit."""
        self.run_script(WORK + """
if __name__ == "__main__":
    f()
    child = multiprocessing.get_context("spawn").Process(target=f)
    child.start(); child.join()
""", env={"WEIR_SESSION": "Python:1:5;file=e-%p.nettrace;mode=block"})
        traces = [os.path.basename(path) for path in glob.glob(os.path.join(self.directory, "e-*.nettrace"))]
        self.assertEqual([self.calls(trace)["f"] for trace in traces], [1, 1])

    def test_sub_interpreters(self):
        """They cannot import weir. Their code is not traced, and what is goes on, also when threads wait."""
        self.run_script(WORK + """
import _xxsubinterpreters as interpreters, time
def g():
    one = interpreters.create()
    interpreters.run_string(one, '''
try:
    import weir
except ImportError as error:
    assert "main interpreter" in str(error), error
else:
    raise AssertionError
def f(): pass
for _ in range(1000): f()
''')
    interpreters.destroy(one)
def sink(part):
    time.sleep(0.001)
    file.write(part)
with open("t.nettrace", "wb") as file:
    with weir.session(sink=sink, mode="block", budget=64 << 10, segment=4 << 10) as session:
        g()
        for _ in range(20_000): f()
        assert session.stats()["parks"] > 0
""")
        calls = self.calls("t.nettrace")
        self.assertEqual((calls["f"], calls["g"]), (20_000, 1))

    def test_loaded_twice(self):
        self.run_script("""
import sys, weir
del sys.modules["weir"], sys.modules["weir._weir"]
try: import weir
except ImportError as error: assert "twice" in str(error), error
else: raise AssertionError
""")

    def test_exit_without_stop(self):
        """The trace is whole, whoever still runs: daemon threads that wait for room among them."""
        for end, status in ("", 0), ("sys.exit(3)", 3), ("raise KeyError", 1):
            self.run_script(WORK + f"""
import threading, time
def spin():
    while True: f()
weir.session("t.nettrace", mode="block", budget=64 << 10, segment=4 << 10).start()
for _ in range(4): threading.Thread(target=spin, daemon=True).start()
time.sleep(0.05)
{end}
""", status=status)
            self.assertGreater(self.calls("t.nettrace")["f"], 1000)

    def test_exit_with_a_sink(self):
        self.run_script(WORK + """
import threading, time
file = open("t.nettrace", "wb", buffering=0)
def spin():
    while True: f()
weir.session(sink=file.write, mode="block", budget=64 << 10, segment=4 << 10).start()
for _ in range(4): threading.Thread(target=spin, daemon=True).start()
time.sleep(0.05)
""")
        self.assertGreater(self.calls("t.nettrace")["f"], 1000)

    def test_exit_after_a_failure(self):
        """A sink that raised, in a session that nobody stops, is reported on stderr."""
        result = self.run_script("""
import weir
def sink(part): raise ValueError
weir.session(sink=sink).start()
""")
        self.assertIn("weir: the trace is not whole:", result.stderr)

    def test_end_without_an_exit(self):
        """os._exit leaves a trace that has no end, and is read up to there."""
        self.run_script(WORK + """
import time
weir.session("t.nettrace").start()
f()
time.sleep(0.3)
os._exit(0)
""")
        self.assertEqual(self.calls("t.nettrace", status=4)["f"], 1)
