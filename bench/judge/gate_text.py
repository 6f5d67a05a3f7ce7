"""Rows of the gate for people."""
WORDS = {"regressed": "worse", "improved": "better", "same": "the same", "not_compared": "not compared"}


def number(value):
    return "-" if value is None else f"{value:,.2f}".rstrip("0").rstrip(".")


def print_table(rows, with_same):
    """Those that tell something, or all."""
    shown = [row for row in rows if with_same or row["verdict"] in ("regressed", "improved") or row["note"]]
    if not shown:
        return
    width = max(len(row["name"]) for row in shown)
    print(f"{'figure':{width}}  {'base':>10}  {'head':>10}  verdict")
    for row in shown:
        print(f"{row['name']:{width}}  {number(row['base']):>10}  {number(row['head']):>10}  "
              f"{WORDS[row['verdict']]:12} {row['note']}".rstrip())


def summary(rows):
    verdicts = [row["verdict"] for row in rows]
    parts = [f"{verdicts.count(verdict)} {word}" for verdict, word in WORDS.items() if verdict in verdicts]
    return f"{len(rows)} figures: {', '.join(parts)}"
