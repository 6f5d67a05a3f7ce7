"""Checks that run.py's comparison notices every kind of difference; needs no .NET."""

import copy
import unittest
import zlib

import run


def summary():
    rows = [("P/Q", 1, 11, 2), ("P/Q", 2, 22, 1)]
    counts = [{"provider": p, "event_id": i, "event_name": "N", "count": n} for p, i, _, n in rows]
    threads = [{"provider": p, "event_id": i, "thread": t, "count": n} for p, i, t, n in rows]
    fields = [("b", "Boolean", True), ("f", "Single", 0.10000000149011612), ("d", "Double", -0.0), ("n", "Double", "NaN"),
              ("u", "UInt64", 2**64 - 1), ("a", "Int32[]", [1, 2]), ("s", "String", "x\ud800"), ("c", "Char", "A")]
    event = {"provider": "P/Q", "event_id": 1, "activity": "A", "related_activity": "B", "fields": [{"name": n, "type": t, "value": v} for n, t, v in fields]}
    row = {"provider": "P/Q", "event_id": 1, "stacks": 2, "frames": 4, "stack_sum": 2 * zlib.crc32(bytes(range(16)))}
    return {"events": 3, "events_lost": 7, "rising": True, "first_violation": None, "counts": counts, "threads": threads, "payloads": [event],
            "details": {"rows": [row]}}


EXPECT = {
    "events": {"P/Q/1": 2, "P/Q/2": 1}, "threads": {"11": {"P/Q/1": 2}, "22": {"P/Q/2": 1}}, "events_lost": 7, "rising": True,
    "fields": {"P/Q/1": {"b": True, "f": 0.1, "d": -0.0, "n": "NaN", "u": str(2**64 - 1), "a": [1, 2], "s": "x\ud800", "c": 65}},
}


CONTEXT = {"stack": [0x0706050403020100, 0x0F0E0D0C0B0A0908], "activity": "A", "related_activity": "B"}
EXPECT["contexts"] = {"P/Q/1": CONTEXT}


class Compare(unittest.TestCase):
    def test_same(self):
        self.assertEqual(list(run.compare(summary(), EXPECT)), [])

    def test_each_difference_is_noticed(self):
        changes = [(("events", "P/Q/1"), 3), (("events", "P/Q/3"), 1), (("threads", "11"), {"P/Q/1": 1}), (("threads", "33"), {"P/Q/1": 1}),
                   (("threads",), {"11": {"P/Q/1": 2}}), (("events_lost",), 0), (("rising",), False), (("event",), {}),
                   (("fields", "P/Q/1", "more"), 1), (("fields", "P/Q/2"), {}), (("fields", "P/Q/1"), {"b": True})]
        wrong = {"b": False, "f": 0.2, "d": 0.0, "n": 0.0, "u": 2**63, "a": [2, 1], "s": "x\ufffd", "c": 66}
        changes += [(("fields", "P/Q/1", name), value) for name, value in wrong.items()]
        changes += [(("contexts", "P/Q/1", name), value) for name, value in
                    (("stack", []), ("stack", CONTEXT["stack"][:1]), ("stack", CONTEXT["stack"][::-1]), ("activity", "B"), ("related_activity", "A"))]
        changes += [(("contexts", "P/Q/2"), CONTEXT)]
        for path, value in changes:
            expect = copy.deepcopy(EXPECT)
            at = expect
            for step in path[:-1]:
                at = at[step]
            at[path[-1]] = value
            with self.subTest(path=path):
                self.assertTrue(list(run.compare(summary(), expect)))

    def test_reader_sees_too_much_or_too_little(self):
        less = summary()
        del less["counts"][1]
        self.assertTrue(list(run.compare(less, EXPECT)))
        more = summary()
        more["counts"].append({"provider": "P", "event_id": 9, "event_name": "", "count": 1})
        self.assertTrue(list(run.compare(more, EXPECT)))

    def test_ignored_events_alone_are_left_out(self):
        more = summary()
        more["counts"].append({"provider": "Own", "event_id": 1, "event_name": "", "count": 5})
        self.assertTrue(list(run.compare(more, EXPECT)))
        self.assertEqual(list(run.compare(more, {**EXPECT, "ignore": ["Own/1"]})), [])
        self.assertTrue(list(run.compare(more, {**EXPECT, "ignore": ["Own/1", "P/Q/1"]})))


if __name__ == "__main__":
    unittest.main()
