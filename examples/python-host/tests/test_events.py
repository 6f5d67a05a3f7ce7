"""What the events say, and which threads have them."""
import signal
import sys

import support


class Events(support.Case):
    def test_functions(self):
        """The names of functions, methods, closures, generators and C functions; a yield is a return."""
        self.run_script("""
import collections, weir
class Outer:
    class Inner:
        def method(self): return self
        @classmethod
        def made(cls): return cls()
def closure():
    def inner(): pass
    inner()
def generated():
    yield 1
    yield 2
class Derived(collections.OrderedDict): pass
with weir.session("t.nettrace"):
    Outer.Inner.made().method()
    closure()
    list(generated())
    (lambda: None)()
    Derived().setdefault(1)
    dict.fromkeys("ab")
    "a".upper(); "b".upper()
    len("a")
""")
        calls = self.calls("t.nettrace")
        expected = {"Outer.Inner.method": 1, "Outer.Inner.made": 1, "closure": 1, "closure.<locals>.inner": 1,
                    "generated": 3, "<lambda>": 1, "collections.OrderedDict.setdefault": 1, "dict.fromkeys": 1,
                    "str.upper": 2, "len": 1}
        self.assertEqual({name: calls.get(name) for name in expected}, expected)
        functions = {f["Name"]: f for f in self.events("t.nettrace", "Function")}
        self.assertEqual(functions["closure"]["Line"], 8)
        self.assertTrue(functions["closure"]["File"].endswith("script.py"))
        self.assertEqual((functions["len"]["Kind"], functions["len"]["Line"]), ("C", -1))

    def test_code_that_dies(self):
        """A code object at the address of an earlier one is another function; none is kept alive."""
        result = self.run_script("""
import gc, sys, weir
with weir.session("t.nettrace", mode="block"):
    for n in range(200):
        scope = {}
        exec(f"def made_{n}(): pass", scope)
        scope[f"made_{n}"]()
    addresses = set()
    for n in range(100):
        code = compile(f"def last_{n}(): pass", "f", "exec").co_consts[0]
        addresses.add(id(code))
        exec(code)
        del code
print(len(addresses))
""")
        if not support.places["preload"]:  # AddressSanitizer keeps what is freed
            self.assertLess(int(result.stdout), 50)
        calls = self.calls("t.nettrace")
        for prefix, count in ("made_", 200), ("last_", 100):
            self.assertEqual([n for n in range(count) if calls.get(f"{prefix}{n}") != 1], [])

    def test_exceptions(self):
        """Each exception once, where it is raised, with no code of its class run; only if they are asked for."""
        self.run_script("""
import weir
class Loud(Exception):
    def __str__(self): raise SystemExit("asked")
def raises(error): raise error
def passes(error): raises(error)
with weir.session("t.nettrace", keywords=weir.EXCEPTIONS):
    for error in ValueError("first"), Loud("second"), KeyError(3), OSError("caf\\u00e9"):
        try: passes(error)
        except Exception: pass
    try: [].index(1)
    except ValueError: pass
with weir.session("calls.nettrace"):
    try: passes(ValueError())
    except ValueError: pass
""")
        found = [(e["Type"], e["Message"]) for e in self.events("t.nettrace", "Exception")]
        self.assertEqual(found, [("ValueError", "first"), ("Loud", "second"), ("KeyError", ""), ("OSError", "caf\u00e9"),
                                 ("ValueError", "1 is not in list")])
        names = {f["FunctionId"]: f["Name"] for f in self.events("t.nettrace", "Function")}
        self.assertEqual([names[e["FunctionId"]] for e in self.events("t.nettrace", "Exception")],
                         ["raises"] * 4 + ["<module>"])
        self.assertEqual(self.events("t.nettrace", "Call"), [])
        self.assertEqual(self.events("calls.nettrace", "Exception"), [])

    def test_collections(self):
        self.run_script("""
import gc, weir
gc.disable()
with weir.session("t.nettrace", keywords=weir.COLLECTIONS):
    cycle = []; cycle.append(cycle); del cycle
    gc.collect(); gc.collect(0)
gc.collect()
""")
        self.assertEqual([e["Generation"] for e in self.events("t.nettrace", "GCStart")], [2, 0])
        stops = self.events("t.nettrace", "GCStop")
        self.assertEqual([e["Generation"] for e in stops], [2, 0])
        self.assertGreaterEqual(stops[0]["Collected"], 1)
        self.assertEqual(stops[1]["Collected"], 0)

    def test_generators_and_the_collector(self):
        """Without the correction in instruments.c, a collection in a generator follows a freed object."""
        script = """
import gc, sys
{begin}
def generated():
    for a in list([1]):
        for b in list([1]):
            for c in list([1]):
                for d in list([1]):
                    yield d
    gc.collect()
list(generated())
{end}
"""
        freed = {"PYTHONMALLOC": "debug"}  # so that it is seen
        self.run_script(script.format(begin="import weir; session = weir.session('t.nettrace'); session.start()",
                                      end="session.stop()"), env=freed)
        self.assertEqual(self.calls("t.nettrace")["generated"], 2)
        if sys.version_info < (3, 11, 3) and not support.places["preload"]:
            self.run_script(script.format(begin="sys.setprofile(lambda *arguments: None)", end=""), env=freed,
                            status=-signal.SIGSEGV)

    def test_exceptions_from_within_a_generator(self):
        """A session of exceptions that starts while a thread waits in a generator that a session of calls has seen resumed."""
        self.run_script("""
import os, threading, time, weir
end, begin = os.pipe()
lines = os.fdopen(end, "rb")
def generated():
    while True: x = ((yield), *lines)
def fails(): raise ValueError
def work():
    generator = generated(); next(generator)
    waits.set(); next(generator)
    try: fails()
    except ValueError: pass
waits = threading.Event()
with weir.session("calls.nettrace", keywords=weir.CALLS):
    thread = threading.Thread(target=work); thread.start(); waits.wait(); time.sleep(0.2)
    with weir.session("t.nettrace", keywords=weir.EXCEPTIONS):
        os.close(begin); thread.join()
""")
        self.assertIn("ValueError", [e["Type"] for e in self.events("t.nettrace", "Exception")])

    def test_threads(self):
        """Threads that run when the session starts, that start later, and that other threads start."""
        self.run_script("""
import threading, weir
go = threading.Event()
def early(): go.wait(); early_called()
def early_called(): pass
def late(): late_called(); inner = threading.Thread(target=innermost); inner.start(); inner.join()
def late_called(): pass
def innermost(): pass
first = threading.Thread(target=early); first.start()
with weir.session("t.nettrace"):
    second = threading.Thread(target=late); second.start(); second.join()
    go.set(); first.join()
""")
        calls = self.calls("t.nettrace")
        for name in "early_called", "late", "late_called", "innermost":
            self.assertEqual(calls.get(name), 1, name)

    def test_others_hooks(self):
        """A profiler and a debugger of the program's stay, and nothing of ours stays behind."""
        self.run_script("""
import gc, sys, threading, weir
seen = []
def hook(frame, event, argument): seen.append(event)
def f(): pass
sys.setprofile(hook)
with weir.session("t.nettrace", keywords=weir.CALLS | weir.EXCEPTIONS | weir.COLLECTIONS):
    assert sys.getprofile() is hook
    f()
sys.setprofile(None)
assert "call" in seen
seen.clear()
with weir.session("t.nettrace", keywords=weir.CALLS | weir.EXCEPTIONS | weir.COLLECTIONS):
    f()
f()
assert seen == [] and gc.callbacks == [] and threading.getprofile() is None and sys.gettrace() is None
""")
