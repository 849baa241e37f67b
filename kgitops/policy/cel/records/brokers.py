"""Brokers' configs, and what changes of them."""

from collections.abc import Mapping
from dataclasses import dataclass

from kgitops.policy.cel.records.changes import CHANGED, changed_configs, changes
from kgitops.policy.cel.records.record import Field, Record
from kgitops.policy.cel.types import INT, STRING, map_of


@dataclass(frozen=True)
class BrokerConfigs:
    """A broker and its configs; ``requested`` are those that the request names."""

    id: int
    configs: Mapping[str, str]
    requested: Mapping[str, str | None]


_BROKER = {
    "id": Field(INT, "The broker's id.", lambda broker, _: broker.id),
    "configs": Field(
        map_of(STRING),
        "Its configs, as far as they are known.",
        lambda broker, _: dict(broker.configs),
    ),
}
CURRENT_BROKER = Record("a broker", _BROKER)
REQUESTED_BROKER = Record(
    "a broker",
    {
        **_BROKER,
        "requestedConfigs": Field(
            map_of(STRING.or_null),
            "Only the configs that the request names; null for a key that it removes.",
            lambda broker, _: dict(broker.requested),
        ),
    },
)
BROKER_CHANGE = Record(
    "a change of a broker", {"configs": Field(changes(STRING), CHANGED, changed_configs)}
)
