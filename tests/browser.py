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

# At its end: the steps, whose body fills `told`; then the account stands in the document, as JSON.
ACT = """<script>addEventListener("load", () => setTimeout(() => {
  const by = (id) => document.getElementById(id), told = {};
  const input = (id) => by(id).dispatchEvent(new Event("input"));
  @STEPS@
  setTimeout(() => {
    @LAST@
    told.title = document.title;
    told.wrong = wrong;
    const account = Object.assign(document.createElement("pre"), { id: "told", textContent: JSON.stringify(told) });
    document.body.replaceChildren(account);
  }, 200);
}, 100));</script>"""


def see(text, steps, last=""):
    """The page's account after the steps, and `last` a moment later. It needs no network, and logs nothing."""
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
    match = re.search(r'<pre id="told">(.*?)</pre>', done.stdout, re.S)
    assert match, done.stdout[-2000:] + done.stderr[-2000:]
    assert not (logged := [line for line in done.stderr.splitlines() if "CONSOLE" in line]), logged
    return json.loads(html.unescape(match.group(1)))
