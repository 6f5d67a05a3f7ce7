"""Sentences that claim speed: those of README, docs and headers that hold a figure and a unit, and whether a claim has
them.

It is a heuristic. A figure is digits or a number in words; a unit is one of time, of a rate, of a ratio ("x", "times",
"of the floor", "%"). Bytes are not looked for: nearly all of them are limits. What has both and claims nothing (a
default, a deadline) is told in bench/claims/no_claims.json, with the reason.
"""
import bisect
import os
import re

DIGITS = r"\d[\d.,]*(?:\s(?:million|thousand))?"
WORDS = (r"(?:an?|half an?|one|two|three|four|five|six|seven|eight|nine|ten|twelve|fifteen|twenty|thirty|sixty|ninety|"
         r"some|hundreds? of|a hundred|a thousand|a million|millions? of)")
TIME = r"(?:ns|us|µs|ms|s|nanoseconds?|microseconds?|milliseconds?|seconds?|minutes?|hours?)"
RATE = r"(?:[MGk]B/s|[MGk]?\s?(?:events|bytes)/s|(?:events|bytes|calls)\s(?:a|per)\ssecond|M/s)"
RATIO = r"(?:x|×|%|times|tenths?\sof|of\s(?:the|its)\s(?:floor|bound)|per\scent)"
UNIT = rf"(?:{TIME}|{RATE}|{RATIO})"
FIGURE = re.compile(rf"(?<![\w.,-])(?:{DIGITS}\s?{UNIT}|{WORDS}\s{UNIT})(?!\w)|"
                    rf"\bcosts?\s(?:nothing|{DIGITS}|{WORDS})(?!\w)", re.I)
# "a second stop", "one times": articles before these words are nearly never figures of speed.
ORDINAL = re.compile(r"(?:an?|one|some|half an?)\s(?:second|s|x|times|minutes?|%)$", re.I)
SENTENCE_END = re.compile(r"(?<=[.!?;|])\s")
COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.S)
GENERATED = re.compile(r"<!-- figures:.*?<!-- end -->", re.S)
CODE = re.compile(r"^ {0,3}```.*?^ {0,3}```|(?:^|(?<=\n\n))(?: {4,}[^\n]*(?:\n|$))+", re.S | re.M)


class Text:
    """A file's prose with single spaces, and where it stands in the file. `prose` is a text as long as the file's,
    with all that is not prose blanked out."""

    def __init__(self, prose):
        words = list(re.finditer(r"\S+", prose))
        self.starts, self.lines, parts, length = [], [], [], 0
        for word in words:
            self.starts.append(length)
            self.lines.append(prose.count("\n", 0, word.start()) + 1)
            parts.append(word.group())
            length += len(word.group()) + 1
        self.text = " ".join(parts)

    def line(self, at):
        return self.lines[bisect.bisect_right(self.starts, at) - 1]

    def spans(self, words):
        """All places of these words; wrapped lines do not matter."""
        wanted, at = " ".join(words.split()), -1
        while wanted and (at := self.text.find(wanted, at + 1)) >= 0:
            yield at, at + len(wanted)

    def sentence(self, at):
        ends = [match.start() for match in SENTENCE_END.finditer(self.text)]
        index = bisect.bisect_right(ends, at)
        start, end = ends[index - 1] if index else 0, ends[index] if index < len(ends) else len(self.text)
        return self.text[start:end].strip()


def blanked(text, pattern):
    return pattern.sub(lambda match: re.sub(r"[^\n]", " ", match.group()), text)


def prose_of_markdown(text):
    return blanked(blanked(text, GENERATED), CODE)


def prose_of_c(text):
    """Comments, without what decorates them."""
    kept = re.sub(r"[^\n]", " ", text)
    for match in COMMENT.finditer(text):
        kept = kept[:match.start()] + match.group() + kept[match.end():]
    return re.sub(r"(?m)^\s*\*(?!/)|/\*+|\*/|//", lambda match: re.sub(r"[^\n]", " ", match.group()), kept)


def read(path):
    with open(path, encoding="utf-8") as file:
        content = file.read()
    return Text(prose_of_markdown(content) if path.endswith(".md") else prose_of_c(content))


def documents(root):
    """The files whose sentences count, relative to the root. Entries of results/ are what was measured, not claimed."""
    found = []
    for folder, folders, names in os.walk(root):
        relative = os.path.relpath(folder, root)
        folders[:] = sorted(name for name in folders if is_searched(os.path.normpath(os.path.join(relative, name))))
        for name in sorted(names):
            if name.endswith(".md") or name.endswith(".h") and relative.split(os.sep)[0] == "core":
                found.append(os.path.normpath(os.path.join(relative, name)))
    return found


def is_searched(folder):
    first, _, rest = folder.partition(os.sep)
    if first.startswith(".") or first in ("build", "out", "node_modules") or folder.endswith("node_modules"):
        return False
    return not (first == "results" and rest) and folder != os.path.join("tests", "data")


def figures_in(text):
    """(start, end) of what looks like a figure of speed."""
    for match in FIGURE.finditer(text.text):
        if not ORDINAL.fullmatch(match.group()):
            yield match.span()


def places(book):
    """(file, words, who says so) of all claims and of what claims nothing."""
    for claim in book.claims:
        files = [place for place in claim["where"] if "file" in place]
        yield from ((place["file"], place["text"], f"claim {claim['id']}") for place in files)
    yield from ((one["file"], one["text"], "no_claims.json") for one in book.no_claims)


def check_words(root, book, texts):
    """Words that a claim or an exception names and that are gone."""
    for file, words, who in places(book):
        if file not in texts:
            if not os.path.isfile(os.path.join(root, file)):
                yield f"{file}: there is no such file; {who} names it"
                continue
            texts[file] = read(os.path.join(root, file))
        if not any(texts[file].spans(words)):
            yield f"{file}: '{words}' is gone; change or remove it in {who}"


def check_figures(file, text, book):
    """Figures of speed that no claim has."""
    known = [span for name, words, _ in places(book) if name == file for span in text.spans(words)]
    told = set()
    for start, end in figures_in(text):
        if any(first <= start and end <= last for first, last in known):
            continue
        line, sentence = text.line(start), text.sentence(start)
        if sentence not in told:
            told.add(sentence)
            yield f"{file}:{line}: no claim says '{text.text[start:end]}' in: {sentence[:300]}"


def check(root, book):
    texts = {file: read(os.path.join(root, file)) for file in documents(root)}
    yield from check_words(root, book, dict(texts))
    for file, text in texts.items():
        yield from check_figures(file, text, book)
