"""Scalars that YAML 1.1 and 1.2 read differently are read as the tool does, or reported."""

from pathlib import Path

import pytest

from kgitops.conversion.converting import ConvertedProject, convert
from kgitops.conversion.reading.folder import FoundFile, read_yaml
from kgitops.conversion.reading.scalars import Dialect
from kgitops.conversion.reading.values import Value

# What a reader passes on where any value may stand; None: it is reported.
TYPED: dict[Dialect, dict[str, str | None]] = {
    Dialect.GO: {
        "no": "false", "Off": "false", "y": "true", "N": "false", "true": "true", "nO": "nO",
        "010": "8", "-010": "-8", "0o17": "15", "0x1F": "31", "0b101": "5", "09": "9",
        "604_800_000": "604800000", "1_0.5": "10.5", "6.048e+08": "604800000", "0.5": "0.5",
        "1:30": "1:30", "2026-01-01": "2026-01-01", "'no'": "no", "'010'": "010", "_1": "_1",
        "+5": "5", "x_1": "x_1",
    },
    Dialect.SNAKE: {
        "no": "false", "y": "y", "010": "8", "0o17": "0o17", "0x1F": "0x1F", "0b101": "5",
        "09": "09", "604_800_000": "604800000", "6.048e+08": "6.048e+08", "1:30": "90",
        "1:30.5": "90.5", "2026-01-01": None, "'no'": "no",
    },
    Dialect.JACKSON: {
        "no": "false", "y": "y", "010": "8", "0b101": "5", "604_800_000": "604800000",
        "1:30": "1:30", "2026-01-01": "2026-01-01", "6.048e+08": "6.048e+08", "'no'": "no",
    },
    Dialect.CAUTIOUS: {
        "no": None, "y": "y", "010": None, "0b101": None, "604_800_000": None, "1:30": None,
        "2026-01-01": "2026-01-01", "'010'": "010", "true": "true", "12": "12",
    },
    Dialect.YAML_12: {"no": "no", "010": "010", "604_800_000": "604_800_000", "12": "12"},
}  # fmt: skip
CASES = [
    pytest.param(dialect, text, typed, id=f"{dialect.name}-{text}")
    for dialect, texts in TYPED.items()
    for text, typed in texts.items()
]


def value(text: str, dialect: Dialect, folder: Path) -> Value:
    (folder / "a.yaml").write_text(f"key: {text}\n")
    (document,) = read_yaml(FoundFile(folder / "a.yaml", "a.yaml"), dialect).documents
    found = document.at("key")
    assert found is not None
    return found


@pytest.mark.parametrize(("dialect", "text", "typed"), CASES)
def test_a_scalar_is_read_as_the_tool_reads_it(
    dialect: Dialect, text: str, typed: str | None, tmp_path: Path
) -> None:
    found = value(text, dialect, tmp_path)
    assert found.typed_text() == typed
    number = typed is not None and typed.lstrip("-").isdecimal()
    assert found.integer() == (int(typed or "") if number else None)
    assert found.flag() == {"true": True, "false": False}.get(typed or "")


@pytest.mark.parametrize("text", ["no", "010", "604_800_000"])
@pytest.mark.parametrize("dialect", [item for item in Dialect if item is not Dialect.YAML_12])
def test_a_name_that_yaml_1_1_takes_for_no_text_is_not_guessed(
    dialect: Dialect, text: str, tmp_path: Path
) -> None:
    found = value(text, dialect, tmp_path)
    assert found.text() is None
    assert "which YAML 1.1 does not read as YAML 1.2 does" in found.shown


def test_a_number_of_thousands_of_digits_is_not_read(tmp_path: Path) -> None:
    assert value("1" + "_1" * 5000, Dialect.GO, tmp_path).typed_text() is None


STRIMZI = """apiVersion: kafka.strimzi.io/v1
kind: KafkaTopic
metadata: {name: orders}
spec:
  partitions: 010
  replicas: 3
  config:
    retention.ms: 6.048e+08
    max.message.bytes: 1_048_588
    unclean.leader.election.enable: no
"""
KAFKA_GITOPS = """topics:
  orders:
    partitions: 6
    replication: 3
    configs:
      retention.ms: 604_800_000
  other:
    partitions: 010
    replication: 3
"""
JIKKOU = """apiVersion: kafka.jikkou.io/v1
kind: KafkaTopic
metadata: &metadata {name: orders}
spec:
  partitions: 3
  replicas: 3
  configs:
    <<: *metadata
"""


def converted(text: str, tool: str, folder: Path) -> ConvertedProject:
    (folder / "a.yaml").write_text(text)
    return convert(folder, tool, "converted", compacted=False)


def test_numbers_of_kubernetes_are_those_of_its_reader(tmp_path: Path) -> None:
    conversion = converted(STRIMZI, "strimzi", tmp_path).conversion
    (document,) = (document for item in conversion.objects for document in item.documents)
    assert document.spec == {
        "partitions": 8,
        "replicationFactor": 3,
        "configs": {
            "retention.ms": 604800000,
            "max.message.bytes": 1048588,
            "unclean.leader.election.enable": False,
        },
    }
    assert conversion.losses == ()


def test_numbers_that_readers_of_one_tool_take_differently_are_reported(tmp_path: Path) -> None:
    conversion = converted(KAFKA_GITOPS, "kafka-gitops", tmp_path).conversion
    assert {loss.source.line for loss in conversion.losses} >= {6, 8}
    configs = [
        document.spec.get("configs") for item in conversion.objects for document in item.documents
    ]
    assert configs == [None]


def test_a_merge_that_the_tool_does_not_make_is_reported(tmp_path: Path) -> None:
    conversion = converted(JIKKOU, "jikkou", tmp_path).conversion
    assert 8 in {loss.source.line for loss in conversion.losses}


def test_a_variable_of_topicctl_without_braces_is_not_a_name(tmp_path: Path) -> None:
    text = "meta: {name: orders-$ENV, cluster: c, environment: e, region: r}\n"
    spec = "spec: {partitions: 1, replicationFactor: 1, placement: {strategy: any}}\n"
    conversion = converted(text + spec, "topicctl", tmp_path).conversion
    assert not any(item.documents for item in conversion.objects)
    assert "has the template 'orders-$ENV'" in conversion.losses[0].problem


@pytest.mark.parametrize(("written", "lost"), [("false", 0), ("no", 0), ("off", 0), ("yes", 1)])
def test_a_flag_that_is_off_in_the_tools_own_yaml_is_no_loss(
    tmp_path: Path, written: str, lost: int
) -> None:
    (tmp_path / "a.yaml").write_text(
        "apiVersion: v1\nkind: topic\nmetadata: {name: orders}\n"
        f"spec: {{partitions: 1, replicationFactor: 1, maintainLeaders: {written}}}\n"
    )
    project = convert(tmp_path, "kdef", "p", compacted=False)
    assert len(project.conversion.losses) == lost
