"""The installed manual pages have each line of --help, and man shows them without a complaint."""
import re


def use(at):
    at.need("man")
    main = at.run(at.weir, "--help")
    commands = [name for name in re.findall(r"^  ([a-z]+) ", main, re.M) if name != "help"]
    at.expect(len(commands) >= 6, f"weir --help lists {commands}")
    for command in ("", *commands):
        name = f"weir-{command}".rstrip("-")
        shown = at.run(f"man --warnings {at.prefix}/share/man/man1/{name}.1", MANWIDTH="150", LC_ALL="C", MANPAGER="cat")
        shown = {line.strip() for line in shown.splitlines()}
        text = at.run(at.weir, *command.split(), "--help")
        missing = [line for line in text.splitlines() if line.strip().removeprefix("usage: ") not in shown | {""}]
        at.expect(not missing, f"{name}.1 lacks {missing[:3]}")
        at.expect(f"{name} - " in "\n".join(shown), f"{name}.1 has no summary")
