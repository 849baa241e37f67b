"""``kind: ConsumerGroup``: a group of the cluster, or one in a virtual cluster.

What a group commits is not compared: a reset is made once, when its declaration changes.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from datetime import UTC, datetime, timedelta
from typing import Annotated, Literal

from annotated_types import MinLen
from msgspec.structs import replace

from kgitops.desired.findings import Findings, Path
from kgitops.kinds.base import Requested, differing
from kgitops.kinds.configs import ConfigsKind, check_resource_name
from kgitops.kinds.exports import Exporting, ExportScope, Inline, Item, as_document, written_policy
from kgitops.kinds.resets import committed, offset_field, offset_path, planned_reset
from kgitops.manifests.kinds.fields import (
    MAX_INT64,
    Amounts,
    ErrorText,
    Flag,
    FreeText,
    IntKeys,
    IntRange,
    NotNull,
    PartitionId,
    Text,
    manifest,
)
from kgitops.manifests.kinds.parts import GroupMetadata
from kgitops.manifests.kinds.topic_profile import ConfigValue
from kgitops.manifests.yaml.document import Document, shown
from kgitops.model.json.declared import (
    DesiredGroup,
    DesiredMember,
    OffsetReset,
    last_applied,
    read_part,
)
from kgitops.model.registry import Json
from kgitops.model.requests import (
    AlterConfigResourceRequest,
    AlterConsumerGroupOffsetsRequest,
    DeleteConsumerGroupRequest,
    Request,
)
from kgitops.model.resources.addresses import group_address
from kgitops.model.resources.groups import FoundGroup
from kgitops.model.resources.kinds import GLOBAL_GROUP
from kgitops.model.resources.names import is_internal, topic_name_problem
from kgitops.model.source import Finding, Source
from kgitops.model.values import overlaid
from kgitops.plan.document import risks
from kgitops.plan.document.plan import Basis, Change, FieldChange
from kgitops.plan.phases import Phase
from kgitops.plan.removal import Removal, RemovalKind, remove
from kgitops.plan.shown_values import ContradictionError, Shown, Surroundings, requests_of

_RESET: Path = ("spec", "resetOffsets")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_IDLE: Mapping[str, str | None] = {"active": "false"}
Offset = Annotated[int, IntRange(0, MAX_INT64, 1500)]


@manifest
class ResetTarget:
    """A time or explicit offsets: exactly one of the two."""

    timestamp: Annotated[Text | None, NotNull()] = None
    """A time with its zone, such as 2026-11-01T00:00:00Z: the group goes to the first record of
    that time or later, and to the end where there is none."""
    offsets: Annotated[
        dict[Text, Annotated[dict[PartitionId, Offset], IntKeys(), MinLen(1)]] | None,
        NotNull(),
        MinLen(1),
    ] = None
    """Topic to partition id to the offset of the next record that the group reads."""


_TARGET = ErrorText(
    "earliest, latest, {timestamp: TIME} or {offsets: {TOPIC: {PARTITION: OFFSET}}}",
    "write one of these",
)


@manifest
class ResetOffsets:
    """The place to which a group is set once."""

    version: Annotated[Text, FreeText()]
    """Any text; changing it asks for the reset again."""
    to: Annotated[Literal["earliest", "latest"] | ResetTarget, _TARGET]
    """earliest, latest, a timestamp, or offsets."""
    topics: Annotated[list[Text] | None, NotNull(), MinLen(1)] = None
    """The topics of which all partitions are reset; explicit offsets name theirs themselves."""


@manifest
class ConsumerGroupSpec:
    """A consumer group."""

    configs: Annotated[dict[str, ConfigValue], NotNull(), Amounts()] = field(default_factory=dict)
    """Kafka's group configs by their own names, such as consumer.session.timeout.ms. Not in a
    virtual cluster."""
    reset_offsets: Annotated[ResetOffsets | None, NotNull()] = None
    """The offsets to commit once, while the group has no members. Not in a virtual cluster."""
    adopt: Annotated[Text | None, NotNull()] = None
    """In a virtual cluster: the existing global group that it replaces."""
    copy_offsets: Annotated[Flag | None, NotNull()] = None
    """In a virtual cluster: true (the default) copies the committed offsets of the adopted
    group."""
    deletion_policy: Annotated[Literal["Protect", "Delete", "Orphan"] | None, NotNull()] = None
    """The effect of removing this document: Delete deletes the group with its offsets, Orphan
    leaves it, Protect refuses the plan. The default is Protect; in a virtual cluster Orphan, which
    takes the group out of it."""


@manifest
class ConsumerGroup:
    """A consumer group, by its id; with metadata.virtualCluster, one in that virtual cluster.

    Example:
        apiVersion: kgitops/v1
        kind: ConsumerGroup
        metadata: {name: billing}
        spec:
          configs: {consumer.session.timeout.ms: 45000}
          resetOffsets:
            version: "2026-11"
            to: {timestamp: "2026-11-01T00:00:00Z"}
            topics: [orders]
          deletionPolicy: Protect
    """

    api_version: Literal["kgitops/v1"]
    """The version of this format."""
    kind: Literal["ConsumerGroup"]
    """The kind of the document."""
    metadata: GroupMetadata
    """The metadata of the document."""
    spec: ConsumerGroupSpec
    """The group."""


class ConsumerGroupKind(ConfigsKind[DesiredGroup]):
    """The consumer groups."""

    declares, changed = DesiredGroup, risks.GROUP_CONFIG
    adopted, removed = risks.GROUP_ADOPT, risks.GROUP_CONFIG_REMOVE
    forgotten, created = risks.GROUP_FORGET, (risks.GROUP_CREATE,)
    phases = Phase.GROUP, Phase.GROUP_REMOVE
    files, noun = "groups", "group config"
    lost = "the offsets of {} are lost", "consumer group"

    @classmethod
    def build(
        cls,
        declared: ConsumerGroup,
        document: Document,
        findings: Findings,
    ) -> Sequence[DesiredGroup | DesiredMember]:
        """Return the group that a document declares."""
        name, spec = declared.metadata.name, declared.spec
        check_resource_name(name, document, findings)
        for key, written in (("adopt", spec.adopt), ("copyOffsets", spec.copy_offsets)):
            if written is not None:
                findings.error(
                    document,
                    ("spec", key),
                    f"only a group of a virtual cluster has {key}",
                    "remove it, or add metadata.virtualCluster",
                    key=True,
                )
        group = cls.configured(declared, spec.configs, document, findings)
        reset = _reset(spec.reset_offsets, document, findings) if spec.reset_offsets else None
        return [replace(group, reset=reset)]

    def plan_one(self, item: DesiredGroup) -> None:
        """Plan the configs and the reset of a group."""
        context, record, found = self.context, last_applied(item), self._found(item.name)
        managed = context.ownership.last_applied(item.address)
        held, last = self.held(record), self.values(managed)
        if managed and found.exists:
            self.report_drift(item.address, item.configs, last, held)
        reset = planned_reset(context, item, found, managed)
        if reset is None:
            return
        if reset and found.active:
            context.stop(
                item.address, _active(item.located.at("spec", "resetOffsets"), item.address)
            )
            return
        requested = differing(item.configs, last, held)
        # Offsets first: a group that has got members is refused as a whole.
        requests: list[Request] = []
        if reset:
            requests.append(AlterConsumerGroupOffsetsRequest(group=item.name, topics=reset))
        if requested:
            requests += self.requests(record, requested)
        expected = {**self.expected(requested, held), **committed(reset, found)}
        if not found.exists:
            self._create(item, requests, expected, was_there=bool(last))
            return
        context.change(
            item,
            self.declares.kind,
            requests,
            before=self.view(record, held),
            expects=context.expect(item.address, fields={**expected, **(_IDLE if reset else {})}),
        )

    def _create(
        self,
        item: DesiredGroup,
        requests: list[Request],
        expected: Mapping[str, str | None],
        *,
        was_there: bool,
    ) -> None:
        """Plan a group of which there is nothing; one of configs only is no drift if it ended."""
        context = self.context
        owner_after = context.owner_after(item, adopted=False)
        if not requests and context.ownership.owner(item.address) == owner_after:
            return
        context.change(
            item,
            self.declares.kind,
            requests,
            owner_after=owner_after,
            expects=context.expect(item.address, exists=False, fields=expected),
            missing=was_there,
        )

    def remove_one(self, removal: Removal) -> None:
        """Delete the group, and the configs that were last applied."""
        record = removal.owner.last_applied
        found, held = self._found(record["name"]), self.held(record)
        there = found.known or bool(found.offsets)
        deletes = removal.kind is RemovalKind.DELETE
        if deletes and found.active:
            self.context.draft.findings.append(_active(removal.source, removal.address))
            return
        requested: Requested = dict.fromkeys(self.owned(record, held)) if deletes else {}
        requests: list[Request] = []
        if deletes and there:
            requests.append(DeleteConsumerGroupRequest(group=found.name))
        if requested:
            requests += self.requests(record, requested)
        expected = self.expected(requested, held)
        remove(
            self.context,
            removal,
            self.declares.kind,
            requests,
            before=self.view(record, held) if found.exists else None,
            expected={**expected, **_IDLE} if deletes and there else expected,
            basis=Basis(in_part=there and not requests),
        )

    def _found(self, name: str) -> FoundGroup:
        return self.current.find(FoundGroup, group_address(name)) or FoundGroup(name=name)

    @classmethod
    def export(cls, of: Exporting) -> list[Item]:
        """Return every group with configs, and every managed one."""
        return cls.exported(of, {})

    @classmethod
    def exported(cls, of: Exporting, left_out: Mapping[str, str]) -> list[Item]:
        """Return every group but those ``left_out``, by name with the reason.

        A reset of offsets is written as it was applied: a plan takes it for done.
        """
        items: list[Item] = []
        groups = {group.name: group for group in of.state.of(FoundGroup)}
        for name, group in sorted({**_without_configs(groups, of.scope), **groups}.items()):
            address = group_address(name)
            if name in left_out:
                of.notes.add(address, left_out[name])
                continue
            if not of.scope.may_declare(address):
                continue
            last = of.scope.last_applied(address)
            configs = cls.exported_configs(address, group.configs, last, of)
            if not configs and not last:
                of.notes.lost |= {address} if group.configs else set()
                continue
            reset = last.get("resetOffsets")
            spec: dict[str, Json] = {
                **({"configs": configs} if configs else {}),
                **({"resetOffsets": _reset_json(read_part(OffsetReset, reset))} if reset else {}),
                **written_policy(last),
            }
            items.append(Item(name, [as_document("ConsumerGroup", name, spec)]))
        return items

    @classmethod
    def shown(cls, change: Change, around: Surroundings) -> Shown:
        """Return what is shown; committed offsets are in the precondition, and so are checked."""
        del around
        requested: dict[str, str | None] = {}
        offsets: list[FieldChange] = []
        is_deleted = False
        for request in requests_of(change):
            match request:
                case AlterConfigResourceRequest(configs=configs):
                    requested |= configs
                case AlterConsumerGroupOffsetsRequest(topics=topics):
                    offsets += [
                        offset_field(
                            item.topic,
                            partition,
                            _committed(change, item.topic, partition),
                            offset,
                        )
                        for item in topics
                        for partition, offset in sorted(item.offsets.items())
                    ]
                case DeleteConsumerGroupRequest():
                    is_deleted = True
                case _:
                    raise ContradictionError("has a request for something else")
        fields = (*cls.changed_fields(change, requested), *offsets)
        removal = risks.GROUP_DELETE if is_deleted else risks.GROUP_CONFIG_REMOVE
        return cls.shown_as(
            change,
            overlaid(cls.held_before(change), requested),
            fields,
            removal=removal if change.requests else risks.GROUP_FORGET,
        )


def _active(source: Source | None, address: str) -> Finding:
    return Finding(
        source=source,
        problem=f"{address} has members, and kgitops changes a group only when it has none",
        advice="stop its consumers and plan again",
    )


def _committed(change: Change, topic: str, partition: int) -> int | None:
    path = offset_path(topic, partition)
    committed = [item.fields[path] for item in change.preconditions if path in item.fields]
    (text,) = committed
    return None if text is None else int(text)


def _reset(written: ResetOffsets, document: Document, findings: Findings) -> OffsetReset | None:
    """Return the reset; None if it does not say where to."""
    topics = tuple(sorted(set(written.topics or ())))
    _check_topics(topics, (*_RESET, "topics"), document, findings)
    if isinstance(written.to, str):
        _require_topics(topics, document, findings)
        return OffsetReset(version=written.version, position=written.to, topics=topics)
    at, offsets = written.to.timestamp, written.to.offsets
    if (at is None) == (offsets is None):
        problem = "the target has both a timestamp and offsets" if at else "the target is empty"
        findings.error(document, (*_RESET, "to"), problem, "write exactly one of the two")
        return None
    if offsets is not None:
        if topics:
            problem = "explicit offsets name their topics themselves"
            findings.error(document, (*_RESET, "topics"), problem, "remove topics", key=True)
        _check_topics(tuple(offsets), (*_RESET, "to", "offsets"), document, findings)
        return OffsetReset(version=written.version, offsets=offsets)
    _require_topics(topics, document, findings)
    timestamp_ms = _milliseconds(at or "")
    if timestamp_ms is None:
        findings.error(
            document,
            (*_RESET, "to", "timestamp"),
            f"{shown(at or '')} is not a time with its zone, from 1970 on",
            "write it as 2026-11-01T00:00:00Z, or with an offset such as +01:00",
        )
        return None
    return OffsetReset(version=written.version, timestamp_ms=timestamp_ms, topics=topics)


def _require_topics(topics: tuple[str, ...], document: Document, findings: Findings) -> None:
    if not topics:
        problem = "resetOffsets names no topics"
        findings.error(document, _RESET, problem, "add topics: those whose offsets are reset")


def _check_topics(
    topics: tuple[str, ...], path: Path, document: Document, findings: Findings
) -> None:
    for topic in topics:
        problem: str | None = topic_name_problem(topic)
        if problem is None and is_internal(topic):
            problem = f"the topic {topic} is internal"
        if problem:
            findings.error(document, path, problem, "name topics that the group reads")


def _milliseconds(text: str) -> int | None:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    if moment.tzinfo is None or moment < _EPOCH:
        return None
    return (moment - _EPOCH) // timedelta(milliseconds=1)


def _without_configs(
    groups: Mapping[str, FoundGroup], scope: ExportScope
) -> Mapping[str, FoundGroup]:
    """The managed groups that no consumer has used yet: without configs, nothing is gone."""
    found: dict[str, FoundGroup] = {}
    for address in scope.ownership.mine(GLOBAL_GROUP):
        last = scope.last_applied(address)
        if not last["configs"] and last["name"] not in groups:
            found[last["name"]] = FoundGroup(name=last["name"])
    return found


def _reset_json(reset: OffsetReset) -> dict[str, Json]:
    """The declaration of a reset that ``_reset`` reads back the same."""
    return {
        "version": reset.version,
        "to": _target(reset),
        **({"topics": list(reset.topics)} if reset.topics else {}),
    }


def _target(reset: OffsetReset) -> Json:
    if reset.offsets:
        return {"offsets": dict(_explicit(reset))}
    if reset.timestamp_ms is not None:
        moment = _EPOCH + timedelta(milliseconds=reset.timestamp_ms)
        return Inline({"timestamp": moment.isoformat().replace("+00:00", "Z")})
    return reset.position


def _explicit(reset: OffsetReset) -> Iterator[tuple[str, Json]]:
    for topic, offsets in sorted(reset.offsets.items()):
        yield topic, {partition: offsets[partition] for partition in sorted(offsets)}
