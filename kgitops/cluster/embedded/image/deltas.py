"""The deltas of all kinds but topics: an image and the changes of records, readable as one."""

from collections.abc import Iterator, Mapping
from typing import TypeVar

from msgspec.structs import replace

from kgitops.cluster.embedded.image.image import (
    AclsImage,
    BrokersImage,
    ConfigsImage,
    GroupImage,
    GroupsImage,
    QuotasImage,
    TransactionImage,
    TransactionsImage,
)
from kgitops.cluster.embedded.image.records import (
    BROKER,
    CLIENT_METRICS,
    GROUP,
    AccessControlEntryRecord,
    BrokerRegistrationChangeRecord,
    ClientQuotaRecord,
    ConfigRecord,
    GroupRecord,
    ProducerIdsRecord,
    RegisterBrokerRecord,
    RemoveAccessControlEntryRecord,
    RemoveGroupRecord,
    TransactionContents,
    TransactionContentsRecord,
    TransactionRecord,
)
from kgitops.model.cluster_state import Broker
from kgitops.model.resources.acls import AclBinding
from kgitops.model.resources.quotas import ClientQuotaEntity

K = TypeVar("K")
T = TypeVar("T")


def with_value(mapping: Mapping[str, T], key: str, value: T | None) -> dict[str, T]:
    """A copy with the value under the key; None removes the key."""
    changed = dict(mapping)
    if value is None:
        changed.pop(key, None)
    else:
        changed[key] = value
    return changed


def merged(old: Mapping[K, T], changed: Mapping[K, T | None]) -> Mapping[K, T]:
    """The old mapping with the changes applied; None removes a key."""
    result = dict(old)
    for key, value in changed.items():
        if value is None:
            result.pop(key, None)
        else:
            result[key] = value
    return result


class AclsDelta:
    """Changes of ACL bindings."""

    def __init__(self, image: AclsImage) -> None:
        self._image = image
        self._changed: dict[AclBinding, bool] = {}

    def __contains__(self, binding: AclBinding) -> bool:
        """Return whether the binding exists."""
        return self._changed.get(binding, binding in self._image.bindings)

    def __iter__(self) -> Iterator[AclBinding]:
        """Every binding, in no order."""
        yield from (binding for binding in self._image.bindings if binding not in self._changed)
        yield from (binding for binding, there in self._changed.items() if there)

    def replay(self, record: AccessControlEntryRecord | RemoveAccessControlEntryRecord) -> None:
        """Take in one binding that was added or removed."""
        self._changed[record.binding] = isinstance(record, AccessControlEntryRecord)

    def apply(self) -> AclsImage:
        """The next image."""
        if not self._changed:
            return self._image
        added = (binding for binding, there in self._changed.items() if there)
        return AclsImage(bindings=self._image.bindings.difference(self._changed).union(added))


class BrokersDelta:
    """Changes of brokers."""

    def __init__(self, image: BrokersImage) -> None:
        self._image = image
        self._changed: dict[int, Broker] = {}

    def all(self) -> tuple[Broker, ...]:
        """Every registered broker, by id."""
        if not self._changed:
            return tuple(self._image.brokers.values())
        return tuple(self.apply().brokers.values())

    def register(self, record: RegisterBrokerRecord) -> None:
        """Take in a broker."""
        self._changed[record.id] = Broker(id=record.id, rack=record.rack)

    def change(self, record: BrokerRegistrationChangeRecord) -> None:
        """Take in that a broker was fenced or unfenced."""
        broker = self._changed.get(record.id) or self._image.brokers[record.id]
        self._changed[record.id] = replace(broker, fenced=record.fenced)

    def apply(self) -> BrokersImage:
        """The next image, by id."""
        if not self._changed:
            return self._image
        merged = {**self._image.brokers, **self._changed}
        return BrokersImage(brokers={key: merged[key] for key in sorted(merged)})


class ConfigsDelta:
    """Changes of the dynamic configs of brokers, groups and client metrics."""

    def __init__(self, image: ConfigsImage) -> None:
        self._image = image
        self._changed: dict[tuple[str, str], dict[str, str]] = {}

    def of_broker(self, broker: str) -> dict[str, str]:
        """The dynamic configs of one broker; ``""`` for those of all."""
        return self.of(BROKER, broker)

    def of(self, resource_type: str, resource: str) -> dict[str, str]:
        """The dynamic configs of one resource that is not a topic."""
        changed = self._changed.get((resource_type, resource))
        if changed is not None:
            return changed
        return dict(self._image.of_type(resource_type).get(resource, {}))

    def configure(self, record: ConfigRecord) -> None:
        """Take in one config."""
        key = record.resource_type, record.resource
        self._changed[key] = with_value(self.of(*key), record.key, record.value)

    def apply(self) -> ConfigsImage:
        """The next image."""
        if not self._changed:
            return self._image
        return ConfigsImage(
            brokers=self._merged(BROKER),
            groups=self._merged(GROUP),
            client_metrics=self._merged(CLIENT_METRICS),
        )

    def _merged(self, resource_type: str) -> Mapping[str, Mapping[str, str]]:
        changed = {
            name: new for (type_, name), new in self._changed.items() if type_ == resource_type
        }
        merged = {**self._image.of_type(resource_type), **changed}
        return {key: value for key, value in merged.items() if value}


class GroupsDelta:
    """Changes of groups."""

    def __init__(self, image: GroupsImage) -> None:
        self._image = image
        self._changed: dict[str, GroupImage | None] = {}

    def get(self, group: str) -> GroupImage | None:
        """The group of this physical id."""
        return self._changed[group] if group in self._changed else self._image.groups.get(group)

    def all(self) -> Mapping[str, GroupImage]:
        """Every group by physical id."""
        return merged(self._image.groups, self._changed) if self._changed else self._image.groups

    def commit(self, record: GroupRecord) -> None:
        """Take in a group, or offsets that it committed."""
        group = self.get(record.group) or GroupImage(virtual_cluster=record.virtual_cluster)
        committed = {**group.committed, **record.committed}
        kept = {k: group.details[k] for k in group.details if k not in record.committed}
        details = {**kept, **record.details}
        self._changed[record.group] = replace(group, committed=committed, details=details)

    def remove(self, record: RemoveGroupRecord) -> None:
        """Take in that a group is gone."""
        self._changed[record.group] = None

    def forget(self, topic: str) -> None:
        """Take in that a topic is gone."""
        for name, group in self.all().items():
            kept = {key: group.committed[key] for key in group.committed if key[0] != topic}
            if len(kept) < len(group.committed):
                details = {key: group.details[key] for key in group.details if key[0] != topic}
                self._changed[name] = replace(group, committed=kept, details=details)

    def apply(self) -> GroupsImage:
        """The next image."""
        return GroupsImage(groups=self.all()) if self._changed else self._image


class QuotasDelta:
    """Changes of client quotas."""

    def __init__(self, image: QuotasImage) -> None:
        self._image = image
        self._changed: dict[ClientQuotaEntity, dict[str, float]] = {}

    def of(self, entity: ClientQuotaEntity) -> dict[str, float]:
        if entity in self._changed:
            return self._changed[entity]
        return dict(self._image.quotas.get(entity, {}))

    def replay(self, record: ClientQuotaRecord) -> None:
        """Take in one quota."""
        self._changed[record.entity] = with_value(self.of(record.entity), record.key, record.value)

    def apply(self) -> QuotasImage:
        """The next image."""
        if not self._changed:
            return self._image
        merged = {**self._image.quotas, **self._changed}
        return QuotasImage(quotas={entity: quotas for entity, quotas in merged.items() if quotas})


class TransactionsDelta:
    """Changes of producers and their transactions."""

    def __init__(self, image: TransactionsImage) -> None:
        self._image = image
        self._changed: dict[str, TransactionImage] = {}
        self.next_producer_id = image.next_producer_id

    def get(self, transactional_id: str) -> TransactionImage | None:
        """The producer that may write under this physical id."""
        return self._changed.get(transactional_id) or self._image.by_id.get(transactional_id)

    def open(self) -> frozenset[str]:
        """The physical ids of which a transaction is open."""
        held = {**self._image.by_id, **self._changed}
        return frozenset(name for name, transaction in held.items() if transaction.open)

    def replay(
        self, record: ProducerIdsRecord | TransactionRecord | TransactionContentsRecord
    ) -> None:
        """Take in an assigned producer id, or a change to a transactional id."""
        match record:
            case ProducerIdsRecord():
                self.next_producer_id = record.next_producer_id
            case TransactionRecord():
                held = self.get(record.transactional_id)
                self._changed[record.transactional_id] = TransactionImage(
                    producer_id=record.producer_id,
                    epoch=record.epoch,
                    open=record.open,
                    contents=held.contents if held else TransactionContents(),
                )
            case TransactionContentsRecord():
                held = self.get(record.transactional_id)
                if held is None:
                    raise ValueError(f"no producer has {record.transactional_id}")
                changed = replace(held, contents=record.contents)
                self._changed[record.transactional_id] = changed

    def apply(self) -> TransactionsImage:
        """The next image."""
        if not self._changed and self.next_producer_id == self._image.next_producer_id:
            return self._image
        return TransactionsImage(
            next_producer_id=self.next_producer_id, by_id={**self._image.by_id, **self._changed}
        )
