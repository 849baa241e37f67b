"""Topics as documents."""

from collections.abc import Mapping
from fnmatch import fnmatchcase

from msgspec import Struct

from kgitops.desired.reported_types import reported_problem, reported_text
from kgitops.kinds.exports import Exporting, Item, as_document, written_policy
from kgitops.model.json.declared import ConfigsPolicy
from kgitops.model.registry import Json
from kgitops.model.resources.addresses import topic_address
from kgitops.model.resources.topic_configs import (
    ConfigType,
    config_problem,
    is_throttle,
    normal_value,
    removed_config,
    topic_configs,
)
from kgitops.model.resources.topics import TopicState

_Spec = dict[str, Json]


def export_topics(of: Exporting) -> list[Item]:
    """Every topic that the project may declare, with the configs set on the topic itself.

    A config that only the defaults would set is taken out. The placement of replicas is only
    written if it was declared: with counts, a plan moves no replicas, and a later rebalancing of
    the cluster causes no drift.
    """
    items = []
    for name, topic in sorted(of.state.topics.items()):
        spec = topic_spec(of, topic_address(name), topic)
        if spec is not None:
            items.append(Item(name, [as_document("Topic", name, spec)]))
    return items


def topic_spec(of: Exporting, address: str, topic: TopicState) -> dict[str, Json] | None:
    """The spec of the topic's document; None if it gets no document."""
    if topic.internal:
        of.notes.add(address, "left out, it belongs to the brokers or to kgitops")
    elif topic.marked_for_deletion:
        of.notes.add(address, "left out, it is being deleted")
    elif of.scope.may_declare(address):
        last, owner = of.scope.last_applied(address), of.scope.ownership.owner(address)
        same = bool(owner and owner.topic_id == topic.topic_id)
        return _Topics(of).spec(address, topic, last, same=same)
    return None


class _Topics(Struct, frozen=True):
    of: Exporting

    def spec(
        self, address: str, topic: TopicState, last: Mapping[str, Json], *, same: bool
    ) -> _Spec | None:
        size = self._size(address, topic, last)
        if size is None:
            return None
        applied = last.get("configs", {}) if same else {}
        configs, complete = self._configs(address, topic.configs, applied)
        spec = dict(size)
        declared = self._without_defaults(configs)
        if declared:
            spec["configs"] = declared
        given = self._default("configsPolicy") or ConfigsPolicy.DECLARED.value
        wanted = last.get("configsPolicy", given)
        if wanted == ConfigsPolicy.EXACT and not complete:
            self.of.notes.add(address, "configsPolicy Exact is left out, it would remove a config")
            wanted = ConfigsPolicy.DECLARED.value
        spec |= {"configsPolicy": wanted} if wanted != given else {}
        if same and last.get("deleteRecordsBefore"):
            if "delete" in str(configs.get("cleanup.policy", "delete")).split(","):
                offsets = last["deleteRecordsBefore"].items()
                spec["deleteRecordsBefore"] = {int(p): int(offset) for p, offset in offsets}
            else:
                self.of.notes.add(
                    address,
                    "deleteRecordsBefore is left out, Kafka deletes no records of a topic with "
                    "this cleanup.policy",
                )
        return spec | self._deletion_policy(last)

    def _deletion_policy(self, last: Mapping[str, Json]) -> _Spec:
        """The deletionPolicy that was applied, if no default gives it."""
        given, applied = self._default("deletionPolicy"), last.get("deletionPolicy")
        if given is None:
            return written_policy(last)
        return {} if applied in (None, given) else {"deletionPolicy": applied}

    def _default(self, field: str) -> Json:
        return self.of.defaults.values.get(("spec", field))

    def _without_defaults(self, configs: _Spec) -> _Spec:
        """The configs, and null for each that only a default of the project would set."""
        given = {
            str(path[2]): None
            for path, value in self.of.defaults.values.items()
            if path[1] == "configs" and value is not None
        }
        both = {**given, **configs}
        return {key: both[key] for key in sorted(both)}

    def _size(self, address: str, topic: TopicState, last: Mapping[str, Json]) -> _Spec | None:
        factor = topic.replication_factor
        if len({len(replicas) for replicas in topic.assignment}) > 1:
            if not last:
                self.of.notes.add(
                    address,
                    "left out, its partitions have different numbers of replicas, which no "
                    "manifest can say; even them out first",
                    lost=True,
                )
                return None
            factor = last["replicationFactor"]
            self.of.notes.add(
                address,
                f"its partitions have different numbers of replicas; replicationFactor {factor} "
                "is written as it was applied, so a plan evens them out",
            )
        elif last.get("assignments"):
            brokers = {broker.id for broker in self.of.state.brokers}
            if brokers.issuperset(broker for replicas in topic.assignment for broker in replicas):
                rows = enumerate(topic.assignment)
                return {"assignments": {partition: list(replicas) for partition, replicas in rows}}
            self.of.notes.add(
                address,
                "its assignments are left out and only counts are written, because a broker in "
                "them is gone",
            )
        return {"partitions": topic.num_partitions, "replicationFactor": factor}

    def _configs(
        self, address: str, configs: Mapping[str, str], last: Mapping[str, str]
    ) -> tuple[_Spec, bool]:
        """The configs that can be declared; true if these are all that Exact would compare."""
        spec: _Spec = {}
        complete = True
        for key, value in sorted(configs.items()):
            if is_throttle(key):
                continue  # set and removed by the tool that moves replicas
            problem = self._problem(key, value)
            if problem is None:
                spec[key] = self._written(key, value)
            elif key in last:
                spec[key] = self._written(key, last[key])
                self.of.notes.add(address, f"{problem}; the value last applied is written instead")
            else:
                complete = False
                self.of.notes.add(address, f"{problem}; it is left out and stays as it is")
        return spec, complete

    def _problem(self, key: str, value: str) -> str | None:
        """The reason that the manifest would be refused, if it would."""
        if key in topic_configs():
            return config_problem(key, value)
        if any(fnmatchcase(key, pattern) for pattern in self.of.allow_configs):
            return None
        if removed_config(key) is not None:
            return f"Kafka 4 has no config {key} any more"
        if (type_ := self.of.reported.get(key)) is not None:
            return reported_problem(key, type_, value)
        return f"the config {key} is not known to kgitops (see spec.allowConfigs)"

    def _written(self, key: str, value: str) -> Json:
        """As a person would write it: numbers and booleans plain, the rest as Kafka does."""
        type_ = self.of.reported.get(key)
        text = normal_value(key, value) if type_ is None else reported_text(key, type_, value)
        definition = topic_configs().get(key)
        match definition.type if definition else type_:
            case ConfigType.BOOLEAN:
                return text == "true"
            case ConfigType.SHORT | ConfigType.INT | ConfigType.LONG:
                return int(text)
            case _:
                return text
