"""./dev bench comment: puts the comment of a report on its pull request, or edits the one that is there.

For CI: the report may be a stranger's, and this has a token that writes. Which pull request it is, is asked of GitHub
by the commit that the workflow's event names, never of the report. The token is read from GITHUB_TOKEN, the API's
address from GITHUB_API_URL. ./dev bench plot --report writes the comment without sending it.
"""
import argparse
import json
import os
import re
import urllib.error
import urllib.parse
import urllib.request

from bench.judge import command, comment, reports
from bench.judge.points import Invalid

AUTHOR = "github-actions[bot]"  # whose comments are ours to edit; anybody can write the marker
PAGES_MAX, PAGE = 30, 100


def like(pattern):
    """For argparse: a text that fits the regular expression."""
    def text(value):
        if not re.fullmatch(pattern, value):
            raise argparse.ArgumentTypeError(f"'{value}' is not like {pattern}")
        return value
    return text


def usage(argv):
    parser = command.parser("comment", __doc__)
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("report", metavar="REPORT", nargs="?", help="of ./dev bench ab --report")
    what.add_argument("--not-measured", action="store_true",
                      help="there is no REPORT, or none that can be taken: say that, so that no older verdict stands")
    parser.add_argument("--run-url", metavar="URL", type=like(r"https://[\w.:/-]+"),
                        help="with --not-measured: where to look why")
    parser.add_argument("--graph-url", metavar="URL", help="where its graph is")
    parser.add_argument("--repository", metavar="OWNER/NAME", required=True, type=like(r"[\w.-]+/[\w.-]+"),
                        help="that the pull request is to")
    parser.add_argument("--head-owner", required=True, help="of the repository that the pull request is from")
    parser.add_argument("--head-branch", required=True, help="that the pull request is from")
    parser.add_argument("--head-sha", required=True, type=like("[0-9a-f]{40}"),
                        help="the commit that was measured, as the event says")
    return parser.parse_args(argv)


class Api:
    """Of GitHub, as far as comments need it."""

    def __init__(self, address, token):
        self.address, self.token = address.rstrip("/"), token

    def ask(self, method, path, query=None, body=None):
        url = f"{self.address}{path}" + (f"?{urllib.parse.urlencode(query)}" if query else "")
        headers = {"Authorization": f"Bearer {self.token}", "Accept": "application/vnd.github+json",
                   "X-GitHub-Api-Version": "2022-11-28", "Content-Type": "application/json", "User-Agent": "weir-bench"}
        request = urllib.request.Request(url, method=method, headers=headers, data=json.dumps(body).encode() if body
                                         else None)
        try:
            with urllib.request.urlopen(request, timeout=30) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as error:
            raise Invalid(f"{method} {path}: GitHub says {error.code} {error.reason}") from error
        except (OSError, ValueError) as error:
            raise Invalid(f"{method} {path}: {error}") from error

    def all(self, path, query):
        for page in range(1, PAGES_MAX + 1):
            some = self.ask("GET", path, {**query, "per_page": PAGE, "page": page})
            yield from some
            if len(some) < PAGE:
                return


def pull_request(api, repository, owner, branch, sha):
    """Its number, or None where the branch has moved on: then a newer run comments."""
    found = api.all(f"/repos/{repository}/pulls", {"state": "open", "head": f"{owner}:{branch}"})
    return next((int(one["number"]) for one in found if one["head"]["sha"] == sha), None)


def put(api, repository, number, text):
    """Edits our comment, or adds it."""
    for one in api.all(f"/repos/{repository}/issues/{number}/comments", {}):
        if one["user"]["login"] == AUTHOR and one["body"].startswith(comment.MARKER):
            api.ask("PATCH", f"/repos/{repository}/issues/comments/{int(one['id'])}", body={"body": text})
            return "Edited"
    api.ask("POST", f"/repos/{repository}/issues/{number}/comments", body={"body": text})
    return "Added"


def text_of(arguments):
    """The comment, and its verdict."""
    if arguments.not_measured:
        return comment.not_measured(arguments.head_sha, arguments.run_url), "not measured"
    report = reports.read(arguments.report)
    if not arguments.head_sha.startswith(report["head"].removesuffix("-dirty")):
        raise Invalid(f"the report is about {report['head']}, but the run was of {arguments.head_sha[:12]}")
    return comment.render(report, arguments.graph_url), comment.verdict(report)


def main(argv=None):
    arguments = usage(argv)
    text, verdict = text_of(arguments)
    token = os.environ.get("GITHUB_TOKEN")
    if not token:
        raise Invalid("there is no GITHUB_TOKEN in the environment")
    api = Api(os.environ.get("GITHUB_API_URL") or "https://api.github.com", token)
    number = pull_request(api, arguments.repository, arguments.head_owner, arguments.head_branch, arguments.head_sha)
    if number is None:
        print("No open pull request has this commit as its head: nothing to comment.")
        return 0
    done = put(api, arguments.repository, number, text)
    print(f"{done} the comment of pull request {number}: {verdict}.")
    return 0


if __name__ == "__main__":
    command.run("comment", main)
