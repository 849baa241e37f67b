"""The objects of a cluster that are exactly as their owner last applied them."""

from collections.abc import Mapping

from msgspec import Struct
from msgspec.structs import replace

from kgitops.cluster.snapshot import SnapshotCluster
from kgitops.desired.last_applied import ORIGIN
from kgitops.desired.state import DesiredState, ManagedScope, Project, Safety
from kgitops.fleet.tables.desired_header import DesiredPlace
from kgitops.model.cluster_state import ClusterState
from kgitops.model.json.declared import DesiredConfigs, DesiredObject, DesiredTopic, declared_object
from kgitops.model.registry import Owner
from kgitops.model.resources.acls import AclBinding, PatternType
from kgitops.model.resources.names import REGISTRY_TOPIC
from kgitops.model.source import Source
from kgitops.plan.planner import base_of, make_plan

_EVERYONE = Project(name="everyone")
_NO_LIMITS = Safety(replication_throttle=0)
_IN_REGISTRY = DesiredPlace(Source("registry", 1, 1))
"""Takes the place of documents; no output shows it."""


class UnchangedObjects(Struct, frozen=True, kw_only=True):
    """The ``objects`` of a state that need no comparison, by address, each as it was applied.

    ``base_digest`` is the whole state's, as a plan has it.
    """

    objects: Mapping[str, DesiredObject]
    base_digest: str


def unchanged_objects(state: ClusterState) -> UnchangedObjects:
    """Find the objects that their owner's plan would not mention.

    The planner itself decides, for all owners at once: a project that declares again what it last
    applied gets no change, drift or finding about these objects.
    """
    if state.registry is None:
        return UnchangedObjects(objects={}, base_digest=base_of(state).digest)
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
    # A finding does not name its object, so after one every object is compared.
    has_findings = bool(plan.findings or plan.refusals)
    touched = {change.address for change in plan.changes} | {row.address for row in plan.drift}
    objects = {
        item.address: item
        for item in desired.objects
        if not has_findings and item.address not in touched and not _in_motion(item, state)
    }
    return UnchangedObjects(objects=objects, base_digest=plan.base.digest)


def _as_applied(owners: Mapping[str, Owner]) -> DesiredState:
    """The state of ``desired_from_registry``, without a digest of it, which is not needed."""
    bare = DesiredState(
        project=_EVERYONE,
        scope=ManagedScope(whole=True),
        safety=_NO_LIMITS,
        principal="User:nobody",
        digest="",
    )
    return bare.with_objects(
        declared_object(address, owners[address].last_applied, _IN_REGISTRY)
        for address in sorted(owners)
        if ORIGIN not in owners[address].last_applied
    )


def _in_motion(item: DesiredObject, state: ClusterState) -> bool:
    """True if its plan also depends on offsets, a reassignment or a deletion that is under way."""
    if not isinstance(item, DesiredTopic):
        return False
    topic = state.topics.get(item.name)
    moving = topic is not None and (topic.reassigning or topic.marked_for_deletion)
    return moving or depends_on_offsets(item)


def depends_on_offsets(item: DesiredObject) -> bool:
    """True if its plan also depends on what states do not hold.

    For a topic these are the offsets at which its records begin; groups and config
    resources are in no state at all.
    """
    if isinstance(item, DesiredConfigs):
        return True
    return isinstance(item, DesiredTopic) and bool(item.delete_records_before)


def affects_others(binding: AclBinding) -> bool:
    """True for a binding on names other than its own, or on the registry."""
    literal = binding.pattern_type is PatternType.LITERAL
    return not literal or binding.scoped or binding.resource_name in ("*", REGISTRY_TOPIC)
