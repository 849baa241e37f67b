"""Files of other tools that lie beside the repository, and a second, simple reading of them."""

from collections.abc import Iterator
from pathlib import Path

import yaml

CORPUS = Path(__file__).parents[3] / "shared" / "data" / "corpus"
TOOLS = ("jikkou", "kafka-gitops", "kdef", "ns4kafka", "strimzi", "topicctl")

Topics = dict[str, tuple[int | None, int | None]]


def files_of(tool: str) -> list[Path]:
    """The tool's files."""
    return sorted(path for path in (CORPUS / tool).rglob("*") if path.is_file())


def simple_topics(tool: str, file: Path) -> Topics | None:
    """Names of topics to partitions and replicas; None if the file is no YAML to a plain loader."""
    try:
        documents = [item for item in yaml.safe_load_all(file.read_text()) if item]
    except (yaml.YAMLError, ValueError):
        return None
    found: Topics = {}
    for document in documents:
        if isinstance(document, dict):
            found |= dict(_topics(tool, document))
    return found


def _topics(tool: str, document: dict[str, object]) -> Iterator[tuple[str, tuple[int, int]]]:
    if tool == "kafka-gitops":
        default = _at(document, "settings", "topics", "defaults", "replication")
        for name, topic in (_at(document, "topics") or {}).items():
            yield name, (topic.get("partitions"), topic.get("replication", default))
        return
    inside = document.get("items") or document.get("objects") or [document]
    for item in inside if isinstance(inside, list) else []:
        kind = str(document.get("kind")).removesuffix("List")
        if not isinstance(item, dict) or not _is_topic(tool, item, kind):
            continue
        name = _at(item, "spec", "topicName") or _at(item, "metadata", "name")
        if tool == "topicctl":
            name = _at(item, "meta", "name")
        replicas = _at(item, "spec", "replicas") or _at(item, "spec", "replicationFactor")
        rows = _at(item, "spec", "assignments") or _at(
            item, "spec", "placement", "staticAssignments"
        )
        if rows:
            yield name, (len(rows), len(rows[0]))
        else:
            yield name, (_at(item, "spec", "partitions"), replicas)


def _is_topic(tool: str, item: dict[str, object], outer: str) -> bool:
    kind = item.get("kind", outer)
    if tool == "topicctl":
        return "meta" in item and "partitions" in (item.get("spec") or {})  # type: ignore[operator]
    return kind == {"jikkou": "KafkaTopic", "strimzi": "KafkaTopic", "ns4kafka": "Topic"}.get(
        tool, "topic"
    )


def _at(value: object, *path: str) -> object:
    for step in path:
        value = value.get(step) if isinstance(value, dict) else None
    return value
