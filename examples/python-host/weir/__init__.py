"""Traces this interpreter with Weir:

    with weir.session("out.nettrace", mode="block"):
        ...

writes calls, returns and collections of all threads. README.md of examples/python-host says more."""
import atexit
import os
import sys

from . import _weir

CALLS = 0x1
COLLECTIONS = 0x4
EXCEPTIONS = 0x8

_running = set()  # so that a session that nobody keeps runs until the end


class session:
    """A session, from start() to stop(), or for the length of a with statement.

    file or sink: a path, or a function that takes the stream as bytes objects, on a thread of the library.
    keywords: of CALLS, COLLECTIONS and EXCEPTIONS; or providers: in the language of WEIR_SESSION.
    mode: "drop", "block" or "overwrite". budget and segment are in bytes. max_block_ms: the longest wait of an
    event in "block"; 0: no limit.

    A wrong argument is a ValueError. A RuntimeError says why a session cannot start, or its stream is not whole."""

    def __init__(self, file=None, *, sink=None, keywords=CALLS | COLLECTIONS, providers=None, mode="drop",
                 budget=16 << 20, segment=32 << 10, max_block_ms=0):
        if (file is None) == (sink is None):
            raise ValueError("a session takes a file or a sink")
        if sink is not None and not callable(sink):
            raise ValueError("the sink is not callable")
        for name, value, bits in (("budget", budget, 64), ("segment", segment, 32), ("max_block_ms", max_block_ms, 44)):
            if not 0 <= value < 1 << bits:
                raise ValueError(f"{name} is {value}; it may be up to 2**{bits} - 1")
        providers = providers or f"Python:{keywords:#x}"
        self._arguments = file, sink, providers, mode, budget, segment, max_block_ms
        self._handle = None

    def start(self):
        if self._handle is not None:
            raise RuntimeError("a session starts once")
        _running.add(self)
        try:
            self._handle = _weir.start(*self._arguments)
        finally:
            if self._handle is None:
                _running.discard(self)

    def stop(self):
        """Ends the stream. Lets the events write that wait for room. A second stop does nothing new."""
        if self._handle is not None:
            try:
                _weir.stop(self._handle)
            finally:
                _running.discard(self)

    def stats(self):
        """Events attempted, written and lost, and waits of threads. None before the start, and in the child of a fork."""
        return _weir.stats(self._handle) if self._handle is not None else None

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *exception):
        self.stop()


def _stop_all():
    for line in _weir.stop_all():
        print("weir: the trace is not whole:", line, file=sys.stderr)


atexit.register(_stop_all)
os.register_at_fork(after_in_child=_weir.after_fork)
