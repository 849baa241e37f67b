"""A plan as SARIF 2.1.0, for code scanning: verdicts, risks and findings on their lines.

Code scanning shows only what has a place in a file. What has none (drift, an object whose
document is gone) is a notification of the run: no place is made up for it.
"""

import hashlib
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from pathlib import PurePosixPath
from urllib.parse import quote

from msgspec import Struct

from kgitops import __version__
from kgitops.model.registry import Json
from kgitops.model.source import Finding, Source
from kgitops.model.wording import counted
from kgitops.plan.document.file import SealedPlan
from kgitops.plan.document.plan import Plan
from kgitops.report.ci.sarif_results import Result, policy_key, results, results_of
from kgitops.report.ci.sarif_rules import Own, own_rules, policy_rules, risk_rules, shown
from kgitops.report.content.policy_rows import today_of, waiver_sentence
from kgitops.report.content.statements import unfinished_run_sentence

MOST_RESULTS = 5_000
"""GitHub shows no more of a run: docs.github.com, SARIF support for code scanning."""
MOST_NOTIFICATIONS = 1_000

_ROOT = "%SRCROOT%"


class _Placed(Struct, frozen=True, kw_only=True):
    """A result with its place, the file as a URI reference below the repository's root."""

    result: Result
    uri: str
    source: Source


def render_sarif(plan: Plan, *, sealed: SealedPlan | None = None) -> str:
    """The log of one run; its category is the plan's target, so that none hides another."""
    sarif_results = results(plan)
    return _log(
        sarif_results,
        _rules(plan, sarif_results),
        category=_segment(plan.target.name),
        today=today_of(sealed),
        properties={
            "target": shown(plan.target.name),
            "clusterId": shown(plan.target.cluster_id),
            "exit": int(plan.verdict.exit),
            **({"planDigest": sealed.plan_digest} if sealed else {}),
        },
        unfinished=unfinished_run_sentence(sealed),
    )


def render_sarif_findings(findings: Sequence[Finding], *, left: Mapping[str, str]) -> str:
    """The log of findings about manifests; ``left`` says why a cluster was not looked at."""
    sarif_results = results_of(findings)
    used = {result.rule for result in sarif_results}
    rules = own_rules(own for own in Own if str(own) in used)
    names = {"clustersLeft": [shown(f"{name}: {why}") for name, why in left.items()]}
    return _log(sarif_results, rules, category="validate", today=None, properties=names)


def _log(
    sarif_results: Sequence[Result],
    rules: dict[str, Json],
    *,
    category: str,
    today: date | None,
    properties: dict[str, Json],
    unfinished: str | None = None,
) -> str:
    placed = list(filter(None, map(_placed, sarif_results)))
    unplaced = [result for result in sarif_results if not _placed(result)]
    index = {key: number for number, key in enumerate(rules)}
    run = {
        "tool": {
            "driver": {
                "name": "kgitops",
                "version": __version__,
                "semanticVersion": __version__,
                "rules": list(rules.values()),
            }
        },
        "automationDetails": {"id": f"kgitops/{category}/"},
        "columnKind": "unicodeCodePoints",
        "originalUriBaseIds": {_ROOT: {"description": {"text": "The root of the repository."}}},
        "invocations": [
            {
                "executionSuccessful": True,
                "toolExecutionNotifications": [
                    *_of_unfinished_run(unfinished),
                    *_left_out(len(placed)),
                    *_notifications(unplaced, index),
                ],
            }
        ],
        "results": list(_results(placed[:MOST_RESULTS], rules, index, today)),
        "properties": {
            **properties,
            "resultsWithoutPlace": len(unplaced),
            "resultsLeftOut": max(0, len(placed) - MOST_RESULTS),
        },
    }
    schema = "https://json.schemastore.org/sarif-2.1.0.json"
    return f"{json.dumps({'$schema': schema, 'version': '2.1.0', 'runs': [run]}, indent=2)}\n"


def _rules(plan: Plan, sarif_results: Sequence[Result]) -> dict[str, Json]:
    used = {result.rule for result in sarif_results}
    risks = {risk.code: risk for change in plan.changes for risk in change.risks}
    return {
        **own_rules(own for own in Own if str(own) in used),
        **risk_rules(risks[code] for code in sorted(risks) if code in used),
        **{policy_key(name): rule for name, rule in policy_rules(plan).items()},
    }


def _results(
    placed: Sequence[_Placed],
    rules: dict[str, Json],
    index: dict[str, int],
    today: date | None,
) -> Iterator[dict[str, Json]]:
    seen: Counter[tuple[str, ...]] = Counter()
    for item in placed:
        result = item.result
        seen[result.key] += 1
        digest = hashlib.sha256("\0".join(result.key).encode(errors="surrogatepass")).hexdigest()
        document = {
            "ruleId": rules[result.rule]["id"],
            "ruleIndex": index[result.rule],
            "kind": "fail",
            "level": str(result.severity),
            "message": {"text": shown(result.message)},
            "locations": [_location(item)],
            # No two have one fingerprint; the form is GitHub's own.
            "partialFingerprints": {"primaryLocationLineHash": f"{digest[:16]}:{seen[result.key]}"},
        }
        if result.waiver:
            justification = f"waived {waiver_sentence(result.waiver, today)}"
            document["suppressions"] = [
                {"kind": "external", "status": "accepted", "justification": shown(justification)}
            ]
        yield document


def _location(item: _Placed) -> dict[str, Json]:
    # Where a scalar ends is not known: the region is its first character.
    line, column = item.source.line, item.source.column
    region = {"startLine": line, "startColumn": column, "endLine": line, "endColumn": column + 1}
    root = {} if item.uri.startswith("file:") else {"uriBaseId": _ROOT}
    location: dict[str, Json] = {
        "physicalLocation": {"artifactLocation": {"uri": item.uri, **root}, "region": region}
    }
    if item.result.address:
        name = {"fullyQualifiedName": shown(item.result.address), "kind": "resource"}
        location["logicalLocations"] = [name]
    return location


def _left_out(count: int) -> Iterator[dict[str, Json]]:
    if count > MOST_RESULTS:
        sentence = (
            f"{counted(count - MOST_RESULTS, 'result')} of {count:,} left out, those of the "
            "least risk; kgitops show --full has all"
        )
        yield {"level": "warning", "message": {"text": sentence}}


def _of_unfinished_run(sentence: str | None) -> Iterator[dict[str, Json]]:
    if sentence:
        yield {"level": "warning", "message": {"text": shown(sentence)}}


def _notifications(
    sarif_results: Sequence[Result], index: dict[str, int]
) -> Iterator[dict[str, Json]]:
    for result in sarif_results[:MOST_NOTIFICATIONS]:
        yield {
            "level": str(result.severity),
            "message": {"text": shown(result.message)},
            "associatedRule": {"index": index[result.rule]},
        }
    hidden = len(sarif_results) - MOST_NOTIFICATIONS
    if hidden > 0:
        sentence = f"and {hidden:,} more that have no place in a file"
        yield {"level": "note", "message": {"text": sentence}}


def _placed(result: Result) -> _Placed | None:
    source = result.source
    if source is None or not source.file:
        return None
    path = str(PurePosixPath(source.file))
    root = "file://" if path.startswith("/") else ""
    uri = f"{root}{quote(path, safe='/', errors='replace')}"
    return _Placed(result=result, uri=uri, source=source)


def _segment(text: str) -> str:
    return quote(text, safe="", errors="replace") or "unnamed"
