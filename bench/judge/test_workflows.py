"""Workflows: what may write runs no pull request's code, and no words of an event reach a shell."""
import os
import re
import unittest

from bench.judge import points

try:
    import yaml
except ImportError:
    yaml = None

FOLDER = os.path.join(points.ROOT, ".github", "workflows")
# Of events, what nobody from outside can choose the words of.
SAFE = re.compile(r"^(github\.(token|sha|event\.repository\.default_branch|event\.workflow_run\.id)|runner\.temp"
                  r"|steps\.[a-z]+\.(outcome|outputs\.artifact-url))$")
# What counts under valgrind asks for a fixed layout of the process (setarch -R), which docker's default profile
# refuses.
COUNTS = re.compile(r"\./dev bench (ab|count|quick)|\./dev test|\.ci/run")
COUNTING_OPTION = "--security-opt seccomp=unconfined"
UNTRUSTED_REF = re.compile(r"pull_request|head_(sha|ref|branch|commit|repository)|refs/pull|merge")


def load(text):
    """PyYAML reads the key `on` as true, as YAML 1.1 has it."""
    found = yaml.safe_load(text)
    return {("on" if key is True else key): value for key, value in found.items()}


def expressions(value):
    return [one.strip() for one in re.findall(r"\$\{\{(.*?)\}\}", str(value), re.S)]


def events(workflow):
    on = workflow["on"]
    return set(on if isinstance(on, (dict, list)) else [on])


def can_write(workflow, job):
    permissions = job.get("permissions", workflow.get("permissions"))
    return not isinstance(permissions, dict) or "write" in permissions.values()


def faults(workflow):
    """What is wrong with a workflow, in words."""
    if workflow.get("permissions") != {"contents": "read"}:
        yield "the workflow's own permissions are not just to read"
    if "pull_request_target" in events(workflow):
        yield "pull_request_target runs with a token that writes, next to a stranger's code"
    for name, job in workflow["jobs"].items():
        if "timeout-minutes" not in job:
            yield f"{name}: no timeout"
        if can_write(workflow, job) and "pull_request" in events(workflow):
            yield f"{name}: writes on pull_request"
        if not may_count(job):
            yield f"{name}: counts in a container that does not allow it"
        for step in job["steps"]:
            yield from (f"{name}: {fault}" for fault in step_faults(step, can_write(workflow, job), events(workflow)))


def may_count(job):
    counts = any(COUNTS.search(step.get("run", "")) for step in job["steps"])
    container = job.get("container")
    options = container.get("options", "") if isinstance(container, dict) else ""
    return not counts or container is None or COUNTING_OPTION in options


def step_faults(step, writes, on):
    if ("run" in step) == ("uses" in step):
        yield "a step runs something or uses something"
    if expressions(step.get("run", "")):
        yield f"an expression in a shell's words: {step['run']}"
    uses, given = step.get("uses", ""), step.get("with", {})
    if uses and not re.fullmatch(r"actions/[a-z-]+@(v\d+|[0-9a-f]{40})", uses):
        yield f"{uses} is not one of GitHub's own"
    if not writes:
        return
    if uses.startswith("actions/checkout"):
        ref = str(given.get("ref", ""))
        is_default = ref == "${{ github.event.repository.default_branch }}"
        if UNTRUSTED_REF.search(ref) or "repository" in given or ("workflow_run" in on and not is_default):
            yield f"checks out what a stranger may have written: {given}"
    if uses.startswith("actions/download-artifact") and not str(given.get("path",
                                                                          "")).startswith("${{ runner.temp }}/"):
        yield "an artifact is put where it may take the place of code"
    if "workflow_run" in on and re.search(r"git (checkout|fetch|pull|clone|switch)|gh pr", step.get("run", "")):
        yield f"fetches code: {step['run']}"
    for expression in expressions(given):
        if not SAFE.match(expression):
            yield f"{expression} decides what {uses} does"


@unittest.skipIf(yaml is None, "there is no python3-yaml")
class Workflows(unittest.TestCase):
    def setUp(self):
        self.texts = {}
        for name in sorted(os.listdir(FOLDER)):
            with open(os.path.join(FOLDER, name), encoding="utf-8") as file:
                self.texts[name] = file.read()
        self.workflows = {name: load(text) for name, text in self.texts.items()}

    def test_all_are_in_order(self):
        self.assertLessEqual({"bench.yml", "bench-report.yml", "bench-main.yml", "test.yml"}, set(self.workflows))
        found = {name: list(faults(workflow)) for name, workflow in self.workflows.items()}
        self.assertEqual(found, {name: [] for name in found})

    def test_pull_requests_are_read_only(self):
        workflow = self.workflows["bench.yml"]
        self.assertEqual(events(workflow), {"pull_request"})
        self.assertTrue(workflow["concurrency"]["cancel-in-progress"])
        (job,) = workflow["jobs"].values()
        self.assertNotIn("permissions", job)
        checkout = next(step for step in job["steps"] if "checkout" in step.get("uses", ""))
        self.assertEqual((checkout["with"]["fetch-depth"], checkout["with"]["persist-credentials"]), (0, False))
        self.assertNotIn("secrets.", self.texts["bench.yml"])

    def test_without_a_report_it_is_said(self):
        (job,) = self.workflows["bench-report.yml"]["jobs"].values()
        last = job["steps"][-1]
        self.assertIn("--not-measured", last["run"])
        self.assertEqual(last["if"], "${{ !cancelled() && steps.comment.outcome != 'success' }}")
        (before,) = [step for step in job["steps"] if step.get("id") == "comment"]
        self.assertIn("bench.judge.cmd_comment", before["run"])
        (packages,) = [step for step in job["steps"] if step.get("name") == "Packages"]
        self.assertNotIn("if", packages)

    def test_only_what_pushes_has_the_token(self):
        for name in ("bench.yml", "bench-main.yml", "bench-report.yml"):
            for job in self.workflows[name]["jobs"].values():
                for step in job["steps"]:
                    if "checkout" in step.get("uses", ""):
                        self.assertIs(step["with"].get("persist-credentials"), False, name)
        (job,) = self.workflows["bench-main.yml"]["jobs"].values()
        holding = [step["name"] for step in job["steps"] if "github.token" in str(step)]
        self.assertEqual(holding, ["Keep"])
        self.assertNotIn("github.token", str(job.get("env", "")))

    def test_commands_are_there(self):
        for name, text in self.texts.items():
            for what in re.findall(r"\./dev bench ([a-z]+)", text):
                path = os.path.join(points.ROOT, "bench", "judge", f"cmd_{what}.py")
                self.assertTrue(os.path.exists(path), f"{name}: {what}")
            for module in re.findall(r"-m (bench\.\S+)", text):
                self.assertTrue(os.path.exists(os.path.join(points.ROOT, *module.split(".")) + ".py"), module)

    def test_what_is_wrong_is_found(self):
        report, bench, tests = (self.texts[f"{name}.yml"] for name in ("bench-report", "bench", "test"))
        default = "ref: ${{ github.event.repository.default_branch }}"
        for text, old, new, expected in (
                (report, default, "ref: ${{ github.event.workflow_run.head_sha }}", "stranger"),
                (report, default, "ref: refs/pull/1/head", "stranger"),
                (report, default, "fetch-depth: 1", "stranger"),
                (report, "${{ runner.temp }}/bench-report\n", "bench\n", "take the place of code"),
                (report, '"$HEAD_BRANCH"', "${{ github.event.workflow_run.head_branch }}", "a shell's words"),
                (report, "sudo apt-get update", "gh pr checkout 1; sudo apt-get update", "fetches code"),
                (report, "uses: actions/download-artifact@v4", "uses: someone/download@v1", "GitHub's own"),
                (bench, "contents: read", "contents: write", "just to read"),
                (bench, "timeout-minutes: 60\n", "timeout-minutes: 60\n    permissions:\n      pull-requests: write\n",
                 "writes on pull_request"),
                (bench, "  pull_request:", "  pull_request_target:", "pull_request_target"),
                (bench, COUNTING_OPTION, "--init", "does not allow it"),
                (tests, COUNTING_OPTION, "--init", "does not allow it"),
                (bench, "timeout-minutes: 60", "continue-on-error: true", "no timeout")):
            self.assertIn(old, text)
            found = list(faults(load(text.replace(old, new))))
            self.assertTrue(any(expected in fault for fault in found), f"{new}: {found}")


if __name__ == "__main__":
    unittest.main()
