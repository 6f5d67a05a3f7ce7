"""A page in a headless Chromium from file://: what a person would do in it, and what is then to be seen."""
import html
import json
import pathlib
import re
import shutil
import subprocess
import tempfile

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")

# In the page's head: what goes wrong is kept, and so is every wish for a network.
LISTEN = """<script>
window.wrong = [];
addEventListener("error", (event) => wrong.push(String(event.message)));
addEventListener("unhandledrejection", (event) => wrong.push(String(event.reason)));
addEventListener("securitypolicyviolation", (event) => wrong.push("policy: " + event.violatedDirective));
</script>"""

# Put at the end of the page: takes the steps, which fill `seen`, and then replaces the document by `seen` as JSON.
ACT = """<script>addEventListener("load", () => setTimeout(() => {
  const by = (id) => document.getElementById(id), seen = {};
  const input = (id) => by(id).dispatchEvent(new Event("input"));
  @STEPS@
  setTimeout(() => {
    @LAST@
    seen.title = document.title;
    seen.wrong = wrong;
    const result = Object.assign(document.createElement("pre"), { id: "seen", textContent: JSON.stringify(seen) });
    document.body.replaceChildren(result);
  }, 200);
}, 100));</script>"""


def see(text, steps, last=""):
    """What the steps, and `last` a moment later, saw of the page. It needs no network, and logs nothing."""
    assert re.findall(r"(?:src|href)\s*=\s*[\"']?(?:https?:)?//[^\s\"'>]+", text) == []
    acted = text.replace("<title>", LISTEN + "<title>", 1)
    acted = acted.replace("</body>", ACT.replace("@STEPS@", steps).replace("@LAST@", last) + "</body>")
    with tempfile.TemporaryDirectory(prefix="weir-page-") as folder:
        path = pathlib.Path(folder) / "page.html"
        path.write_text(acted, encoding="utf-8")
        done = subprocess.run(
            [CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
             "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage", "--enable-logging=stderr", "--window-size=1300,900",
             f"--user-data-dir={folder}/profile", "--virtual-time-budget=10000", "--dump-dom", f"file://{path}"],
            capture_output=True, text=True, check=False, timeout=120)
    match = re.search(r'<pre id="seen">(.*?)</pre>', done.stdout, re.S)
    assert match, done.stdout[-2000:] + done.stderr[-2000:]
    assert not (logged := [line for line in done.stderr.splitlines() if "CONSOLE" in line]), logged
    return json.loads(html.unescape(match.group(1)))
