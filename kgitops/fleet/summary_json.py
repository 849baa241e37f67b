"""A fleet's run as JSON and back: what ``fleet.json`` holds. Read strictly, or refused."""

from collections.abc import Iterable
from typing import Literal, NoReturn

import msgspec
from msgspec.structs import asdict

from kgitops.fleet.summary import RunSummary, UnitSummary
from kgitops.model import clock
from kgitops.model.errors import UntrustedPlanError
from kgitops.model.json.canonical import canonical_text
from kgitops.model.json.codec import FormatVersion, decode, encode, from_json, to_json
from kgitops.model.json.strict import ShapeError, parse_whole_numbers
from kgitops.model.registry import Json
from kgitops.model.wording import format_version_text

FLEET_KIND: Literal["kgitops.fleet"] = "kgitops.fleet"
FORMAT_VERSION = "1.0"
COUNTS = ("objects", "changes", "actions", "risks", "levels", "requests", "drift", "kept")
"""The members of a unit that are counts by key."""
_NEXT = "make it again with kgitops fleet plan --out"


class FleetDocument(RunSummary, frozen=True):
    """A run as ``fleet.json`` holds it. These two keys are its first: they are not keyword-only."""

    format_version: FormatVersion
    kind: Literal["kgitops.fleet"]


def run_to_text(run: RunSummary) -> str:
    """The file's text: canonical JSON."""
    return f"{canonical_text(escaped_json(run_document(run)))}\n"


def run_document(run: RunSummary) -> FleetDocument:
    """The run as the file holds it."""
    return FleetDocument(FORMAT_VERSION, FLEET_KIND, **asdict(run))


def read_run(content: str, file: str) -> RunSummary:
    """The run that ``run_to_text`` wrote.

    Raises:
        UntrustedPlanError: it is not such a file, of an unknown version, or not whole.
    """
    try:
        document = parse_whole_numbers(content)
    except (ValueError, RecursionError) as error:
        if type(error) is ValueError:
            _refuse(file, f"is not JSON that kgitops wrote: {error}")
        _refuse(file, "is not JSON, or is cut off")
    if not isinstance(document, dict) or document.get("kind") != FLEET_KIND:
        _refuse(file, f"is not a fleet's summary: its kind is not {FLEET_KIND}")
    version = document.get("format_version")
    if str(version).partition(".")[0] != FORMAT_VERSION.partition(".")[0]:
        raise UntrustedPlanError(
            f"{file} {format_version_text(version)}, this kgitops reads "
            f"{FORMAT_VERSION}; use the kgitops that wrote it"
        )
    try:
        return _run(document)
    except ShapeError as error:
        _refuse(file, f"is not a whole summary: {error}")


def unit_to_text(unit: UnitSummary) -> str:
    """One unit on one line, as a task hands it back."""
    return canonical_text(escaped_json(unit))


def read_unit(content: str) -> UnitSummary:
    """The unit that ``unit_to_text`` wrote.

    Raises:
        ValueError: it is not such a text.
    """
    return decode(UnitSummary, content, "the unit")


def escaped_json(value: object) -> Json:
    """The JSON of a value. Names of files may hold bytes that are not text: they are escaped."""
    try:
        return msgspec.json.decode(encode(value))
    except UnicodeEncodeError:
        return _encodable(to_json(value))


def _run(document: dict[str, Json]) -> RunSummary:
    units = document.get("units")
    for unit in units if isinstance(units, list) else ():
        if isinstance(unit, dict):
            unit.setdefault("lost", "")  # summaries of earlier versions have none
    read = from_json(FleetDocument, document, "run")
    try:
        clock.from_text(read.created)
    except ValueError:
        raise ShapeError("created is not a moment") from None
    if _repeated((unit.cluster, unit.project) for unit in read.units):
        raise ShapeError("units has one project on one cluster twice")
    for at, unit in enumerate(read.units):
        if _repeated((each.policy, each.level, each.outcome) for each in unit.violations):
            path = f"units[{at}].violations"
            raise ShapeError(f"{path} has one policy, level and outcome twice")
    return RunSummary(**{name: getattr(read, name) for name in RunSummary.__struct_fields__})


def _repeated(keys: Iterable[tuple[str, ...]]) -> bool:
    names = list(keys)
    return len(set(names)) != len(names)


def _encodable(value: Json) -> Json:
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode()
    if isinstance(value, dict):
        return {_encodable(key): _encodable(item) for key, item in value.items()}
    return [_encodable(item) for item in value] if isinstance(value, list | tuple) else value


def _refuse(file: str, problem: str) -> NoReturn:
    raise UntrustedPlanError(f"{file} {problem}; {_NEXT}")
