"""Every file of other tools, here and beside the repository, is converted, or told why not."""

import re
from pathlib import Path

import pytest
from conversion.corpus import TOOLS, files_of, own_files, simple_objects, simple_topics

from kgitops.conversion.converting import ConvertedProject, convert
from kgitops.conversion.objects import DeclaredDocument
from kgitops.report.conversion import count_kinds

FILES = [
    pytest.param(tool, file, id=f"{tool}-{file.parents[1].name}-{file.name.lstrip('.')}")
    for tool in TOOLS
    for file in (*own_files(tool), *files_of(tool))
]
_NO_OBJECTS = {"document", "file", "topology", "state", "settings", "plan", "role", "resource"}
"""Kinds of what has objects, or is none."""


def test_every_tool_has_files_in_this_repository() -> None:
    """The other tests have something to read wherever they run."""
    assert {tool for tool in TOOLS if len(own_files(tool)) > 1} == set(TOOLS)


@pytest.mark.parametrize(("tool", "file"), FILES)
def test_objects_in_are_objects_out_and_findings_for_a_second_reading_too(
    tool: str, file: Path
) -> None:
    project = convert(file, tool, "converted", compacted=False)
    _adds_up(project)
    _has_the_objects_of_a_second_reading(tool, file, project)
    _has_the_topics_of_a_second_reading(tool, file, project)


def _adds_up(project: ConvertedProject) -> None:
    """Each object is converted, a setting, a double, or lost with a finding."""
    for item in project.conversion.objects:
        became = bool(item.documents) or bool(item.settings) or item.same_as is not None
        conflict = any(finding.source == item.source for finding in project.findings)
        assert became or item.losses or conflict, item
    for kind, counts in count_kinds(project.conversion.objects).items():
        parts = counts.converted + counts.settings + counts.same + counts.lost
        assert counts.objects == parts, kind


def _has_the_objects_of_a_second_reading(tool: str, file: Path, project: ConvertedProject) -> None:
    """No object that a plain loader sees is passed over before it is counted."""
    expected = simple_objects(tool, file)
    if expected is None:
        assert project.conversion.losses  # it is a template, or broken
        return
    counts = count_kinds(project.conversion.objects)
    instances = re.search(r"\b(for_each|count) *=", file.read_text())
    several = tool == "terraform" and instances is not None  # each of which is an object
    if "document" in counts and tool in ("julie", "kafka-gitops"):
        return  # all of it is lost as one, as its names are templates
    for kind, number in expected.items():
        found = counts[kind].objects if kind in counts else 0
        # What the simple reading leaves out of Julie's platforms has kinds of the same names.
        assert found >= number if several or tool == "julie" else found == number, kind
    if not several and tool != "julie":
        assert set(counts) - _NO_OBJECTS <= {*expected, *_lists(expected)}


def _lists(kinds: object) -> set[str]:
    return {f"{kind}List" for kind in kinds}  # type: ignore[attr-defined]


def _has_the_topics_of_a_second_reading(tool: str, file: Path, project: ConvertedProject) -> None:
    """A topic that a plain YAML loader sees is declared with its size, or told of."""
    expected = simple_topics(tool, file)
    if expected is None:
        return  # templates, which are losses
    declared = {
        document.name: document
        for item in project.conversion.objects
        for document in item.documents
        if document.kind == "Topic"
    }
    told = " ".join(
        [loss.problem for loss in project.conversion.losses]
        + [finding.problem for finding in project.findings]
    )
    for name, size in expected.items():
        if name in declared:
            assert size_of(declared[name]) == size or "declared differently" in told
        else:
            assert str(name) in told, name
    if tool != "terraform" or not re.search(r"\b(var|local|each)\.", file.read_text()):
        assert set(declared) <= set(expected)


def size_of(document: DeclaredDocument) -> tuple[int | None, int | None]:
    rows = document.spec.get("assignments")
    if rows:
        return len(rows), len(rows[0])
    return document.spec.get("partitions"), document.spec.get("replicationFactor")
