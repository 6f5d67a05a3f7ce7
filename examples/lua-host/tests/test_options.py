"""The host's own options, and what happens to FILE if tracing cannot start."""
import os

from support import Case


class Options(Case):
    def test_help_and_version(self):
        result = self.host("--help")
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        for option in ("--trace FILE", "--providers LIST", "--budget SIZE", "--diagnostics", "-l g=mod"):
            self.assertIn(option, result.stdout)
        result = self.host("--version")
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        self.assertRegex(result.stdout, r"^lua-host \d+\.\d+\.\d+, Lua 5\.4")

    def test_bad_options(self):
        trace = self.path("t.nettrace")
        for arguments in (
            ["--trace"],
            ["--trace="],
            ["--trace", ""],
            ["--trace", trace, "--budget"],
            ["--trace", trace, "--budget", "x"],
            ["--trace", trace, "--budget", "-1"],
            ["--trace", trace, "--budget", " 1M"],
            ["--trace", trace, "--budget", "1MB"],
            ["--trace", trace, "--budget", "1.5M"],
            ["--trace", trace, "--budget", "0"],
            ["--trace", trace, "--budget", "99999999999999999999"],
            ["--trace", trace, "--budget", "99999999999G"],
            ["--trace", trace, "--providers", "NoSuchProvider"],
            ["--trace", trace, "--providers", "Lua:nonsense"],
            ["--trace", trace, "--providers", "Lua:1:9"],
            ["--providers", "Lua"],
            ["--budget", "1M"],
        ):
            with self.subTest(arguments):
                result = self.host(*arguments, *([] if len(arguments) == 1 else ["-e", "print(1)"]))
                self.assertEqual((result.returncode, result.stdout), (2, ""), result.stderr)
                self.assertIn("--help'", result.stderr)
                self.assertEqual(os.listdir(self.directory), [], "nothing is left behind")

    def test_good_values(self):
        trace = self.path("t.nettrace")
        for arguments in (
            ["--trace", trace, "--budget", "8388608"],
            ["--trace", trace, "--budget", "8192K"],
            [f"--trace={trace}", "--budget=8M", "--providers=Lua:0x39:4"],
            ["--providers", "Lua:57", "--budget", "1G", "--trace", trace],
        ):
            with self.subTest(arguments):
                result = self.host(*arguments, "-e", "print(arg[-2], arg[-1], arg[1])", "-", "argument")
                self.assertEqual((result.returncode, result.stderr), (0, ""))
                self.assertEqual(result.stdout, "-e\tprint(arg[-2], arg[-1], arg[1])\targument\n")
                self.stat(trace)

    def test_trace_leaves_output_alone(self):
        script = self.write("s.lua", "io.write('out') io.stderr:write('err')")
        result = self.host("--trace", self.path("t.nettrace"), script)
        self.assertEqual((result.stdout, result.stderr), ("out", "err"))


class Files(Case):
    def test_replaced_by_a_start(self):
        trace = self.write("t.nettrace", "old")
        self.assertEqual(self.host("--trace", trace, "-e", "").returncode, 0)
        self.stat(trace)
        self.assertEqual(os.listdir(self.directory), ["t.nettrace"])

    def test_kept_when_providers_are_bad(self):
        trace = self.write("t.nettrace", "old")
        self.assertEqual(self.host("--trace", trace, "--providers", "Nobody", "-e", "").returncode, 2)
        with open(trace, encoding="utf-8") as file:
            self.assertEqual(file.read(), "old")

    def test_no_directory(self):
        result = self.host("--trace", self.path("none/t.nettrace"), "-e", "print('ran')")
        self.assertEqual((result.returncode, result.stdout), (1, ""))
        self.assertIn("cannot trace", result.stderr)

    def test_no_permission(self):
        if os.geteuid() == 0:
            self.skipTest("root may write everywhere")
        trace = self.write("t.nettrace", "old")
        os.chmod(self.directory, 0o500)
        self.addCleanup(os.chmod, self.directory, 0o700)
        self.assertEqual(self.host("--trace", trace, "-e", "print('ran')").returncode, 1)
        with open(trace, encoding="utf-8") as file:
            self.assertEqual(file.read(), "old")

    def test_full_device(self):
        if not os.path.exists("/dev/full"):
            self.skipTest("no /dev/full")
        result = self.host("--trace", "/dev/full", "-e", "for i = 1, 1e5 do tostring(i) end")
        self.assertEqual(result.returncode, 1, "the trace is not whole")
        self.assertIn("not whole", result.stderr)
        result = self.host("--trace", "/dev/full", "-e", "os.exit(9)")
        self.assertEqual(result.returncode, 9, "the script's status is kept")
