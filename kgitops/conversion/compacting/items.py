"""A topic's values as items that can be compared, and as a spec again."""

from collections.abc import Iterable, Mapping

from msgspec import Struct

from kgitops.conversion.objects import DeclaredDocument
from kgitops.model.registry import Json
from kgitops.model.resources.topic_configs import normal_value, topic_configs

SIZE = "replicationFactor"
_CONFIGS = "configs"
# The number of partitions is a topic's own: reviewers want to see it there.
_SHARED = (SIZE, "configsPolicy", "deletionPolicy")

NAMING = frozenset(
    {
        "configs.cleanup.policy",
        "configs.remote.storage.enable",
        "configs.retention.ms",
        "configs.retention.bytes",
    }
)
"""The items that profiles are named after."""

Item = tuple[str, str]
"""A field or ``configs.KEY``, and its value in Kafka's normal form."""


class TopicItems(Struct, frozen=True):
    """The items of a topic that a profile could give; ``placed`` if its replicas are assigned."""

    items: frozenset[Item]
    placed: bool = False

    @property
    def keys(self) -> frozenset[str]:
        """The fields and configs that are written."""
        return frozenset(key for key, _ in self.items)

    def takes(self, profile: frozenset[Item]) -> bool:
        """Return whether the profile gives the topic nothing that it does not have already.

        Nor may the topic say otherwise in what a profile is named after.
        """
        if any(key in NAMING and (key, value) not in self.items for key, value in profile):
            return False
        keys = {key for key, _ in profile}
        return keys - ({SIZE} if self.placed else set()) <= self.keys

    def saved(self, profile: frozenset[Item]) -> int:
        """The number of items that needn't be written with this profile."""
        return len(self.items & profile) if self.takes(profile) else 0


def items_of(document: DeclaredDocument) -> TopicItems:
    spec = document.spec
    items = {(key, str(spec[key])) for key in _SHARED if key in spec}
    configs = spec.get(_CONFIGS) or {}
    items |= {(f"{_CONFIGS}.{key}", config_key(key, value)) for key, value in configs.items()}
    return TopicItems(frozenset(items), placed="assignments" in spec)


def config_key(key: str, value: Json) -> str:
    """The value in Kafka's normal form, so that ``"3"`` and ``3`` are one."""
    text = ",".join(map(_text, value)) if isinstance(value, list) else _text(value)
    return normal_value(key, text) if key in topic_configs() else text


def _text(value: Json) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def without(spec: Mapping[str, Json], items: Iterable[Item]) -> dict[str, Json]:
    """The spec without the items that a profile gives it."""
    given = dict(items)
    rest = {
        key: value
        for key, value in spec.items()
        if key != _CONFIGS and not (key in given and given[key] == str(value))
    }
    configs = {
        key: value
        for key, value in (spec.get(_CONFIGS) or {}).items()
        if given.get(f"{_CONFIGS}.{key}") != config_key(key, value)
    }
    return rest | ({_CONFIGS: configs} if configs else {})


def profile_spec(items: Iterable[Item], written: Mapping[Item, Json]) -> dict[str, Json]:
    """The spec of a profile with these items; ``written`` are their values as topics have them."""
    spec: dict[str, Json] = {}
    configs: dict[str, Json] = {}
    for item in sorted(items):
        key = item[0]
        if key.startswith(f"{_CONFIGS}."):
            configs[key.removeprefix(f"{_CONFIGS}.")] = written[item]
        else:
            spec[key] = written[item]
    ordered = {key: spec[key] for key in _SHARED if key in spec}
    return ordered | ({_CONFIGS: configs} if configs else {})


def written_values(document: DeclaredDocument) -> dict[Item, Json]:
    """Each item of the document with its value as it is written there."""
    spec = document.spec
    values: dict[Item, Json] = {(key, str(spec[key])): spec[key] for key in _SHARED if key in spec}
    for key, value in (spec.get(_CONFIGS) or {}).items():
        values[f"{_CONFIGS}.{key}", config_key(key, value)] = value
    return values
