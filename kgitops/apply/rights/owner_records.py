"""The record that a change leaves in the registry: derived, never taken from a plan's word.

Who owns an object, which topic it was and which Tombstones were spent follow from the live registry
and from what the change does. What the project declared is the one thing that only a plan can tell:
it must be a declaration of this very object, and true of it once the change is done (``fitting``).
"""

from collections.abc import Mapping

from kgitops.desired.last_applied import declared_object
from kgitops.desired.state import (
    DeletionPolicy,
    DesiredAcl,
    DesiredLink,
    DesiredMember,
    DesiredObject,
    DesiredQuota,
    DesiredTopic,
    DesiredVirtualCluster,
)
from kgitops.model.registry import Json, Owner
from kgitops.model.resources.addresses import (
    acl_address,
    local_topic_address,
    member_address,
    quota_address,
    topic_address,
    virtual_cluster_address,
)
from kgitops.model.resources.virtual_clusters import EntityType, LocalName
from kgitops.model.source import Source
from kgitops.plan.document.plan import Action, Change, Plan
from kgitops.plan.normal_form import last_applied
from kgitops.plan.ownership import EXECUTED_TOMBSTONES, Ownership, OwnershipStatus
from kgitops.plan.removal import after_removal

ORIGIN = "origin"
"""In ``last_applied`` of an ACL: the member for which it was copied, and from where."""


class Nowhere:
    """Stands where a document would: nobody is shown it."""

    @property
    def source(self) -> Source:
        """No file."""
        return Source("plan", 1, 1)

    def at(self, *path: str | int) -> Source:
        """No file, whatever it is about."""
        del path
        return self.source


def leaves(change: Change) -> bool:
    """True if the project gives the object up."""
    return Action.DELETE in change.actions or Action.FORGET in change.actions


def new_tombstone(change: Change, ownership: Ownership) -> str | None:
    """The Tombstone that the change spends; None where it spends none."""
    after, marks = change.owner_after, ownership.executed_tombstones(change.address)
    if after is None or not after.spent:
        return None
    told = after.last_applied.get(EXECUTED_TOMBSTONES)
    if not isinstance(told, list) or len(told) != len(marks) + 1:
        return None
    name = told[-1]
    return name if isinstance(name, str) and name not in marks else None


def record_after(
    change: Change,
    declared: DesiredObject | None,
    ownership: Ownership,
    plan: Plan,
    *,
    topic_id: str | None,
    made: bool = False,
) -> Owner | None:
    """The record that the change earns; where ``declared`` is None the object leaves.

    ``topic_id`` is the live topic's, None of any other object and of one that is ``made``.
    """
    live = ownership.owner(change.address)
    if declared is None:
        return after_removal(live, new_tombstone(change, ownership)) if live else None
    marks = list(ownership.executed_tombstones(change.address))
    origin = change.owner_after.last_applied.get(ORIGIN) if change.owner_after else None
    mine = ownership.status(change.address) is OwnershipStatus.MINE
    stays = bool(mine and not made and live and live.adopted)
    return Owner(
        project=plan.desired.identity,
        topic_id=topic_id,
        adopted=Action.ADOPT in change.actions or stays,
        last_applied={
            **last_applied(declared),
            **({ORIGIN: origin} if origin is not None else {}),
            **({EXECUTED_TOMBSTONES: marks} if marks else {}),
        },
    )


def declared_by(change: Change) -> DesiredObject | None:
    """The declaration in the record after the change; None where the object leaves.

    Raises:
        ValueError: it is no declaration of the change's object.
    """
    if change.owner_after is None or change.owner_after.spent:
        return None
    told = {
        key: value
        for key, value in change.owner_after.last_applied.items()
        if key not in (EXECUTED_TOMBSTONES, ORIGIN)
    }
    try:
        item = declared_object(change.address, told, Nowhere())
        same = last_applied(item) == told and _address(item) == change.address
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise ValueError(f"what would be remembered of it is no declaration ({error})") from error
    if not same or not _well_typed(item, told):
        raise ValueError("what would be remembered is no declaration of it")
    return item


def _address(item: DesiredObject) -> str:
    """The address by the declaration itself, whatever address it is filed under."""
    match item:
        case DesiredTopic(virtual_cluster=None):
            return topic_address(item.name)
        case DesiredTopic(virtual_cluster=str() as at):
            return local_topic_address(LocalName(at, item.name))
        case DesiredAcl():
            return acl_address(item.binding)
        case DesiredQuota():
            return quota_address(item.entity)
        case DesiredVirtualCluster():
            return virtual_cluster_address(item.name)
        case DesiredLink():
            return member_address(item.local.virtual_cluster, EntityType.TOPIC, item.local.name)
        case DesiredMember():
            return member_address(item.virtual_cluster, item.entity_type, item.name)
        case _:
            raise TypeError("a topic of no virtual cluster")


def _well_typed(item: DesiredObject, told: Mapping[str, Json]) -> bool:
    """True if values are of the types that a document can give, and the policy the default one."""
    written = told["deletionPolicyWritten"]
    if not isinstance(written, bool) or not (written or item.deletion_policy in _default(item)):
        return False
    match item:
        case DesiredTopic():
            assigned = [broker for replicas in item.assignment or () for broker in replicas]
            numbers = [item.partitions, item.replication_factor, *assigned]
            texts = [*item.share_with, *item.configs, *item.configs.values()]
            return all(type(it) is int for it in numbers) and all(type(it) is str for it in texts)
        case DesiredMember():
            flags = (item.move, item.copy_offsets)
            named = (item.copy_acls_from, item.remove_old_acls_from, item.adopt)
            return all(isinstance(it, bool) for it in flags) and all(
                it is None or isinstance(it, str) for it in named
            )
        case DesiredVirtualCluster():
            return isinstance(item.options.deny_wins, bool)
        case DesiredLink():
            return item.topic is None or isinstance(item.topic, str)
        case _:
            return True


def _default(item: DesiredObject) -> tuple[DeletionPolicy, ...]:
    """The deletionPolicy of a document that writes none; for a group the two come to the same."""
    match item:
        case DesiredTopic() | DesiredVirtualCluster():
            return (DeletionPolicy.PROTECT,)
        case DesiredMember(entity_type=EntityType.GROUP):
            return DeletionPolicy.ORPHAN, DeletionPolicy.DELETE
        case _:
            return (DeletionPolicy.DELETE,)
