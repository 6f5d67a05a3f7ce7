"""Runs weir-bench as briefly as it can and looks at the report, not at the speed."""
import json
import subprocess
import sys

EXPECTED = ("empty_loop", "disabled", "floor/", "floor_no_clock/", "enabled/", "enabled_no_clock/",
            "dropped/", "drain_encode/", "ratio/enabled", "ratio/dropped", "ratio/disabled")
CONTEXT = ("cpu", "kernel", "c_compiler", "commit", "event_clock", "governor", "load")


def main():
    program, report = sys.argv[1:3]
    run = subprocess.run([program, "--benchmark_min_time=0.0001", "--benchmark_out=" + report,
                          "--benchmark_out_format=json"], capture_output=True, text=True, check=False)
    print(run.stdout)
    print(run.stderr, file=sys.stderr)
    if run.returncode != 0:
        sys.exit(f"it ended with {run.returncode}")
    if "enabled/floor at 32 bytes: " not in run.stdout:
        sys.exit("the ratio is not reported")
    with open(report, encoding="utf-8") as file:
        content = json.load(file)
    missing = [key for key in CONTEXT if not content["context"].get(key)]
    names = [row["name"] for row in content["benchmarks"]]
    missing += [prefix for prefix in EXPECTED if not any(name.startswith(prefix) for name in names)]
    if missing:
        sys.exit("not in the report: " + ", ".join(missing))
    failed = [row["name"] + ": " + row["error_message"] for row in content["benchmarks"]
              if row.get("error_occurred")]
    if failed:
        sys.exit("\n".join(failed))


if __name__ == "__main__":
    main()
