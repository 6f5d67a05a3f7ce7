"""The licences of all that is installed are installed, and each file of the checkout has one (reuse lint)."""
import re


def use(at):
    installed = at.prefix / "share/doc/weir"
    at.run(f"cmp {at.source}/LICENSE {installed}/LICENSE")
    notice = (installed / "ck-licence.txt").read_text(encoding="utf-8")
    for holder in sorted(holders_in_ck(at)):
        at.expect(holder in notice, f"ck-licence.txt lacks {holder}, who holds rights in ck's headers")
    at.need_checkout()
    at.need("reuse")
    at.run(f"cd {at.source} && reuse lint")


def holders_in_ck(at):
    """In the headers of ck that the library is compiled with; the sources of ck's objects are not installed."""
    sources = "".join(path.read_text(encoding="utf-8") for path in (at.source / "core").rglob("*.[ch]"))
    at.write("ck.c", "\n".join(re.findall(r"^#include <ck_.*>$", sources, re.M)))
    headers = re.findall(r"\S*/ck/include/\S*", at.run(f"{at.cc} -M -I{at.build}/core/ck/include ck.c"))
    text = at.run("cat", *headers)
    found = set(re.findall(r"Copyright [-\d, ]+ (.*?)\.?$", text, re.M))
    at.expect(len(found) >= 4, f"found only {found} in ck's headers")
    return found
