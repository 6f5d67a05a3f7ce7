"""Real modules of the standard library at work on its own sources, in several threads: the same calls in each run."""
import ast
import difflib
import glob
import io
import json
import os
import textwrap
import threading
import tokenize

THREADS = 4
# CPython counts the recursion of all threads' parsers in one number, up to 3.12 (issue gh-106905): if the interpreter changes
# threads in the middle of one, ast.parse() raises SystemError.
PARSES = threading.Lock()


def sources(count):
    """The smallest ones, each whole."""
    paths = glob.glob(os.path.join(os.path.dirname(json.__file__), "*.py"))
    paths += [textwrap.__file__, ast.__file__, tokenize.__file__, difflib.__file__]
    texts = []
    for path in sorted(paths, key=os.path.getsize)[:count]:
        with open(path, encoding="utf-8") as file:
            texts.append(file.read())
    return texts


def work(texts):
    for number, text in enumerate(texts):
        tokens = [list(token[:2]) for token in tokenize.generate_tokens(io.StringIO(text).readline)]
        json.loads(json.dumps(tokens, indent=1))
        lines = text.splitlines()
        list(difflib.unified_diff(lines, texts[number - 1].splitlines()))
        textwrap.fill(text)
        with PARSES:
            tree = ast.parse(text)
        ast.unparse(tree)


def run(texts):
    threads = [threading.Thread(target=work, args=(texts,)) for _ in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
