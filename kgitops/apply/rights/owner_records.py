"""The record of an object in a plan: a declaration of this very object, or a Tombstone.

All else in the record follows from these and from the live registry (``rights.replan``).
"""

from kgitops.desired.last_applied import ORIGIN, RegistrySource
from kgitops.model.json.declared import (
    DesiredGroup,
    DesiredMember,
    DesiredObject,
    DesiredTopic,
    DesiredUser,
    OffsetReset,
    check_declaration,
    declared_object,
    last_applied,
)
from kgitops.model.resources.kinds import Kind
from kgitops.model.resources.users import MAX_ITERATIONS, MIN_ITERATIONS
from kgitops.model.resources.virtual_clusters import EntityType
from kgitops.plan.document.plan import Change
from kgitops.plan.ownership import EXECUTED_TOMBSTONES, Ownership


def new_tombstone(change: Change, ownership: Ownership) -> str | None:
    """Return the Tombstone that the change spends, or None."""
    after, marks = change.owner_after, ownership.executed_tombstones(change.address)
    if after is None or not after.spent:
        return None
    tombstones = after.last_applied.get(EXECUTED_TOMBSTONES)
    if not isinstance(tombstones, list) or len(tombstones) != len(marks) + 1:
        return None
    name = tombstones[-1]
    return name if isinstance(name, str) and name not in marks else None


def recorded_declaration(change: Change) -> DesiredObject | None:
    """Read the declaration in the record after the change; None where the object is given up.

    Raises:
        ValueError: it is not a declaration of the change's object.
    """
    if change.owner_after is None or change.owner_after.spent:
        return None
    added = (EXECUTED_TOMBSTONES, ORIGIN) if change.kind is Kind.ACL else (EXECUTED_TOMBSTONES,)
    recorded = {
        key: value for key, value in change.owner_after.last_applied.items() if key not in added
    }
    try:
        check_declaration(change.address, change.owner_after)
        item = declared_object(change.address, recorded, RegistrySource(change.address))
        same = last_applied(item) == recorded and item.own_address == change.address
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise ValueError(f"would record something that is not a declaration ({error})") from error
    if not same or not _can_be_written(item):
        raise ValueError("would record something that is not its declaration")
    return item


def _can_be_written(item: DesiredObject) -> bool:
    """Return whether a document can give these values, and the policy is written or the default."""
    if not (item.deletion_policy_written or item.has_default_policy):
        return False
    match item:
        case DesiredTopic():
            return _has_one_size(item) and _in_order(item.share_with)
        case DesiredUser():
            rounds = [credential.iterations for credential in item.credentials.values()]
            return bool(rounds) and all(MIN_ITERATIONS <= it <= MAX_ITERATIONS for it in rounds)
        case DesiredGroup():
            return item.reset is None or _has_target(item.reset)
        case DesiredMember():
            return _has_own_fields(item)
        case _:
            return True


def _has_one_size(topic: DesiredTopic) -> bool:
    """Return whether declared assignments give the declared size, for each partition."""
    if topic.assignment is None:
        return True
    sizes = {len(replicas) for replicas in topic.assignment}
    return len(topic.assignment) == topic.partitions and sizes == {topic.replication_factor}


def _in_order(names: tuple[str, ...]) -> bool:
    return names == tuple(sorted(set(names)))


def _has_own_fields(member: DesiredMember) -> bool:
    """Return whether the member has no field that only members of another type have."""
    kind, sources = member.entity_type, (member.copy_acls_from, member.remove_old_acls_from)
    if member.move and kind not in (EntityType.USER, EntityType.CLIENT_ID):
        return False
    if not member.copy_offsets and member.adopt is None:
        return False
    if kind is not EntityType.USER and any(sources):
        return False
    return member.virtual_cluster not in sources


def _has_target(reset: OffsetReset) -> bool:
    """Return whether the reset leads to exactly one target that kgitops knows."""
    targets = (reset.position, reset.timestamp_ms, reset.offsets or None)
    known = reset.position in (None, "earliest", "latest")
    named = bool(reset.topics) != bool(reset.offsets) and _in_order(reset.topics)
    return known and named and sum(it is not None for it in targets) == 1
