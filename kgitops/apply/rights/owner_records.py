"""The ownership record that a change leaves in the registry: derived, never taken from the plan.

The owner, the topic id and the spent Tombstones follow from the live registry and from the change.
Only the declaration comes from the plan: it must be a declaration of this very object, and true of
it once the change is done (``request_fit``).
"""

from collections.abc import Mapping

from kgitops.desired.last_applied import ORIGIN, RegistrySource, declared_object
from kgitops.desired.state import (
    DeletionPolicy,
    DesiredAcl,
    DesiredClientMetrics,
    DesiredCredential,
    DesiredGroup,
    DesiredLink,
    DesiredMember,
    DesiredObject,
    DesiredQuota,
    DesiredTopic,
    DesiredUser,
    DesiredVirtualCluster,
    OffsetReset,
)
from kgitops.model.registry import Json, Owner
from kgitops.model.resources.addresses import (
    acl_address,
    client_metrics_address,
    group_address,
    local_topic_address,
    member_address,
    quota_address,
    topic_address,
    user_address,
    virtual_cluster_address,
)
from kgitops.model.resources.users import MAX_ITERATIONS, MIN_ITERATIONS
from kgitops.model.resources.virtual_clusters import EntityType, LocalName
from kgitops.plan.document.plan import Action, Change, Plan
from kgitops.plan.normal_form import last_applied
from kgitops.plan.ownership import EXECUTED_TOMBSTONES, Ownership, OwnershipStatus
from kgitops.plan.removal import after_removal


def gives_up(change: Change) -> bool:
    """Return whether the project gives the object up."""
    return Action.DELETE in change.actions or Action.FORGET in change.actions


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


def expected_record(
    change: Change,
    declared: DesiredObject | None,
    ownership: Ownership,
    plan: Plan,
    *,
    topic_id: str | None,
    made: bool = False,
) -> Owner | None:
    """Derive the record after the change; where ``declared`` is None the object is given up.

    ``topic_id`` is the live topic's; it is None for other objects and for new topics (``made``).
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


def recorded_declaration(change: Change) -> DesiredObject | None:
    """Read the declaration in the record after the change; None where the object is given up.

    Raises:
        ValueError: it is not a declaration of the change's object.
    """
    if change.owner_after is None or change.owner_after.spent:
        return None
    recorded = {
        key: value
        for key, value in change.owner_after.last_applied.items()
        if key not in (EXECUTED_TOMBSTONES, ORIGIN)
    }
    try:
        item = declared_object(change.address, recorded, RegistrySource(change.address))
        same = last_applied(item) == recorded and _address(item) == change.address
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise ValueError(f"would record something that is not a declaration ({error})") from error
    if not same or not _well_typed(item, recorded):
        raise ValueError("would record something that is not its declaration")
    return item


def _address(item: DesiredObject) -> str:
    """Return the address that follows from the declaration itself."""
    match item:
        case DesiredTopic(virtual_cluster=None):
            return topic_address(item.name)
        case DesiredTopic(virtual_cluster=str() as at):
            return local_topic_address(LocalName(at, item.name))
        case DesiredAcl():
            return acl_address(item.binding)
        case DesiredQuota():
            return quota_address(item.entity)
        case DesiredUser():
            return user_address(item.name)
        case DesiredGroup():
            return group_address(item.name)
        case DesiredClientMetrics():
            return client_metrics_address(item.name)
        case DesiredVirtualCluster():
            return virtual_cluster_address(item.name)
        case DesiredLink():
            return member_address(item.local.virtual_cluster, EntityType.TOPIC, item.local.name)
        case DesiredMember():
            return member_address(item.virtual_cluster, item.entity_type, item.name)
        case _:
            raise TypeError("a topic without a virtual cluster")


def _well_typed(item: DesiredObject, recorded: Mapping[str, Json]) -> bool:
    """Return whether values have types that a document can give, and the policy is the default."""
    written = recorded["deletionPolicyWritten"]
    if not isinstance(written, bool) or not (written or item.deletion_policy in _default(item)):
        return False
    match item:
        case DesiredTopic():
            assigned = [broker for replicas in item.assignment or () for broker in replicas]
            numbers = [item.partitions, item.replication_factor, *assigned]
            texts = [*item.share_with, *item.configs, *item.configs.values()]
            return all(type(it) is int for it in numbers) and all(type(it) is str for it in texts)
        case DesiredGroup():
            return _are_texts(item.configs) and (item.reset is None or _is_typed(item.reset))
        case DesiredClientMetrics():
            return _are_texts(item.configs)
        case DesiredMember():
            flags = (item.move, item.copy_offsets)
            named = (item.copy_acls_from, item.remove_old_acls_from, item.adopt)
            return all(isinstance(it, bool) for it in flags) and all(
                it is None or isinstance(it, str) for it in named
            )
        case DesiredUser():
            return bool(item.credentials) and all(map(_is_credential, item.credentials.values()))
        case DesiredVirtualCluster():
            return isinstance(item.options.deny_wins, bool)
        case DesiredLink():
            return item.topic is None or isinstance(item.topic, str)
        case _:
            return True


def _is_credential(credential: DesiredCredential) -> bool:
    iterations, version = credential.iterations, credential.version
    allowed = type(iterations) is int and MIN_ITERATIONS <= iterations <= MAX_ITERATIONS
    return allowed and (version is None or isinstance(version, str))


def _are_texts(configs: Mapping[str, str]) -> bool:
    return all(type(it) is str for it in (*configs, *configs.values()))


def _is_typed(reset: OffsetReset) -> bool:
    texts = [reset.version, *reset.topics, *([reset.position] if reset.position else [])]
    whither = [reset.position, reset.timestamp_ms, reset.offsets or None]
    known = reset.position in (None, "earliest", "latest")
    one = sum(it is not None for it in whither) == 1
    return known and one and all(type(it) is str for it in texts)


def _default(item: DesiredObject) -> tuple[DeletionPolicy, ...]:
    """Return the default deletionPolicy; for a group the two values are equivalent."""
    match item:
        case DesiredTopic() | DesiredUser() | DesiredVirtualCluster() | DesiredGroup():
            return (DeletionPolicy.PROTECT,)
        case DesiredMember(entity_type=EntityType.GROUP):
            return DeletionPolicy.ORPHAN, DeletionPolicy.DELETE
        case _:
            return (DeletionPolicy.DELETE,)
