"""Each key that a tool documents is declared, a setting, harmless or lost, and read so."""

import copy
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from msgspec import Struct

from kgitops.conversion.converting import convert
from kgitops.conversion.objects import Conversion
from kgitops.conversion.reading.building import ObjectBuilder
from kgitops.conversion.reading.folder import FoundFile, read_yaml
from kgitops.conversion.reading.keys import Fate, Key, Keys, declared, harmless, key_at, lost
from kgitops.conversion.tools.table import TOOLS, tool_module

SCHEMAS = Path(__file__).parent / "schemas"
Step = str | int
PathOfKey = tuple[Step, ...]
_UNKNOWN = "anUnknownKey"


class Documented(Struct, frozen=True):
    """A kind of a tool: a document, what it needs beside it, and all keys with values to try."""

    kind: str
    base: dict[str, Any]
    keys: dict[str, Any]
    others: list[dict[str, Any]] = []
    files: dict[str, str] = {}

    def files_with(self, path: PathOfKey = (), value: object = None) -> dict[str, str]:
        document = copy.deepcopy(self.base)
        if path:
            set_at(document, path, value)
        return {
            "a.yaml": yaml.safe_dump_all([document, *self.others], sort_keys=False)
        } | self.files


def kinds_of(tool: str) -> list[Documented]:
    read = yaml.safe_load((SCHEMAS / f"{tool}.yaml").read_text())
    return [Documented(**item) for item in read]


def leaves(
    value: object, keys: Keys | None, path: PathOfKey = ()
) -> Iterator[tuple[PathOfKey, Any]]:
    """The keys of a documented kind that the table reads by themselves, with a value each."""
    if isinstance(value, list) and keys is not None and value and isinstance(value[0], dict):
        yield from leaves(value[0], keys, (*path, 0))
    elif isinstance(value, dict) and keys is not None:
        for name, item in value.items():
            key = key_at(keys, (name,))
            inner = key.keys if key is not None else None
            if inner is not None and item and not is_named(inner):
                yield from leaves(item, inner, (*path, name))
            elif inner is not None and item:
                for own, entry in item.items():
                    yield from leaves(entry, inner["*"].keys, (*path, name, own))
            else:
                yield (*path, name), item
    else:
        yield path, value


def is_named(keys: Keys) -> bool:
    """Tell if it is the table of a mapping from names to mappings."""
    return set(keys) == {"*"} and keys["*"].keys is not None


def set_at(
    document: Any,  # noqa: ANN401 (as YAML has it)
    path: PathOfKey,
    value: object,
) -> None:
    *steps, last = path
    for step, after in zip(steps, path[1:], strict=True):
        if isinstance(step, int):
            document = document[step]
        else:
            document = document.setdefault(step, [{}] if isinstance(after, int) else {})
    document[last] = value


def line_of(text: str, path: PathOfKey) -> int:
    node = next(iter(yaml.compose_all(text)))
    line = 0
    for step in path:
        if isinstance(step, int):
            node = node.value[step]
        else:
            key, node = next(pair for pair in node.value if pair[0].value == step)
            line = key.start_mark.line + 1
    return line


def converted(tool: str, files: Mapping[str, str], folder: Path) -> Conversion:
    folder.mkdir(exist_ok=True)
    for name, text in files.items():
        (folder / name).write_text(text)
    return convert(folder, tool, "converted", compacted=False).conversion


def outcome(conversion: Conversion) -> object:
    """All that is declared, whatever its place in the source."""
    return (
        [
            (document.kind, document.name, document.spec, document.labels, document.clusters)
            for item in conversion.objects
            for document in item.documents
        ],
        conversion.clusters,
        [(item.kind, item.name, item.settings) for item in conversion.objects if item.settings],
        [comment for item in conversion.objects for comment in item.comments],
    )


TOOLS_WITH_TABLES = sorted(path.stem for path in SCHEMAS.glob("*.yaml"))
KINDS = [
    pytest.param(tool, documented, id=f"{tool}-{documented.kind}")
    for tool in TOOLS_WITH_TABLES
    for documented in kinds_of(tool)
]


def table_of(tool: str, kind: str) -> Keys:
    tables: Mapping[str, Keys] = tool_module(tool).TABLES  # type: ignore[attr-defined]
    return tables[kind]


def names_in(path: PathOfKey) -> tuple[str, ...]:
    return tuple(step for step in path if isinstance(step, str))


@pytest.mark.parametrize(("tool", "documented"), KINDS)
def test_a_documented_key_is_in_the_table(tool: str, documented: Documented) -> None:
    table = table_of(tool, documented.kind)
    found = leaves(documented.keys, table)
    assert [path for path, _ in found if key_at(table, names_in(path)) is None] == []


@pytest.mark.parametrize("tool", TOOLS_WITH_TABLES)
def test_a_key_of_a_table_is_documented_for_one_of_its_kinds(tool: str) -> None:
    """No table has a key of which no test tries what becomes of it."""
    tried: set[tuple[str, int]] = set()
    every: dict[tuple[str, int], str] = {}
    for documented in kinds_of(tool):
        table = table_of(tool, documented.kind)
        for path, _ in leaves(documented.keys, table):
            name = names_in(path)
            tried.add((name[-1], id(key_at(table, name))))
    for kind, table in tool_module(tool).TABLES.items():  # type: ignore[attr-defined]
        every |= {(name, id(key)): f"{kind}: {name}" for name, key in keys_in(table)}
    tried_keys = {key for _, key in tried}
    assert [
        shown
        for (name, key), shown in every.items()
        if (name, key) not in tried and not (name.endswith("*") and key in tried_keys)
    ] == []


def keys_in(keys: Keys) -> Iterator[tuple[str, Key]]:
    """All keys that are read by themselves."""
    for name, key in keys.items():
        if key.keys is None:
            yield name, key
        else:
            yield from keys_in(key.keys)


@pytest.mark.parametrize(("tool", "documented"), KINDS)
def test_a_key_alone_is_what_the_table_says(
    tool: str, documented: Documented, tmp_path: Path
) -> None:
    """Declared and settings change the project, harmless keys nothing, all others are reported."""
    table = table_of(tool, documented.kind)
    base = converted(tool, documented.files_with(), tmp_path / "base")
    for number, (path, value) in enumerate(leaves(documented.keys, table)):
        files = documented.files_with(path, value)
        line = line_of(files["a.yaml"], path)
        conversion = converted(tool, files, tmp_path / str(number))
        lines = {
            loss.source.line for loss in conversion.losses if loss.source.file.endswith("a.yaml")
        }
        same_outcome = outcome(conversion) == outcome(base)
        same_losses = len(conversion.losses) == len(base.losses)
        key = key_at(table, names_in(path))
        assert key is not None
        match key.fate:
            case Fate.LOST:
                assert line in lines, path
            case Fate.HARMLESS:
                assert same_outcome, path
                assert same_losses, path
                assert key.why, path
            case _:
                told = line in lines or not same_losses
                assert told or not same_outcome or at(documented.base, path) == value, path


def at(
    document: Any,  # noqa: ANN401
    path: PathOfKey,
) -> object:
    for step in path:
        try:
            document = document[step]
        except (KeyError, IndexError):
            return None
    return document


@pytest.mark.parametrize(("tool", "documented"), KINDS)
def test_an_unknown_key_is_reported_at_its_line(
    tool: str, documented: Documented, tmp_path: Path
) -> None:
    table = table_of(tool, documented.kind)
    parents = {path[:-1] for path, _ in leaves(documented.keys, table)}
    parents = {path for path in parents if not any_key(table, names_in(path))}
    assert parents
    for number, parent in enumerate(sorted(parents, key=str)):
        path = (*parent, _UNKNOWN)
        files = documented.files_with(path, {"of": "any type"})
        conversion = converted(tool, files, tmp_path / str(number))
        found = [
            loss for loss in conversion.losses if loss.source.line == line_of(files["a.yaml"], path)
        ]
        assert [loss for loss in found if loss.source.file.endswith("a.yaml")], path


def any_key(table: Keys, path: tuple[str, ...]) -> bool:
    """Tell if the mapping at ``path`` may have any key."""
    key = key_at(table, path)
    keys = table if not path else (key.keys if key is not None else None)
    return keys is None or "*" in keys


WITHOUT_KEYS = {"compose", "kafka-tools", "kgitops", "terraform"}
"""Of two only one value or line is read; the other two have tests of their own."""


def test_every_tool_has_a_schema() -> None:
    assert sorted(set(TOOLS) - WITHOUT_KEYS) == TOOLS_WITH_TABLES


TABLE: Keys = {
    "name": declared(),
    "spec": declared({"size": declared(), "wait": harmless("it waits")}),
    "rebalance": lost("it does not rebalance", unless=("false",)),
    "x-*": harmless("notes"),
}


def built(text: str, tmp_path: Path) -> tuple[ObjectBuilder, Any]:
    (tmp_path / "a.yaml").write_text(text)
    (document,) = read_yaml(FoundFile(tmp_path / "a.yaml", "a.yaml")).documents
    builder = ObjectBuilder("Thing", "a", document)
    return builder, builder.read(TABLE)


@pytest.mark.parametrize("name", ["unknown", "rebalance", "x-a"])
def test_a_reader_can_t_take_a_key_that_the_table_does_not_give(name: str, tmp_path: Path) -> None:
    _, fields = built("name: a", tmp_path)
    with pytest.raises(LookupError, match=name):
        fields.take(name)


def test_what_no_reader_took_is_reported(tmp_path: Path) -> None:
    text = "name: a\nspec:\n  size: 1\n  wait: 2\nrebalance: false\nx-note: 1\n"
    builder, fields = built(text, tmp_path)
    fields.fields("spec")
    builder.becomes_settings("x")
    assert [(loss.source.line, loss.problem) for loss in builder.build().losses] == [
        (1, "name of Thing a has no counterpart"),
        (3, "size of Thing a has no counterpart"),
    ]


def test_two_keys_for_one_thing_that_differ_are_reported(tmp_path: Path) -> None:
    keys: dict[str, Key] = {"replicas": declared(), "replicationFactor": declared()}
    (tmp_path / "a.yaml").write_text("replicas: 3\nreplicationFactor: 2")
    (document,) = read_yaml(FoundFile(tmp_path / "a.yaml", "a.yaml")).documents
    builder = ObjectBuilder("Thing", "a", document)
    assert builder.read(keys).integer("replicas", "replicationFactor") == 3
    assert [loss.source.line for loss in builder.losses] == [2]
