"""A fleet's run as JSON and back: what ``fleet.json`` holds. Read strictly, or refused."""

from collections.abc import Mapping
from typing import NoReturn

from kgitops.fleet.summary import RunSummary, UnitSummary
from kgitops.model import clock
from kgitops.model.errors import UntrustedPlanError
from kgitops.model.json.canonical import canonical_json
from kgitops.model.json.strict import (
    ShapeError,
    array,
    boolean,
    integer,
    mapping,
    members,
    parse_whole_numbers,
    text,
)
from kgitops.model.registry import Json
from kgitops.model.verdict import ExitCode, reason_to_json
from kgitops.plan.document.from_json import finding_from_json, reason_from_json
from kgitops.plan.document.to_json import finding_to_json

FLEET_KIND = "kgitops.fleet"
FORMAT_VERSION = "1.0"
COUNTS = ("objects", "changes", "actions", "risks", "levels", "requests", "drift", "kept")
"""The members of a unit that are counts by key."""

_RUN_KEYS = (
    *("format_version", "kind", "created", "version", "milliseconds"),
    *("units", "findings", "unplanned"),
)
_UNIT_KEYS = (
    *("cluster", "project", "identity", "planned", "captured_at", *COUNTS, "violations"),
    *("lost", "exit", "reasons", "reason_count", "findings", "finding_count", "warning_count"),
    *("files", "milliseconds"),
)
_VIOLATION_KEYS = ("policy", "level", "outcome", "count")
_NEXT = "make it again with kgitops fleet plan --out"


def run_to_text(run: RunSummary) -> str:
    """The file's text: canonical JSON. Times count to the millisecond."""
    return canonical_json(_encodable(run_to_json(run))).decode() + "\n"


def run_to_json(run: RunSummary) -> dict[str, Json]:
    """The run, its units in their order."""
    return {
        "format_version": FORMAT_VERSION,
        "kind": FLEET_KIND,
        "created": run.created,
        "version": run.version,
        "milliseconds": round(run.seconds * 1_000),
        "units": [_unit_to_json(unit) for unit in run.units],
        "findings": [finding_to_json(finding) for finding in run.findings],
        "unplanned": list(run.unplanned),
    }


def read_run(content: str, file: str) -> RunSummary:
    """The run that ``run_to_text`` wrote.

    Raises:
        UntrustedPlanError: it is not such a file, of an unknown version, or not whole.
    """
    try:
        document = parse_whole_numbers(content)
    except (ValueError, RecursionError):
        _refuse(file, "is not JSON, or is cut off")
    if not isinstance(document, dict) or document.get("kind") != FLEET_KIND:
        _refuse(file, f"is not a fleet's summary: its kind is not {FLEET_KIND}")
    version = str(document.get("format_version"))
    if version.partition(".")[0] != FORMAT_VERSION.partition(".")[0]:
        raise UntrustedPlanError(
            f"{file} is of format version {version[:20]!r}, this kgitops reads "
            f"{FORMAT_VERSION}; use the kgitops that wrote it"
        )
    try:
        return _run(document)
    except ShapeError as error:
        _refuse(file, f"is not a whole summary: {error}")


def unit_to_text(unit: UnitSummary) -> str:
    """One unit on one line, as a task hands it back."""
    return canonical_json(_encodable(_unit_to_json(unit))).decode()


def read_unit(content: str) -> UnitSummary:
    """The unit that ``unit_to_text`` wrote.

    Raises:
        ValueError: it is not such a text.
    """
    return _unit(parse_whole_numbers(content), "the unit")


def _unit_to_json(unit: UnitSummary) -> dict[str, Json]:
    return {
        "cluster": unit.cluster,
        "project": unit.project,
        "identity": unit.identity,
        "planned": unit.planned,
        "captured_at": unit.captured_at,
        **{name: dict(sorted(getattr(unit, name).items())) for name in COUNTS},
        "violations": [
            {"policy": policy, "level": level, "outcome": outcome, "count": count}
            for (policy, level, outcome), count in sorted(unit.violations.items())
        ],
        "lost": unit.lost,
        "exit": int(unit.exit),
        "reasons": [reason_to_json(reason) for reason in unit.reasons],
        "reason_count": unit.reason_count,
        "findings": [finding_to_json(finding) for finding in unit.findings],
        "finding_count": unit.finding_count,
        "warning_count": unit.warning_count,
        "files": list(unit.files),
        "milliseconds": round(unit.seconds * 1_000),
    }


def _run(document: Json) -> RunSummary:
    values = members(document, "the file", _RUN_KEYS)
    text(values["format_version"], "format_version")
    created = text(values["created"], "created")
    try:
        clock.from_text(created)
    except ValueError:
        raise ShapeError("created is not a moment") from None
    units = array(values["units"], "units", _unit)
    names = [(unit.cluster, unit.project) for unit in units]
    if len(set(names)) != len(names):
        raise ShapeError("units has one project on one cluster twice")
    return RunSummary(
        created=created,
        version=text(values["version"], "version"),
        units=units,
        findings=array(values["findings"], "findings", finding_from_json),
        unplanned=array(values["unplanned"], "unplanned", text),
        seconds=_count(values["milliseconds"], "milliseconds") / 1_000,
    )


def _unit(value: Json, path: str) -> UnitSummary:
    # Summaries of earlier versions have no ``lost``.
    values = members({"lost": "", **mapping(value, path)}, path, _UNIT_KEYS)
    counts = {name: _counts(values[name], f"{path}.{name}") for name in COUNTS}
    rows = array(values["violations"], f"{path}.violations", _violation)
    if len(dict(rows)) != len(rows):
        raise ShapeError(f"{path}.violations has one policy, level and outcome twice")
    return UnitSummary(
        cluster=text(values["cluster"], f"{path}.cluster"),
        project=text(values["project"], f"{path}.project"),
        identity=text(values["identity"], f"{path}.identity"),
        planned=boolean(values["planned"], f"{path}.planned"),
        captured_at=text(values["captured_at"], f"{path}.captured_at"),
        **counts,
        violations=dict(rows),
        lost=text(values["lost"], f"{path}.lost"),
        exit=_exit(values["exit"], f"{path}.exit"),
        reasons=array(values["reasons"], f"{path}.reasons", reason_from_json),
        reason_count=_count(values["reason_count"], f"{path}.reason_count"),
        findings=array(values["findings"], f"{path}.findings", finding_from_json),
        finding_count=_count(values["finding_count"], f"{path}.finding_count"),
        warning_count=_count(values["warning_count"], f"{path}.warning_count"),
        files=array(values["files"], f"{path}.files", text),
        seconds=_count(values["milliseconds"], f"{path}.milliseconds") / 1_000,
    )


def _violation(value: Json, path: str) -> tuple[tuple[str, str, str], int]:
    values = members(value, path, _VIOLATION_KEYS)
    policy, level, outcome = (text(values[key], f"{path}.{key}") for key in _VIOLATION_KEYS[:3])
    return (policy, level, outcome), _count(values["count"], f"{path}.count")


def _counts(value: Json, path: str) -> Mapping[str, int]:
    return {key: _count(item, f"{path}.{key}") for key, item in mapping(value, path).items()}


def _count(value: Json, path: str) -> int:
    count = integer(value, path)
    if count < 0:
        raise ShapeError(f"{path} is less than nothing")
    return count


def _exit(value: Json, path: str) -> ExitCode:
    try:
        return ExitCode(integer(value, path))
    except ValueError:
        raise ShapeError(f"{path} is not an exit code") from None


def _encodable(value: Json) -> Json:
    """Names of files may hold bytes that are not text; canonical JSON has none of those."""
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode()
    if isinstance(value, dict):
        return {_encodable(key): _encodable(item) for key, item in value.items()}
    return [_encodable(item) for item in value] if isinstance(value, list) else value


def _refuse(file: str, problem: str) -> NoReturn:
    raise UntrustedPlanError(f"{file} {problem}; {_NEXT}")
