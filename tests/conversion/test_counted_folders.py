"""Whole folders of others: each object that a simple count finds is declared or reported."""

import os
import re
from collections.abc import Iterable
from functools import cache
from pathlib import Path

import pytest
from conversion.corpus import CORPUS, OWN, simple_objects
from msgspec import Struct

from kgitops.conversion.converting import ConvertedProject, convert
from kgitops.conversion.objects import SourceObject

FOLDERS = [
    pytest.param(tool, folder, id=f"{tool}-{folder.parent.name}-{folder.name}")
    for tool, names in {
        "jikkou": ["jikkou"],
        "strimzi": ["strimzi"],
        "terraform": ["terraform-kafka", "terraform-confluent"],
        "topicctl": ["topicctl"],
    }.items()
    for folder in [
        *(root / tool for root in OWN),
        *(folder for name in names for folder in sorted((CORPUS / name).glob("*"))),
    ]
]
_RESOURCE = re.compile(r'^resource\s+"(\w*kafka\w*|confluent_\w+)"\s+"[\w-]+"\s*\{', re.MULTILINE)
_CALL = re.compile(r'^\s*source\s*=\s*"([^"]*)"', re.MULTILINE)


class Account(Struct):
    """The objects of a folder by a simple count, and what the conversion made of them."""

    counted: int = 0
    declared: int = 0
    same: int = 0
    settings: int = 0
    reported: int = 0
    passed_over: list[str] = []


def account(tool: str, folder: Path) -> Account:
    """Count the objects of a folder twice, and compare."""
    project = convert(folder, tool, "x", compacted=False)
    if tool == "terraform":
        return _of_terraform(folder, project)
    found = Account()
    for path in sorted(folder.rglob("*")):
        if path.suffix in (".yaml", ".yml", ".json"):
            _of_file(tool, path, project, found)
    return found


def _of_file(tool: str, path: Path, project: ConvertedProject, found: Account) -> None:
    objects = [
        item for item in _by_file(project).get(str(path), ()) if not item.kind.endswith("List")
    ]
    expected = simple_objects(tool, path)
    if expected is None:
        found.counted += 1
        found.reported += bool(objects and objects[0].losses)
        if not any(item.losses for item in objects):
            found.passed_over.append(f"{path}: no YAML to a plain loader")
        return
    for kind, number in expected.items():
        of_kind = [item for item in objects if item.kind == kind]
        found.counted += number
        _sort(of_kind, project, found)
        if len(of_kind) != number:
            found.passed_over.append(f"{path}: {kind}: {number} counted, {len(of_kind)} converted")


def _of_terraform(folder: Path, project: ConvertedProject) -> Account:
    found = Account()
    objects, files = project.conversion.objects, _by_file(project)
    unread = {
        (Path(item.source.file).parent / _called(item)).resolve()
        for item in objects
        if item.kind == "module" and (item.losses or "no instances" in item.settings)
    }
    for path in sorted(folder.rglob("*.tf")):
        text = path.read_text()
        lines = {item.source.line: item for item in reversed(files.get(str(path), []))}
        for block in _RESOURCE.finditer(text):
            line = text.count("\n", 0, block.start()) + 1
            found.counted += 1
            if line in lines:
                _sort([lines[line]], project, found)
            elif path.parent.resolve() in unread:
                found.reported += 1  # with the call of its module, which says why
            else:
                found.passed_over.append(f"{path}:{line}")
    return found


def _called(call: SourceObject) -> str:
    """The folder that a call's block names."""
    lines = Path(call.source.file).read_text().splitlines(keepends=True)
    found = _CALL.search("".join(lines[call.source.line - 1 :]))
    return found[1] if found is not None else "nowhere"


@cache
def _absolute(name: str) -> str:
    return os.path.abspath(name)  # noqa: PTH100 (links are not followed)


def _by_file(project: ConvertedProject) -> dict[str, list[SourceObject]]:
    files: dict[str, list[SourceObject]] = {}
    for item in project.conversion.objects:
        files.setdefault(_absolute(item.source.file), []).append(item)
    return files


def _sort(objects: Iterable[SourceObject], project: ConvertedProject, found: Account) -> None:
    refused = {finding.source for finding in project.findings}
    for item in objects:
        if item.source in refused or (item.losses and not item.documents):
            found.reported += 1
        elif item.documents:
            found.declared += 1
        elif item.same_as is not None:
            found.same += 1
        else:
            found.settings += 1


@pytest.mark.parametrize(("tool", "folder"), FOLDERS)
def test_the_objects_of_a_folder_are_all_accounted_for(tool: str, folder: Path) -> None:
    found = account(tool, folder)
    assert found.passed_over == []
    parts = (found.declared, found.same, found.settings, found.reported)
    assert found.counted == sum(parts) > 0
