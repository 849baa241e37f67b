"""Which objects of a cluster are exactly as their owner last applied them."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from kgitops.cluster.snapshot import SnapshotCluster
from kgitops.desired.last_applied import declared_object, with_objects
from kgitops.desired.state import (
    DesiredObject,
    DesiredState,
    DesiredTopic,
    ManagedScope,
    Project,
    Safety,
)
from kgitops.fleet.tables.desired_header import Place
from kgitops.model.cluster_state import ClusterState
from kgitops.model.registry import Owner
from kgitops.model.resources.acls import AclBinding, PatternType
from kgitops.model.resources.names import REGISTRY_TOPIC
from kgitops.model.source import Source
from kgitops.plan.planner import base_of, make_plan

_EVERYONE = Project(name="everyone")
_NO_LIMITS = Safety(replication_throttle=0)
_IN_REGISTRY = Place(Source("registry", 1, 1))
"""Stands where documents would; nobody is shown it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settled:
    """Of a state, ``objects`` by address that need no second look, each as it was applied.

    ``base_digest`` is the whole state's, as a plan has it.
    """

    objects: Mapping[str, DesiredObject]
    base_digest: str


def settled_objects(state: ClusterState) -> Settled:
    """The objects about which their owner's plan would say nothing.

    The planner itself decides, for all owners at once: whoever declares again what was last applied
    gets no change, no drift and no word about these objects.
    """
    if state.registry is None:
        return Settled(objects={}, base_digest=base_of(state).digest)
    merged = {
        address: Owner(
            project=_EVERYONE.identity,
            last_applied=owner.last_applied,
            topic_id=owner.topic_id,
            adopted=owner.adopted,
        )
        for address, owner in state.registry.owners.items()
        if not owner.spent
    }
    registry = replace(state.registry, projects={}, owners=merged)
    desired = _as_applied(merged)
    plan = make_plan(
        desired,
        replace(state, registry=registry),
        target_name="",
        capabilities=SnapshotCluster(state).capabilities,
        advise=False,
    )
    # Whom a finding is about is not known, so that then each is looked at again.
    said = bool(plan.findings or plan.refusals)
    touched = {change.address for change in plan.changes} | {row.address for row in plan.drift}
    settled = {
        item.address: item
        for item in desired.objects
        if not said and item.address not in touched and not _runs(item, state)
    }
    return Settled(objects=settled, base_digest=plan.base.digest)


def _as_applied(owners: Mapping[str, Owner]) -> DesiredState:
    """What ``desired_from_registry`` gives, without a digest of it all, which nobody asks for."""
    bare = DesiredState(
        project=_EVERYONE,
        scope=ManagedScope(whole=True),
        safety=_NO_LIMITS,
        principal="User:nobody",
        digest="",
    )
    return with_objects(
        bare,
        [
            declared_object(address, owners[address].last_applied, _IN_REGISTRY)
            for address in sorted(owners)
            if "origin" not in owners[address].last_applied
        ],
    )


def _runs(item: DesiredObject, state: ClusterState) -> bool:
    """Whether more than what is remembered decides about it: offsets, and what runs now."""
    if not isinstance(item, DesiredTopic):
        return False
    topic = state.topics.get(item.name)
    runs = topic is not None and (topic.reassigning or topic.marked_for_deletion)
    return runs or moves_on(item)


def moves_on(item: DesiredObject) -> bool:
    """Whether more than is declared decides about it: where a topic's records begin."""
    return isinstance(item, DesiredTopic) and bool(item.delete_records_before)


def reaches_others(binding: AclBinding) -> bool:
    """Whether it counts for names other than its own, or for the registry."""
    literal = binding.pattern_type is PatternType.LITERAL
    return not literal or binding.scoped or binding.resource_name in ("*", REGISTRY_TOPIC)
