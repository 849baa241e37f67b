"""Wrong types anywhere in any tool's files: told, and never an object lost or a traceback."""

import copy
import random
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from kgitops.conversion.converting import convert

EXAMPLES = Path(__file__).parents[2] / "examples" / "convert"
FILES = sorted(
    path
    for path in EXAMPLES.rglob("*")
    if path.suffix in (".yaml", ".yml") and path.parent != EXAMPLES
)
WRONG: list[Any] = [
    None, True, 0, -1, 2**63, 0.5, "", "x", "*", "{{ x }}", "${x}", [], {}, [[]], [None], [{}],
    {"": None}, {"a": {"b": []}}, ["a", 1], "a/b", "é", "2026-11-24", "x" * 300,
]  # fmt: skip


def places(value: object, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    found = [path]
    if isinstance(value, dict):
        for key, item in value.items():
            found += places(item, (*path, key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            found += places(item, (*path, index))
    return found


def mutated(documents: list[Any], chosen: random.Random) -> list[Any]:
    changed = copy.deepcopy(documents)
    for _ in range(chosen.choice([1, 1, 2, 3])):
        path = chosen.choice([path for path in places(changed) if path])
        *to, last = path
        target = changed
        for step in to:
            target = target[step]
        if chosen.random() < 0.15 and isinstance(target, dict):
            del target[last]
        else:
            target[last] = copy.deepcopy(chosen.choice(WRONG))
    return changed


@pytest.mark.parametrize("file", FILES, ids=lambda file: f"{file.parent.name}-{file.stem}")
def test_wrong_types_are_told(file: Path, tmp_path: Path) -> None:
    tool = file.relative_to(EXAMPLES).parts[0]
    documents = list(yaml.safe_load_all(file.read_text()))
    chosen = random.Random(file.name)  # noqa: S311 (the same cases each time)
    for _ in range(150):
        text = yaml.dump_all(mutated(documents, chosen), Dumper=yaml.CSafeDumper)
        source = tmp_path / file.name
        source.write_text(text)
        project = convert(source, tool, "converted")
        for item in project.conversion.objects:
            became = item.documents or item.settings or item.same_as is not None
            conflict = any(finding.source == item.source for finding in project.findings)
            assert became or item.losses or conflict, f"{item}\n{text}"


def test_broken_hcl_is_told(tmp_path: Path) -> None:
    text = (EXAMPLES / "terraform" / "main.tf").read_text()
    chosen = random.Random(7)  # noqa: S311 (the same cases each time)
    pieces = re.findall(r"\s+|\w+|.", text)
    for _ in range(300):
        changed = list(pieces)
        for _ in range(chosen.choice([1, 1, 2])):
            at = chosen.randrange(len(changed))
            changed[at] = chosen.choice(["", "{", "}", '"', "[", "${", "null", "-1", "\n", "var.x"])
        source = tmp_path / "main.tf"
        source.write_text("".join(changed))
        project = convert(source, "terraform", "converted")
        for item in project.conversion.objects:
            became = item.documents or item.settings or item.same_as is not None
            conflict = any(finding.source == item.source for finding in project.findings)
            assert became or item.losses or conflict, f"{item}\n{''.join(changed)}"


MERGED = "a0: &a0 {k0: 1}\n" + "".join(
    f"a{n}: &a{n} {{<<: [{', '.join([f'*a{n - 1}'] * 9)}], k{n}: 1}}\n" for n in range(1, 15)
)
REPEATED = "a0: &a0 [1]\n" + "".join(
    f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 15)
)
TOPIC = "apiVersion: kafka.strimzi.io/v1\nkind: KafkaTopic\nmetadata: {name: t, <<: *a14}\n"


@pytest.mark.parametrize("bomb", [MERGED, REPEATED], ids=["merged", "repeated"])
@pytest.mark.parametrize("tool", ["jikkou", "julie", "kafka-gitops", "kdef", "strimzi"])
def test_aliases_that_stand_for_ever_more_are_told(bomb: str, tool: str, tmp_path: Path) -> None:
    (tmp_path / "topics.yaml").write_text(bomb + TOPIC)
    project = convert(tmp_path, tool, "converted")
    assert project.conversion.losses or project.findings or project.conversion.ignored


def _flow(prefix: str, number: int) -> str:
    return ", ".join(f'"{prefix}{n}"' for n in range(number))


def _products(number: int) -> dict[str, tuple[str, str]]:
    """Files of a few KB with lists whose items stand for a binding for each item of another."""
    numbers = range(number)
    topics = "".join(
        f"      - {{name: t{n}, config: {{num.partitions: '1', replication.factor: '1'}}}}\n"
        for n in numbers
    )
    consumers = "".join(f"      - principal: User:c{n}\n" for n in numbers)
    kdef = f"""apiVersion: v1
kind: acl
metadata: {{name: t, type: topic, resourcePatternType: literal}}
spec:
  acls:
    - principals: [{_flow("User:", number)}]
      hosts: [{_flow("10.0.0.", number)}]
      operations: [READ]
      permissionType: ALLOW
"""
    julie = f"""context: c
projects:
  - name: p
    topics:
{topics}    consumers:
{consumers}"""
    return {"kdef": ("acls.yaml", kdef), "julie": ("topology.yaml", julie)}


@pytest.mark.parametrize("tool", sorted(_products(1)))
def test_lists_that_multiply_each_other_are_refused_at_a_line(tool: str, tmp_path: Path) -> None:
    name, few = _products(3)[tool]
    (tmp_path / name).write_text(few)
    assert not convert(tmp_path, tool, "converted").conversion.losses
    (tmp_path / name).write_text(_products(150)[tool][1])
    project = convert(tmp_path, tool, "converted")
    problems = [loss for loss in project.conversion.losses if "more documents" in loss.problem]
    (refused,) = problems
    assert refused.source.file.endswith(name)


@pytest.mark.parametrize("kind", ["topic", "broker"])
def test_a_key_with_a_control_character_is_told_and_written_as_an_escape(
    tmp_path: Path, kind: str
) -> None:
    """A comment of YAML can't hold the character itself."""
    sizes = "partitions: 1, replicationFactor: 1, " if kind == "topic" else ""
    (tmp_path / "a.yaml").write_text(
        f'apiVersion: v1\nkind: {kind}\nmetadata: {{name: "4"}}\n'
        f'spec: {{{sizes}configs: {{"\\e[31mx": "1", compression.type: zstd}}}}\n'
    )
    project = convert(tmp_path, "kdef", "p", compacted=False)
    assert project.findings == ()
    assert len(project.conversion.losses) == 1
    assert "\\x1b[31mx" in "".join(project.files.values())
