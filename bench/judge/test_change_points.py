"""change_points.py, series.py and the command watch, on series of which is known what is in them."""
import json
import unittest

import numpy

from bench.judge import change_points, samples, series


def noise(count, seed, share=0.03):
    return 10 * (1 + share * numpy.random.default_rng(seed).standard_normal(count))


def steps(values, **changes):
    found = change_points.find(samples.history(values, **changes))
    return [(change.at, change.kind) for change in found]


class Find(unittest.TestCase):
    def test_nothing_in_noise(self):
        heavy = [10 + 0.3 * numpy.random.default_rng(seed).standard_t(1.5, 200).clip(-5, 50) for seed in range(20)]
        false = sum(bool(steps(values)) for values in [noise(200, seed) for seed in range(40)] + heavy)
        self.assertLessEqual(false, 1)

    def test_a_step(self):
        for seed in range(6):
            values = noise(120, seed)
            values[70:] *= 1.08
            found = steps(values)
            self.assertEqual([kind for _, kind in found], ["step"], found)
            self.assertLessEqual(abs(found[0][0] - 70), 4)

    def test_the_last_commits(self):
        values = noise(100, 1, 0.01)
        values[-4:] *= 1.2
        self.assertEqual(steps(values), [(96, "step")])
        values[-2:], values[-4:-2] = values[-2:], noise(2, 2, 0.01)
        self.assertEqual(steps(values), [], "two points are no level")

    def test_back_again(self):
        values = noise(120, 3)
        values[50:62] *= 1.25
        self.assertEqual([at for at, _ in steps(values)], [50, 62])

    def test_one_instruction(self):
        found = change_points.find(samples.history([33.0] * 60 + [34.0] * 5, cal_ns=None))
        self.assertEqual([(c.at, c.before, c.after, c.kind) for c in found], [(60, 33.0, 34.0, "step")])
        self.assertTrue(change_points.worse(found[0], "less"))
        self.assertFalse(change_points.worse(found[0], "more"))
        self.assertIsNone(change_points.worse(found[0], "none"))

    def test_a_drift(self):
        for slope, seed in ((0.001, 1), (0.003, 2), (-0.002, 3)):
            found = steps(noise(200, seed) * (1 + slope * numpy.arange(200)))
            self.assertEqual([kind for _, kind in found], ["drift"], found)

    def test_the_host_is_blamed(self):
        values, calibration = noise(120, 5), 1.9 * noise(120, 6, 0.002) / 10
        values[60:] *= 1.15
        moved = calibration.copy()
        moved[60:] *= 1.14
        self.assertEqual(steps(values, cal_ns=lambda n: float(moved[n]))[0][1], "host")
        self.assertEqual(steps(values, cal_ns=lambda n: float(calibration[n]))[0][1], "step")
        elsewhere = calibration.copy()
        elsewhere[20:] *= 1.14
        self.assertEqual(steps(values, cal_ns=lambda n: float(elsewhere[n]))[0][1], "step")

    def test_a_kernel_is_blamed(self):
        values = noise(120, 7)
        values[60:] *= 1.15
        kernel = lambda n, at: {**samples.ENVIRONMENT, "kernel": "Linux 6.1.0" if n < at else "Linux 6.2.0"}
        self.assertEqual(steps(values, environment=lambda n: kernel(n, 60))[0][1], "host")
        self.assertEqual(steps(values, environment=lambda n: kernel(n, 20))[0][1], "step")

    def test_counts_are_no_matter_of_the_host(self):
        kernel = lambda n: {**samples.ENVIRONMENT, "kernel": "Linux 6.1.0" if n < 60 else "Linux 6.2.0"}
        values = [33.0] * 60 + [34.0] * 20
        self.assertEqual(steps(values, cal_ns=None, environment=kernel, suite="count"), [(60, "step")])
        self.assertEqual(steps(values, cal_ns=None, environment=kernel, suite="brim"), [(60, "host")])

    def test_many_series_need_more(self):
        self.assertEqual([change_points.copies_for(n) for n in (1, 50, 51, 400)], [999, 999, 1019, 7999])
        # Three of 29 points at an end: chance does that less than once in a thousand orders, but not in eight.
        values = [10 + 0.001 * (7 * n % 26) for n in range(26)] + [20, 20.1, 20.05]
        self.assertEqual([len(change_points.find(samples.history(values), together)) for together in (1, 400)], [1, 0])

    def test_too_little(self):
        for values in ([], [1.0], [1.0, 2.0], [1.0] * 5, [1.0] * 3 + [2.0] * 3):
            self.assertEqual(steps(values), [])


class Order(samples.Folder):
    def test_of_commits_not_of_clocks(self):
        names = self.commits(4)
        known = series.commits(self.folder)
        late = [samples.point(n, commit=names[n][:12], date=samples.date(100 - n)) for n in (2, 0, 3, 1)]
        (some,) = series.group(late, known).values()
        self.assertEqual([point["value"] for point in some], [0, 1, 2, 3])
        self.assertEqual(known[names[1]].subject, "Change <1>")

    def test_a_series_is_of_one_machine(self):
        other = {**samples.ENVIRONMENT, "cpu": "other"}
        groups = series.group([samples.point(), samples.point(environment=other), samples.point(metric="ratio")], {})
        self.assertEqual(len(groups), 3)
        self.assertEqual(len(series.group(samples.history(range(20)), {}, last=5).popitem()[1]), 5)

    def test_names_in_natural_order(self):
        made = [samples.point(suite=suite, bench=f"{suite}/producers:{n}") for suite in ("brim", "emit")
                for n in (32, 8)]
        self.assertEqual([key[1] for key in series.group(made, {})],
                         ["emit/producers:8", "emit/producers:32", "brim/producers:8", "brim/producers:32"])


class Watch(samples.Folder):
    def watch(self, *arguments, code=0):
        return self.command("watch", "--root", self.folder, "--history", self.path("history"), *arguments,
                            code=code).stdout

    def keep(self, values, names, **changes):
        series.append(samples.history(values, commit=lambda n: names[n][:12], **changes), self.path("history"))

    def test_new_and_known(self):
        names = self.commits(60)
        self.watch()
        values = noise(60, 8)
        values[40:] *= 1.2
        self.keep(values, names)
        told = self.watch(code=1)
        self.assertIn("worse", told)
        self.assertIn(f"{names[40][:12]} Change <40>", told)
        self.assertIn("1 change points in 1 series", told)
        self.watch("--since", names[50], code=0)
        self.watch("--since", names[38], code=1)
        (found,) = json.loads(self.watch("--json", code=1))
        self.assertEqual((found["kind"], found["worse"], found["commit"]), ("step", True, names[40][:12]))

    def test_the_host_is_no_reason(self):
        names, values = self.commits(60), noise(60, 9)
        values[30:] *= 1.2
        self.keep(values, names, cal_ns=lambda n: 1.9 if n < 30 else 2.2)
        self.assertIn("the host's, not the commit's: the calibration loop went from 1.9 to 2.2 ns", self.watch(code=0))

    def test_refusals(self):
        names = self.commits(1)
        self.keep([1.0], names)
        for revision in ("nothing", "--output=x"):
            done = self.command("watch", "--root", self.folder, "--history", self.path("history"),
                                f"--since={revision}", code=1)
            self.assertIn("no revision", done.stderr)
        self.write("history/broken.ndjson", "{}\n")
        self.assertIn("broken.ndjson:1", self.command("watch", "--history", self.path("history"), code=1).stderr)
        self.command("watch", "--last", "2", code=2)


if __name__ == "__main__":
    unittest.main()
