"""counted.py LINES TRACE: prints the calls of the workload by function, as sys.setprofile counts them, and traces the
same workload in BLOCK through 64 KiB."""
import gc
import json
import sys
import threading

import weir
import workload

counts = {}  # by thread, so that no two threads write the same number


def count(frame, event, argument):
    if event == "call":
        code = frame.f_code
        key = code.co_filename, code.co_firstlineno, code.co_qualname
    elif event == "c_call":
        key = argument.__qualname__
    else:
        return
    mine = counts.setdefault(threading.get_ident(), {})
    mine[key] = mine.get(key, 0) + 1


def counted(texts):
    gc.disable()  # under a profile function it can crash, unless it is the one of weir
    threading.setprofile(count)
    sys.setprofile(count)
    workload.run(texts)
    sys.setprofile(None)
    threading.setprofile(None)
    gc.enable()
    total = {}
    for mine in counts.values():
        for key, number in mine.items():
            total[key] = total.get(key, 0) + number
    return [[key, number] for key, number in total.items()]


texts = workload.sources(int(sys.argv[1]))
workload.run(texts)  # fills caches, which the threads share
print(json.dumps(counted(texts)))
gc.set_threshold(100, 5, 5)
with weir.session(sys.argv[2], mode="block", budget=64 << 10, segment=4 << 10) as session:
    workload.run(texts)
print(json.dumps(session.stats()))
