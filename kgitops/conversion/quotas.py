"""Declares client quotas for any tool."""

from collections.abc import Mapping

from kgitops.conversion.reading.building import ObjectBuilder
from kgitops.conversion.reading.values import Value
from kgitops.kinds.exports import Inline
from kgitops.kinds.quota import value_problem
from kgitops.model.registry import Json
from kgitops.model.resources.quotas import quota_number

CAMEL_CASE = {
    "producerByteRate": "producer_byte_rate",
    "consumerByteRate": "consumer_byte_rate",
    "requestPercentage": "request_percentage",
    "controllerMutationRate": "controller_mutation_rate",
}
"""The keys of tools in Kubernetes' manner, to Kafka's."""
DEFAULT = Inline({"default": True})
"""The entity that all others of its type are."""


def declare_quota(
    builder: ObjectBuilder,
    entity: Mapping[str, Json],
    quotas: Mapping[str, Value],
    *,
    clusters: tuple[str, ...] = (),
) -> None:
    """Add a ClientQuota: ``entity`` by kgitops's keys, ``quotas`` by Kafka's.

    A value that Kafka would refuse is a loss.
    """
    written: dict[str, Json] = {}
    for key, value in quotas.items():
        number = _number(value)
        if number is None:
            builder.lose(value, f"{builder}: {key} is {value.shown}, not a number", "correct it")
        elif problem := value_problem(key, number):
            builder.lose(value, f"{builder}: {key} {problem}", "it is left out; correct it there")
        else:
            written[key] = quota_number(number)
    if written:
        builder.declare(
            "ClientQuota",
            _name(entity),
            {"entity": Inline(entity), "quotas": written},
            clusters=clusters,
        )
    else:
        builder.lose_if_empty(written, "sets no quota")


def _number(value: Value) -> float | None:
    try:
        number = float(value.typed_text() or "")
    except ValueError:
        return None
    return number if number == number and abs(number) != float("inf") else None


def _name(entity: Mapping[str, Json]) -> str:
    """``billing``, ``billing-app``, ``default-user``."""
    parts = []
    for key, name in entity.items():
        word = {"clientId": "client"}.get(key, key)
        parts.append(name if isinstance(name, str) else f"default-{word}")
    return "-".join(parts)
