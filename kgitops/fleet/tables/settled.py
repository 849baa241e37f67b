"""Which objects of a cluster are exactly as their owner last applied them."""

from collections.abc import Mapping
from dataclasses import replace

from kgitops.cluster.snapshot import SnapshotCluster
from kgitops.desired.last_applied import desired_from_registry
from kgitops.desired.state import DesiredObject, DesiredTopic, Project, Safety
from kgitops.fleet.tables.fingerprints import fingerprint
from kgitops.model.acls import AclBinding, PatternType
from kgitops.model.cluster_state import ClusterState
from kgitops.model.names import REGISTRY_TOPIC
from kgitops.plan.normal_form import last_applied
from kgitops.plan.planner import make_plan

_EVERYONE = Project(name="everyone")
_NO_LIMITS = Safety(replication_throttle=0)


def settled_fingerprints(state: ClusterState) -> Mapping[str, bytes]:
    """The fingerprint of each object, by address, about which its owner's plan would say nothing.

    The planner itself decides, for all owners at once: whoever declares again what was last applied
    gets no change, no drift and no word about these objects.
    """
    if state.registry is None:
        return {}
    owners = state.registry.owners
    merged = {
        address: replace(owner, project=_EVERYONE.identity)
        for address, owner in owners.items()
        if not owner.spent
    }
    registry = replace(state.registry, projects={}, owners=merged)
    desired = desired_from_registry(_EVERYONE, registry, safety=_NO_LIMITS, principal="User:nobody")
    plan = make_plan(
        desired,
        replace(state, registry=registry),
        target_name="",
        capabilities=SnapshotCluster(state).capabilities,
        advise=False,
    )
    if plan.findings or plan.refusals:
        return {}  # of whom that is about is not known, so each is looked at again
    touched = {change.address for change in plan.changes} | {row.address for row in plan.drift}
    return {
        item.address: fingerprint(owners[item.address].project, item.address, last_applied(item))
        for item in desired.objects
        if item.address not in touched and not _runs(item, state)
    }


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
