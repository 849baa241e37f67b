"""The effect of importing an exported registry, as text."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping

from kgitops.apply.journal.importing import ImportPlan, RecordChange, RegistryExport, kind_of_record
from kgitops.model.registry import SCHEMA_VERSION, Json
from kgitops.model.wording import counted
from kgitops.report.content.safe_text import Line, render_lines

_SHOWN = 20


def render_import(plan: ImportPlan, export: RegistryExport, file: str, target: str) -> str:
    """The effect of the import: records by kind, projects, and what remains or is left out."""
    lines: list[Line] = [
        [f"kgitops registry import  cluster={target} (id {export.cluster_id})"],
        [
            f"  {file}: exported {export.created} at offset {export.registry.offset}, schema "
            f"version {export.registry.schema_version}"
        ],
        [f"  {export.digest}"],
    ]
    if plan.is_empty:
        return _text([*lines, [], ["Nothing to import: the registry is as the file has it."]])
    sections = (_records(plan), _projects(plan), _owners(plan), _notes(plan))
    for section in sections:
        body = [[line] for line in section]
        if body:
            lines += [[], *body]
    return _text(lines)


def _text(lines: list[Line]) -> str:
    return render_lines(lines, colour=False, ascii_only=False)


def _records(plan: ImportPlan) -> Iterator[str]:
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for change in plan.changes:
        counts[kind_of_record(change.key)][_verb(change)] += 1
    if counts:
        yield f"{'RECORDS':<16}{'added':>9}{'changed':>9}{'removed':>9}"
    for kind, by_verb in sorted(counts.items()):
        yield f"  {kind:<14}{by_verb['added']:>9,}{by_verb['changed']:>9,}{by_verb['removed']:>9,}"


def _projects(plan: ImportPlan) -> Iterator[str]:
    """Yield for each project concerned how many objects it gains and loses."""
    gained, lost, same = Counter[str](), Counter[str](), Counter[str]()
    for change in plan.changes:
        if kind_of_record(change.key) != "own":
            continue
        before, after = _owner(change.before), _owner(change.after)
        if before == after:
            same[after] += 1
            continue
        lost[before] += 1
        gained[after] += 1
    identities = sorted({*gained, *lost, *same} - {""})
    if identities:
        yield "PROJECTS"
    for identity in identities:
        counts = (
            (gained[identity], "gained"),
            (lost[identity], "lost"),
            (same[identity], "changed"),
        )
        said = ", ".join(f"{counted(count, 'object')} {verb}" for count, verb in counts if count)
        yield f"  {_label(plan, identity)}: {said}"


def _owners(plan: ImportPlan) -> Iterator[str]:
    moved = [
        change
        for change in plan.changes
        if kind_of_record(change.key) == "own" and _owner(change.before) != _owner(change.after)
    ]
    if moved:
        yield "OWNERS"
    for change in moved[:_SHOWN]:
        before, after = _owner(change.before), _owner(change.after)
        address = change.key.removeprefix("own/")
        yield f"  {address}: {_label(plan, before)} -> {_label(plan, after)}"
    if len(moved) > _SHOWN:
        yield f"  and {len(moved) - _SHOWN:,} more"


def _notes(plan: ImportPlan) -> Iterator[str]:
    if plan.resumes:
        yield "An import of this registry was cut off; this one replaces what it wrote."
    kept = Counter(map(kind_of_record, plan.kept))
    if kept:
        said = ", ".join(f"{count:,} {kind}" for kind, count in sorted(kept.items()))
        yield f"Kept, though the file does not have them: {said}."
    for run, project in sorted(plan.closed.items())[:_SHOWN]:
        yield (
            f"The run {run} of {_label(plan, project)} was not finished when it was exported: it "
            "can't be resumed. Make a new plan."
        )
    left_out = Counter(map(kind_of_record, plan.left_out))
    for kind, count in sorted(left_out.items()):
        yield f"Not imported: {count:,} {kind}. Write them again where they still hold."
    before, after = plan.schema_version
    if after < SCHEMA_VERSION:
        yield (
            f"The registry gets schema version {after}: older versions of kgitops can use this "
            "cluster until this one writes to it."
        )
    elif before is not None and before < after:
        yield f"The registry gets schema version {after}: older versions of kgitops refuse it."


def _verb(change: RecordChange) -> str:
    if change.before is None:
        return "added"
    return "removed" if change.after is None else "changed"


def _owner(value: Mapping[str, Json] | None) -> str:
    """Return the project that owns an object; empty for a spent record or none."""
    return "" if value is None or value.get("spent") else str(value["project"])


def _label(plan: ImportPlan, identity: str) -> str:
    if not identity:
        return "no project"
    name = plan.projects.get(identity, "")
    return f"{name} ({identity})" if name and name != identity else identity
