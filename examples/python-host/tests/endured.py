"""endured.py: four threads call, raise, make garbage and start threads, while sessions come and go around them, with files
and with functions as sinks; the collector runs all the time."""
import gc
import threading
import time
import weakref

import weir

gc.set_threshold(40, 2, 2)
stopped = threading.Event()


class Node:
    def __init__(self, inner):
        self.me, self.inner = self, inner

    def __del__(self):
        [None for _ in "ab"]


def generated(n):
    for i in range(n):
        try:
            yield Node(i)
        finally:
            str(i)


def work():
    number = 0
    while not stopped.is_set():
        number += 1
        for node in generated(20):
            weakref.ref(node, lambda reference: None)
            if number % 3 == 0:
                break
        try:
            int("x")
        except ValueError as error:
            error.me = error
        exec(f"def made(n): return n and made(n - 1)\nmade({number % 30})", {})
        if number % 50 == 0:
            threading.Thread(target=lambda: sorted([3, 1, 2], key=lambda n: -n)).start()
        time.sleep(0)


threads = [threading.Thread(target=work, daemon=True) for _ in range(4)]
for thread in threads:
    thread.start()
events = weir.CALLS | weir.COLLECTIONS | weir.EXCEPTIONS
for turn in range(4):
    with open("sink.nettrace", "wb") as file:
        sink = {"sink": file.write} if turn % 2 else {"file": "file.nettrace"}
        with weir.session(**sink, mode="block", keywords=events, budget=64 << 10, segment=4 << 10):
            with weir.session("other.nettrace", keywords=weir.CALLS, budget=64 << 10, segment=4 << 10):
                time.sleep(0.02)
            time.sleep(0.02)
stopped.set()
for thread in threads:
    thread.join()
gc.collect()
