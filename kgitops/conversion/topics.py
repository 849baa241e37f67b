"""Declares topics for any tool: sizes, and configs in Kafka's spelling, each checked."""

from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct, field

from kgitops.conversion.reading.building import ObjectBuilder
from kgitops.conversion.reading.comments import is_secret_name
from kgitops.conversion.reading.values import Value
from kgitops.manifests.yaml.document import scalar_text
from kgitops.model.registry import Json
from kgitops.model.resources.names import is_internal, topic_name_problem
from kgitops.model.resources.topic_configs import (
    ConfigType,
    config_problem,
    is_throttle,
    nearest_config,
    normal_value,
    removed_config,
    topic_configs,
)

VENDORS = ("confluent.", "redpanda.")
"""Configs that begin so are a vendor's: the converted project allows them."""


class TopicSource(Struct, frozen=True, kw_only=True):
    """A topic as the source has it; -1 for a size is Kafka's word for the broker's default.

    ``profile`` is the converted profile that the rest of the topic comes from; without one both
    sizes have to be known. ``complete`` is False for a profile itself.
    """

    partitions: int | None = None
    replication_factor: int | None = None
    assignments: Mapping[int, Sequence[int]] | None = None
    configs: Mapping[str, Value] = field(default_factory=dict)
    profile: str | None = None
    complete: bool = True


def read_assignments(rows: Iterable[Value]) -> dict[int, list[int]] | None:
    """The brokers of each partition, from a list of lists; None if it is empty."""
    brokers = [[item.integer() for item in row.items()] for row in rows]
    return {
        number: [broker for broker in row if broker is not None]
        for number, row in enumerate(brokers)
    } or None


def topic_spec(builder: ObjectBuilder, topic: TopicSource) -> dict[str, Json] | None:
    """The spec of a Topic or TopicProfile; None if the topic has no size, which is then lost.

    Configs that Kafka does not have, or would refuse, are losses of their own.
    """
    spec: dict[str, Json] = {"profile": topic.profile} if topic.profile else {}
    if topic.assignments is not None:
        _lose_other_sizes(builder, topic, topic.assignments)
        spec["assignments"] = {number: list(ids) for number, ids in topic.assignments.items()}
    else:
        sizes = {
            "partitions": topic.partitions,
            "replicationFactor": topic.replication_factor,
        }
        unknown = [name for name, size in sizes.items() if size is None or size < 1]
        if unknown and topic.complete and topic.profile is None:
            names = " and ".join(unknown)
            builder.lose(
                builder.value,
                f"{builder} leaves {names} to the broker, so it can't be declared",
                f"write {names} there, or a Topic by hand",
            )
            return None
        spec |= {name: size for name, size in sizes.items() if size is not None and size > 0}
    configs = topic_config_values(builder, topic.configs)
    return spec | ({"configs": configs} if configs else {})


def _lose_other_sizes(
    builder: ObjectBuilder, topic: TopicSource, assignments: Mapping[int, Sequence[int]]
) -> None:
    """Report sizes that are not those of the assignments, which win."""
    replicas = {len(brokers) for brokers in assignments.values()}
    for name, size, assigned in (
        ("partitions", topic.partitions, {len(assignments)}),
        ("replicationFactor", topic.replication_factor, replicas),
    ):
        if size is not None and {size} != assigned:
            problem = f"{builder}: its assignments are not those of {name} {size}"
            builder.lose(builder.value, problem, "the assignments are kept; correct one of the two")


def declare_topic(
    builder: ObjectBuilder,
    name: str | None,
    topic: TopicSource,
    *,
    clusters: tuple[str, ...] = (),
    extra: Mapping[str, Json] | None = None,
    configs: Mapping[str, Json] | None = None,
) -> None:
    """Add a Topic document, or the loss of the topic.

    ``extra`` are further fields of its spec, ``configs`` those that the source calls otherwise.
    """
    if not name:
        builder.lose(builder.value, f"{builder} has no name", "name it there")
        return
    if problem := topic_name_problem(name):
        builder.lose(builder.value, f"{builder}: {problem}", "Kafka refuses it; rename it there")
        return
    if is_internal(name):
        builder.lose(
            builder.value,
            f"the topic {name} belongs to the brokers",
            "they make it, and no manifest declares it",
        )
        return
    spec = topic_spec(builder, topic)
    if spec is None:
        return
    if configs:
        spec["configs"] = {**configs, **spec.get("configs", {})}
    builder.declare("Topic", name, spec | dict(extra or {}), clusters=clusters)


def topic_config_values(builder: ObjectBuilder, configs: Mapping[str, Value]) -> dict[str, Json]:
    """The configs as a person writes them; what Kafka would refuse is a loss."""
    written: dict[str, Json] = {}
    for key, value in configs.items():
        text = config_text(value)
        if text is None and value.is_empty():
            builder.lose(value, f"{builder}: {key} has no value", "it is left out")
        elif text is None:
            builder.lose(value, f"{builder}: {key} is {value.shown}", "it is left out; correct it")
        elif value.template() is not None:
            builder.lose(
                value,
                f"{builder}: {key} is a template, whose value is not known here",
                "convert what the template tool makes of it",
            )
        elif is_secret_name(key):
            builder.lose(value, f"{builder}: {key} may hold a secret", "it is left out")
        elif key.startswith(VENDORS):
            written[key] = text
        elif problem := _problem(key, text):
            builder.lose(value, f"{builder}: {problem}", "it is left out; correct it there")
        elif is_throttle(key):
            problem = f"{builder}: {key} is set by a tool while it moves replicas"
            builder.lose(value, problem, "it is left out")
        else:
            written[key] = written_config(key, text)
    return written


def config_text(value: Value) -> str | None:
    """A config's value as Kafka writes it, a list with commas."""
    if value.is_list():
        texts = [item.typed_text() for item in value.items()]
        return None if None in texts else ",".join(filter(None, texts))
    return value.typed_text()


def _problem(key: str, text: str) -> str | None:
    if key in topic_configs():
        return config_problem(key, text)
    if removed_config(key) is not None:
        return f"Kafka 4 has no config {key} any more"
    near = nearest_config(key)
    return f"Kafka has no topic config {key}{f' (did they mean {near}?)' if near else ''}"


def written_config(key: str, value: Json) -> Json:
    """A known config as a person would write it."""
    if key not in topic_configs() or config_problem(key, scalar_text(value)):
        return value
    return plainly(normal_value(key, scalar_text(value)), topic_configs()[key].type)


def plainly(text: str, type_: ConfigType) -> Json:
    """A value in normal form as a person would write it: numbers and booleans plain."""
    match type_:
        case ConfigType.BOOLEAN:
            return text == "true"
        case ConfigType.INT | ConfigType.LONG:
            return int(text)
        case _:
            return text
