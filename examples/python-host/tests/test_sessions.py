"""Sessions: their arguments, sinks, and the GIL."""
import support


class Sessions(support.Case):
    def test_arguments(self):
        self.run_script("""
import weir
def refused(type, text, **arguments):
    try: weir.session(**arguments).start()
    except type as error: assert text in str(error), error
    else: raise AssertionError(arguments)
refused(ValueError, "a file or a sink")
refused(ValueError, "a file or a sink", file="f", sink=print)
refused(ValueError, "not callable", sink=1)
refused(ValueError, "'later'", file="f", mode="later")
refused(ValueError, "Pithon", file="f", providers="Pithon")
refused(ValueError, "", file="f", segment=5)
refused(RuntimeError, "No such file", file="/no/such/folder/f")
refused(RuntimeError, "Not a directory", file=b"/dev/null/f")
session = weir.session("t.nettrace", mode="overwrite")
assert session.stats() is None
session.stop()
session.start()
try: session.start()
except RuntimeError as error: assert "once" in str(error)
else: raise AssertionError
assert session.stats()["attempted"] > 0
session.stop(); session.stop()
""")
        self.assertIn("session.stats", self.calls("t.nettrace"))

    def test_sink_in_block(self):
        """A function takes the stream while four threads wait for it; none of its own calls are events."""
        self.run_script("""
import threading, time, weir
parts = []
def sink(part):
    assert type(part) is bytes
    time.sleep(0.001)
    parts.append(part)
def f(): pass
def work():
    for _ in range(10_000): f()
with weir.session(sink=sink, mode="block", budget=64 << 10, segment=4 << 10) as session:
    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads: thread.start()
    for thread in threads: thread.join()
assert session.stats()["parks"] > 0 and session.stats()["lost"] == 0, session.stats()
open("t.nettrace", "wb").write(b"".join(parts))
""")
        calls = self.calls("t.nettrace")
        self.assertEqual((calls["f"], calls["work"], calls.get("sink")), (40_000, 4, None))

    def test_sink_that_raises(self):
        """It ends the session; the program goes on at once, and the stop says what was raised."""
        result = self.run_script("""
import weir
def sink(part): raise LookupError("the disk is a drum")
def f(): pass
try:
    with weir.session(sink=sink, mode="block", budget=64 << 10, segment=4 << 10):
        for _ in range(50_000): f()
except RuntimeError as error:
    print(error)
    assert type(error.__cause__) is LookupError and error.__cause__.__traceback__ is not None
with weir.session("t.nettrace"): f()
""")
        self.assertIn("the sink raised LookupError('the disk is a drum')", result.stdout)
        self.assertEqual(self.calls("t.nettrace")["f"], 1)

    def test_two_at_once(self):
        """Threads that start and stop sessions at the same time, in each other's way."""
        self.run_script("""
import threading, weir
def f(): pass
def work(number):
    for turn in range(15):
        with weir.session(f"{number}.nettrace", mode="block", budget=64 << 10, segment=4 << 10):
            for _ in range(500): f()
threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
for thread in threads: thread.start()
for thread in threads: thread.join()
""")
        for number in range(4):
            self.assertGreaterEqual(self.calls(f"{number}.nettrace")["f"], 500)

    def test_parked_lets_others_run(self):
        """While a thread waits for a sink that takes its time, one without events goes on."""
        self.run_script("""
import threading, weir
counter, done = 0, False
def spin():
    global counter
    while not done: counter += 1
spinner = threading.Thread(target=spin); spinner.start()
def sink(part):
    seen = counter
    while counter < seen + 100_000: pass
def f(): pass
with weir.session(sink=sink, mode="block", budget=64 << 10, segment=4 << 10) as session:
    for _ in range(20_000): f()
    assert session.stats()["parks"] > 0
done = True
spinner.join()
""")
