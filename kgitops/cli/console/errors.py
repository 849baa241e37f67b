"""The output of a command that failed: sentences, a verdict in JSON, an exit code."""

import sys
import traceback
from collections.abc import Sequence
from contextlib import suppress

from kgitops.cli.console.streams import print_notice, print_result
from kgitops.model.errors import FindingsError, KgitopsError
from kgitops.model.json.layout import json_line
from kgitops.model.verdict import ExitCode, Reason, Verdict, decide, verdict_to_json


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
    kind = "stopped" if verdict.stops else "nothing_to_do"
    line = {"type": kind, "verdict": verdict_to_json(verdict)}
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
