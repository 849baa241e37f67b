"""The output of a command that failed: sentences, a verdict in JSON, an exit code.

Errors of the command-line parser get our own sentences, with hints for words of other tools.
"""

import re
import sys
import traceback
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from kgitops.cli.running.streams import print_notice, print_result
from kgitops.model.errors import FindingsError, KgitopsError, UsageError
from kgitops.model.json.layout import json_line
from kgitops.model.verdict import ExitCode, Reason, Verdict, decide


def refuse(error: KgitopsError, *, as_json: bool) -> int:
    """Print what is wrong, findings one a line with their places; the exit code."""
    if isinstance(error, FindingsError):
        return _refuse_findings(error, as_json=as_json)
    return tell_refusal(decide(error.reasons, changes=False), as_json=as_json)


def annotate(error: KgitopsError) -> None:
    """Print the error as annotations, which GitHub shows next to the lines they are about."""
    from kgitops.report.ci.github import render_github_refusal

    with suppress(KgitopsError):  # the exit code says it too
        print_result(render_github_refusal(error))


def tell_refusal(verdict: Verdict, *, as_json: bool) -> int:
    """Print every reason to stderr and, where JSON was asked for, the verdict to stdout."""
    lines = [line for reason in verdict.reasons for line in reason.sentence.split("\n")]
    print_notice("\n".join(f"kgitops: {line}" for line in lines))
    if as_json:
        print_verdict(verdict)
    return int(verdict.exit)


def print_verdict(verdict: Verdict) -> None:
    """Print a verdict as the last line of JSON, for lack of a plan or a run to hold it."""
    from kgitops.model.json.codec import to_json  # msgspec's JSON is not on the way to --help

    kind = "stopped" if verdict.stops else "nothing_to_do"
    line = {"type": kind, "verdict": to_json(verdict)}
    with suppress(KgitopsError):  # the exit code says it too
        print_result(json_line(line))


def unexpected(error: Exception, words: Sequence[str], *, as_json: bool) -> int:
    """Print one sentence about an unexpected error; ``--debug`` adds the traceback."""
    if "--debug" in words:
        with suppress(OSError):
            traceback.print_exception(error, file=sys.stderr)
    sentence = (
        f"kgitops failed where it should not: {type(error).__name__}: {error}; run again with "
        "kgitops --debug and report what it prints"
    )
    reason = Reason(exit=ExitCode.ERROR, sentence=sentence.replace("\n", " "))
    return tell_refusal(decide([reason], changes=False), as_json=as_json)


def _refuse_findings(error: FindingsError, *, as_json: bool) -> int:
    from kgitops.report.text.listings import render_findings

    print_notice(render_findings(error.findings).removesuffix("\n"))
    reasons = [Reason(exit=error.exit, sentence=str(finding)) for finding in error.findings]
    verdict = decide(reasons, changes=False)
    if as_json:
        print_verdict(verdict)
    return int(verdict.exit)


_GUESS = re.compile(r"\.? (?:Did you mean (?P<word>.*)\?|\(Possible options: (?P<options>.*)\))$")
_NO_COMMAND = re.compile(r"no such command ['\"](?P<word>.*)['\"]$")
_TOO_MANY = re.compile(r"got unexpected extra arguments?(?:\(s\))? \((?P<words>.*)\)$")
_PYDANTIC_PREFIX = re.compile(r"(?<=: )(?:Value error, |Input should be (?=an? |greater|less))")
_PLAIN = {
    "a valid integer, unable to parse string as an integer": "it must be a whole number",
    "a valid number, unable to parse string as a number": "it must be a number",
    "greater than or equal to": "it must be at least",
    "less than or equal to": "it must be at most",
}
_GLOBAL_OPTIONS = {"--debug": "--debug", "--log-level": "--log-level debug"}
"""Options of kgitops itself, as they are written before the command."""

_COMMAND_HINTS = {
    "destroy": "remove the documents, and name what is protected in a Tombstone",
    "delete": "remove the document, or write a Tombstone for what is protected",
    "import": "declare what exists and kgitops plan adopts it; kgitops export writes manifests",
    "refresh": "kgitops plan always reads the cluster again",
    "state": "there is no state file; kgitops snapshot writes the cluster's state",
    "status": "kgitops drift shows what others changed, kgitops sandbox status shows the sandbox",
    "rollback": "revert the commit, and apply that",
    "lint": "kgitops validate checks manifests",
    "check": "kgitops validate checks manifests",
    "test": "kgitops policy test runs the tests of policies",
    "completion": "kgitops --install-completion sets up your shell",
    "get": "kgitops export writes manifests of a cluster",
    "topics": "topics are declared in YAML; kgitops export writes those of a cluster",
    "quota": "quotas are declared in YAML; kgitops vc quota explain shows which one applies",
    "quotas": "quotas are declared in YAML; kgitops vc quota explain shows which one applies",
    "acl": "kgitops acls lists, adds and removes bindings",
}
"""Commands of other tools, and what to use instead."""

_OPTION_HINTS = {
    "-y": "--auto-approve applies without a question",
    "--yes": "--auto-approve applies without a question",
    "-f": "a PATH is given as it is",
    "--file": "a PATH is given as it is",
    "-v": "write kgitops --log-level debug before the command",
    "--verbose": "write kgitops --log-level debug before the command",
    "--dry-run": "kgitops plan changes nothing",
    "--force": "deletions past the limits take --allow-deletes, protected objects a Tombstone",
    "--json": "write --format json",
    "--output": "--format FORMAT says how to print, --out FILE where to write",
    "--version": "write kgitops --version",
}
"""Options of other tools, and what to use instead."""


def usage_error(error: Exception, words: Sequence[str]) -> UsageError | None:
    """The parser's complaint about ``words``; None where the error is not the parser's."""
    describe: Any = getattr(error, "format_message", None)
    if describe is None:
        return None
    context: Any = getattr(error, "ctx", None)
    command = context.command_path if context else _command_path(words)
    text = _PYDANTIC_PREFIX.sub("", str(describe()).strip())
    for theirs, ours in _PLAIN.items():
        text = text.replace(theirs, ours)
    advice = f"see {command} --help"
    if guess := _GUESS.search(text):
        text = text[: guess.start()]
        near = guess["word"] or guess["options"]
        advice = f"did you mean {near.replace(chr(39), '').replace(', ', ' or ')}? {advice}"
    text = text.rstrip(".").replace(". ", ", ")
    text = f"{text[:1].lower()}{text[1:]}"
    return UsageError("; ".join(_problem_and_advice(text, advice, error, context, command)))


def _problem_and_advice(
    text: str,
    advice: str,
    error: Exception,
    context: Any,  # noqa: ANN401 (click's own)
    command: str,
) -> tuple[str, str]:
    """The problem and the advice, with a hint where the intention is known."""
    option = getattr(error, "option_name", None)
    if option in _GLOBAL_OPTIONS:
        written = f"kgitops {_GLOBAL_OPTIONS[option]}{command.removeprefix('kgitops')}"
        return f"{option} goes before the command", f"write {written}"
    if option in _OPTION_HINTS:
        return text, _OPTION_HINTS[option]
    if (unknown := _NO_COMMAND.match(text)) and unknown["word"] in _COMMAND_HINTS:
        in_a_group = " " in command
        return text, advice if in_a_group else _COMMAND_HINTS[unknown["word"]]
    if too_many := _TOO_MANY.match(text):
        return f"this is too much: {too_many['words']}", f"drop it, {advice}"
    if text == "missing command":
        return "a command is missing", f"give one of {', '.join(context.command.commands)}"
    return text, advice


def _command_path(words: Sequence[str]) -> str:
    """The command that ``words`` begin with, as far as this is known without parsing them."""
    names = [word for word in words[:2] if not word.startswith("-")]
    groups = ("fleet", "policy", "sandbox", "vc")
    return " ".join(("kgitops", *(names if names[:1] and names[0] in groups else names[:1])))
