"""The installed completion for bash: commands, options, their values, and files."""


def use(at):
    at.need("bash")
    script = at.prefix / "share/bash-completion/completions/weir"
    at.write("a.nettrace", "")

    def complete(*words):
        quoted = " ".join(f"'{word}'" for word in ("weir", *words))
        before = words[-2] if len(words) > 1 else "weir"
        return at.run(f"bash -c \"PATH={at.prefix}/bin:$PATH; . {script}; COMP_WORDS=({quoted}); COMP_CWORD={len(words)}; "
                      f"_weir weir '{words[-1]}' '{before}'; printf '%s\\n' \\\"\\${{COMPREPLY[@]}}\\\"\"").split()

    for words, expected in {
            ("",): ["stat", "dump", "check", "report", "diff", "schema", "cut", "heap", "ps", "collect", "help", "--help", "--version"],
            ("st",): ["stat"], ("sc",): ["schema"], ("help", "co"): ["collect"],
            ("stat", "--"): ["--provider", "--event", "--thread", "--from", "--to", "--last", "--csv", "--json", "--help"],
            ("collect", "-"): ["-p", "-n", "--port", "--providers", "--mode", "--budget", "--rundown", "--timeout", "--duration",
                               "-o", "--json", "--help"],
            ("heap", ""): ["collect", "report", "roots", "diff", "export", "--help"], ("heap", "roots", "--ty"): ["--type"],
            ("collect", "--mode", ""): ["drop", "block"], ("report", "--by", "e"): ["exclusive"],
            ("stat", "a."): ["a.nettrace"], ("collect", "-o", "a."): ["a.nettrace"], ("collect", "--", "printen"): ["printenv"],
            ("collect", "--", "cat", "a."): ["a.nettrace"]}.items():
        found = list(dict.fromkeys(complete(*words))) # a command may be in several folders
        at.expect(found == expected, f"weir {' '.join(words)}: {found}")
    asked = at.run(f"bash -c '. {script}; complete -p weir'")
    at.expect("-F _weir weir" in asked, f"bash asks {asked}")
