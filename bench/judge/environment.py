"""What a figure was taken on. A figure without this is worth nothing: see results/schema.json."""
import os
import platform
import re

from bench.judge import process
from bench.judge.command import runs


def first_line(path):
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.readline().strip() or "unknown"
    except OSError:
        return "unknown"


def processor():
    """The name with family and model, since virtual machines cut the name short."""
    found = {}
    try:
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as file:
            for line in file:
                if not line.strip():
                    break
                key, _, value = line.partition(":")
                found[key.strip()] = value.strip()
    except OSError:
        pass
    name = found.get("model name", platform.machine() or "unknown")
    numbers = [f"{word} {found[key]}" for key, word in
               (("cpu family", "family"), ("model", "model"), ("stepping", "stepping")) if key in found]
    return f"{name} ({', '.join(numbers)})" if numbers else name


def runner():
    """The class of machine. WEIR_RUNNER names it where that is known better, as on a hosted runner."""
    given = os.environ.get("WEIR_RUNNER")
    if given:
        return re.sub(r"[^A-Za-z0-9_.:/+=-]", "-", given)[:120]
    try:
        system = platform.freedesktop_os_release()
    except OSError:
        system = {}
    identity = system.get("ID", "linux") + system.get("VERSION_ID", "")
    return f"{identity}-{platform.machine()}-{os.cpu_count()}cpu"


def compiler():
    """As CMake writes it: "GNU 12.2.0", "Clang 14.0.6"."""
    try:
        version = process.output(["cc", "--version"])
    except runs.Failed:
        return "unknown"
    family = "Clang" if "clang" in version else "GNU"
    number = re.search(r"(\d+\.\d+\.\d+)", version.splitlines()[0])
    return f"{family} {number.group(1)}" if number else family


def commit(root):
    """Of the checkout, with "-dirty" if what is built from it is not what was committed."""
    try:
        name = process.git("rev-parse", "--short=12", "HEAD", root=root)
        return name + "-dirty" if process.git("status", "--porcelain", "--untracked-files=no", root=root) else name
    except runs.Failed:
        return "unknown"


def collect(compiled_with=None):
    return {
        "runner": runner(),
        "cpu": processor(),
        "cores": os.cpu_count() or 1,
        "kernel": f"{platform.system()} {platform.release()}",
        "compiler": compiled_with or compiler(),
        "clock_source": first_line("/sys/devices/system/clocksource/clocksource0/current_clocksource"),
        "governor": first_line("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
        "load": first_line("/proc/loadavg"),
    }
