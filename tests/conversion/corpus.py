"""Files of other tools, here and beside the repository, and a second, simple reading of them."""

import re
from collections import Counter
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

import yaml

OWN = (Path(__file__).parent / "sources", Path(__file__).parents[2] / "examples" / "convert")
CORPUS = Path(__file__).parents[3] / "shared" / "data" / "corpus"
TOOLS = ("jikkou", "julie", "kafka-gitops", "kdef", "ns4kafka", "strimzi", "terraform", "topicctl")
_SIZES = 2
_FOLDERS = {"terraform": ("terraform-kafka", "terraform-confluent")}

Topics = dict[str, tuple[int | None, int | None]]


def own_files(tool: str) -> list[Path]:
    """The tool's files in this repository."""
    suffixes = (".yaml", ".tf")
    found = (path for root in OWN for path in (root / tool).rglob("*"))
    return sorted(path for path in found if path.suffix in suffixes)


def files_of(tool: str) -> list[Path]:
    """The tool's files in the collection beside the repository, if there is one."""
    folders = _FOLDERS.get(tool, (tool,))
    return sorted(path for name in folders for path in (CORPUS / name).rglob("*") if path.is_file())


def simple_topics(tool: str, file: Path) -> Topics | None:
    """Names of topics to partitions and replicas; None if the file is no YAML to a plain loader."""
    if tool == "terraform":
        return dict(_terraform_topics(file.read_text()))
    documents = _documents(file)
    if documents is None:
        return None
    found: Topics = {}
    for document in documents:
        if isinstance(document, dict):
            found |= dict(_topics(tool, document))
    return found


@lru_cache(1)  # objects and topics of one file are asked for one after the other
def _documents(file: Path) -> list[Any] | None:
    """Those that are not empty, as PyYAML itself reads them, not libyaml as kgitops does."""
    try:
        return [item for item in yaml.safe_load_all(file.read_text()) if item]
    except (yaml.YAMLError, ValueError):
        return None


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
        if name is None or (kind == "kafka_topic" and len(numbers) < _SIZES):
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


def simple_objects(tool: str, file: Path) -> Counter[str] | None:
    """The objects of a file by their kinds; None if it is no YAML to a plain loader."""
    if tool == "terraform":
        begun = r'^(\w+)(?: "([^"]+)")?(?: "[^"]+")? *\{'
        blocks = re.findall(begun, file.read_text(), re.MULTILINE)
        return Counter(
            label if kind == "resource" else kind
            for kind, label in blocks
            if kind not in ("resource", "provider") or label.startswith(("kafka", "confluent"))
        )
    documents = _documents(file)
    if documents is None:
        return None
    return Counter(
        kind
        for document in documents
        if isinstance(document, dict)
        for kind in _kinds(tool, document)
    )


def _kinds(tool: str, document: dict[str, object]) -> Iterator[str]:
    if tool == "julie":
        yield from _julie_kinds(document)
    elif tool == "kafka-gitops":
        for section in ("topics", "services", "users"):
            yield from [section.removesuffix("s")] * len(_at(document, section) or {})  # type: ignore[arg-type]
        for section in ("customServiceAcls", "customUserAcls"):
            for group in (_at(document, section) or {}).values():  # type: ignore[attr-defined]
                yield from [section] * len(group)
    elif tool == "topicctl":
        spec = document.get("spec") or {}
        kinds = {"bootstrapAddrs": "cluster", "zkAddrs": "cluster", "acls": "acl"}
        if "meta" in document and isinstance(spec, dict) and spec:
            yield next((kind for key, kind in kinds.items() if key in spec), "topic")
    else:
        kind, api = str(document.get("kind")), str(document.get("apiVersion"))
        inside = document.get("items") or document.get("objects")
        nested = inside if kind.endswith(("List", "Template")) else None
        for item in nested if isinstance(nested, list) else [document]:
            own = str(item.get("apiVersion", api))
            if tool == "strimzi" and not re.match(r"(core|kafka)\.strimzi\.io/|eventstreams", own):
                continue
            if tool == "jikkou" and "jikkou.io/" not in own:
                continue
            yield str(item.get("kind", kind.removesuffix("List")))


_GRANTS = ("consumers", "producers", "streams", "connectors", "ksql")


def _julie_kinds(document: dict[str, object]) -> Iterator[str]:
    if "context" not in document:
        return
    for project in document.get("projects") or []:  # type: ignore[attr-defined]
        topics = project.get("topics") or []
        yield from ["topic"] * len(topics)
        for holder in [project, *topics]:
            for key in _GRANTS:
                entries = holder.get(key) or []
                entries = entries.get("access_control") if isinstance(entries, dict) else entries
                yield from [key.removesuffix("s")] * len(entries or [])
    for topic in document.get("special_topics") or []:  # type: ignore[attr-defined]
        yield "topic"
        for key in _GRANTS:
            yield from [key.removesuffix("s")] * len(topic.get(key) or [])
