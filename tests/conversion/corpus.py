"""Files of other tools that lie beside the repository, and a second, simple reading of them."""

import re
from collections.abc import Iterator
from pathlib import Path

import yaml

CORPUS = Path(__file__).parents[3] / "shared" / "data" / "corpus"
TOOLS = ("jikkou", "julie", "kafka-gitops", "kdef", "ns4kafka", "strimzi", "terraform", "topicctl")
_FOLDERS = {"terraform": ("terraform-kafka", "terraform-confluent")}

Topics = dict[str, tuple[int | None, int | None]]


def files_of(tool: str) -> list[Path]:
    """The tool's files."""
    folders = _FOLDERS.get(tool, (tool,))
    return sorted(path for name in folders for path in (CORPUS / name).rglob("*") if path.is_file())


def simple_topics(tool: str, file: Path) -> Topics | None:
    """Names of topics to partitions and replicas; None if the file is no YAML to a plain loader."""
    if tool == "terraform":
        return dict(_terraform_topics(file.read_text()))
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
    if tool == "julie":
        yield from _julie_topics(document)
        return
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


def _terraform_topics(text: str) -> Iterator[tuple[str, tuple[int | None, int | None]]]:
    """Topics whose names and sizes are written out, found by their lines alone."""
    pattern = r'^resource "(kafka_topic|confluent_kafka_topic)" "[^"]+" \{\n(.*?)^\}'
    for kind, body in re.findall(pattern, text, re.MULTILINE | re.DOTALL):
        name = re.search(r'^  (?:topic_)?name *= "([\w.-]+)"$', body, re.MULTILINE)
        numbers = dict(re.findall(r"^  (\w+) *= (\d+)$", body, re.MULTILINE))
        if name is None:
            continue  # made of other values
        if kind == "kafka_topic":
            yield name[1], (int(numbers["partitions"]), int(numbers["replication_factor"]))
        else:
            yield name[1], (int(numbers.get("partitions_count", 6)), 3)


def _julie_topics(document: dict[str, object]) -> Iterator[tuple[str, tuple[int, int]]]:
    skipped = ("projects", "platform", "special_topics")
    if "context" not in document or not any(key in document for key in skipped):
        return
    prefix = [str(value) for key, value in document.items() if key not in skipped]
    for project in document.get("projects") or []:  # type: ignore[attr-defined]
        for topic in project.get("topics") or []:
            names = [*prefix, project.get("name"), topic["name"], topic.get("dataType")]
            yield ".".join(str(name) for name in names if name), _julie_size(topic)
    for topic in document.get("special_topics") or []:  # type: ignore[attr-defined]
        yield topic["name"], _julie_size(topic)


def _julie_size(topic: object) -> tuple[int | None, int | None]:
    sizes = [_at(topic, "config", key) for key in ("num.partitions", "replication.factor")]
    partitions, replicas = (None if size is None else int(str(size)) for size in sizes)
    return partitions, replicas


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
