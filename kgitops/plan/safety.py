"""Limits on deletions by one plan (contract §2), checked at plan and again at apply."""

import shlex
from collections.abc import Iterable, Mapping, Sequence, Set

from kgitops.desired.last_applied import ORIGIN
from kgitops.desired.state import DesiredState, Safety
from kgitops.model.cluster_state import ClusterState
from kgitops.model.json.declared import binding_of
from kgitops.model.registry import Owner
from kgitops.model.requests import AlterBrokerRequest, DeleteAclRequest
from kgitops.model.resources.acls import ResourceType
from kgitops.model.resources.addresses import (
    broker_address,
    kind_of,
    local_topic_address,
    member_address,
)
from kgitops.model.resources.kinds import KIND_OF_SORT, Kind
from kgitops.model.resources.virtual_clusters import EntityType, LocalName
from kgitops.model.source import Finding, Severity
from kgitops.model.verdict import ExitCode, Reason
from kgitops.plan.document.plan import Action, Change, Kept, PlannedRequest
from kgitops.plan.ownership import Ownership
from kgitops.plan.removal import PROTECTED

_PERCENT_FROM = 5
_NOT_COUNTED = (Kind.LINK, Kind.BROKER)
_ALWAYS = (Kind.TOPIC, Kind.ACL, Kind.QUOTA)


def counted_as(kind: str) -> Kind | None:
    """Return the kind that addresses of this kind (``kind_of``) count as; None if as none."""
    counted = KIND_OF_SORT.get(kind)
    return None if counted in _NOT_COUNTED else counted


def managed_counts(ownership: Ownership) -> Mapping[str, int]:
    """Count the managed objects of each kind, which the percentage limit refers to."""
    counts = dict.fromkeys(map(str, _ALWAYS), 0)
    for address in ownership.mine():
        kind = counted_as(kind_of(address))
        if kind and ORIGIN not in ownership.owners[address].last_applied:
            counts[str(kind)] = counts.get(kind, 0) + 1
    return counts


def deletion_limits(
    changes: Iterable[Change], managed: Mapping[str, int], safety: Safety
) -> tuple[Reason, ...]:
    """Return a reason for each exceeded limit; only ``--allow-deletes KIND=N`` overrides it."""
    deletions: dict[Kind, int] = {}
    changes = tuple(changes)
    changed = frozenset(change.address for change in changes)
    for change in changes:
        if Action.DELETE in change.actions and not _goes_along(change, changed):
            deletions[change.kind] = deletions.get(change.kind, 0) + 1
    reasons = []
    for kind, count in sorted(deletions.items()):
        if count <= safety.allow_deletes.get(kind, 0):
            continue
        total = max(managed.get(kind, 0), count)
        limit = None
        if count > safety.max_deletes:
            limit = f"safety.maxDeletes is {safety.max_deletes}"
        elif count >= _PERCENT_FROM and count * 100 > safety.max_delete_percent * total:
            limit = f"safety.maxDeletePercent is {safety.max_delete_percent}, of {total} managed"
        if limit:
            reasons.append(
                Reason(
                    exit=ExitCode.REFUSED,
                    sentence=f"the plan deletes {_objects(count)} of kind {kind}, but {limit}; if "
                    f"that is what should go, pass --allow-deletes {kind}={count}",
                )
            )
    return tuple(reasons)


def _goes_along(change: Change, changed: Set[str]) -> bool:
    """Return whether the object goes because another one changes, which a review sees and counts.

    A copied ACL goes with its member, or with the link that it names: while neither changes,
    nothing of the plan explains why it should go.
    """
    owner = change.owner_before
    copied = owner if owner and ORIGIN in owner.last_applied else None
    if copied is None or any(map(_is_migrated, change.requests)):
        return change.kind is Kind.LINK or bool(change.derived_from)
    return not changed.isdisjoint({*change.derived_from, *_names_of(copied)})


def _is_migrated(planned: PlannedRequest) -> bool:
    request = planned.request
    return isinstance(request, DeleteAclRequest) and request.migrated_to is not None


def _names_of(owner: Owner) -> Sequence[str]:
    """Return the addresses of the local topic that a copied ACL names, and of its link."""
    binding = binding_of(owner.last_applied)
    if binding.resource_type is not ResourceType.TOPIC:
        return ()
    local = LocalName(binding.virtual_cluster, binding.resource_name)
    return (
        local_topic_address(local),
        member_address(local.virtual_cluster, EntityType.TOPIC, local.name),
    )


def throttle_reasons(
    changes: Iterable[Change], current: ClusterState, safety: Safety
) -> tuple[Reason, ...]:
    """Return a reason for each broker whose replicas would move at another rate than declared.

    A broker that is throttled already keeps its throttle.
    """
    declared = str(safety.replication_throttle)
    brokers = {broker_address(broker.id): broker for broker in current.brokers}
    return tuple(
        Reason(
            exit=ExitCode.STALE,
            sentence=f"the plan sets {key} of {change.address} to {value}, but "
            f"spec.safety.replicationThrottle is {declared} now; make a new plan",
        )
        for change in changes
        for key, value in _limits_set(change)
        if value not in (declared, (brokers[change.address].throttles or {}).get(key))
    )


def _limits_set(change: Change) -> Iterable[tuple[str, str | None]]:
    for planned in change.requests:
        if isinstance(planned.request, AlterBrokerRequest) and planned.undoes is None:
            yield from planned.request.configs.items()


def empty_folder_refusals(
    changes: Sequence[Change],
    kept: Iterable[Kept],
    desired: DesiredState,
    *,
    removes_all: bool = False,
) -> tuple[Reason, ...]:
    """Refuse to remove objects, also protected ones, while files of the manifests may be missing.

    Only ``--allow-empty-folder`` overrides it.
    """
    removed = {
        action: sum(action in change.actions for change in changes)
        for action in (Action.DELETE, Action.FORGET)
    }
    counts = [f"{action}s {_objects(count)}" for action, count in removed.items() if count]
    if not (counts or removes_all or any(each.rule == PROTECTED for each in kept)):
        return ()
    removes = f"the plan {' and '.join(counts)}" if counts else "the plan would remove objects"
    return tuple(
        Reason(
            exit=ExitCode.REFUSED,
            sentence=f"{removes}, but {empty.problem}; {empty.advice}, or, if that is what should "
            f"go, pass --allow-empty-folder {shlex.quote(empty.folder)}",
        )
        for empty in desired.empty_folders
        if empty.folder not in desired.safety.allow_empty_folders
    )


def unused_allowances(desired: DesiredState) -> tuple[Finding, ...]:
    """Warn of each ``--allow-empty-folder`` that names no empty folder: it may be misspelt."""
    known = {empty.folder for empty in desired.empty_folders}
    return tuple(
        Finding(
            source=None,
            problem=f"--allow-empty-folder {folder}: no such folder below the manifests is empty",
            advice="drop the option, or correct the path",
            severity=Severity.WARNING,
        )
        for folder in desired.safety.allow_empty_folders
        if folder not in known
    )


def _objects(count: int) -> str:
    return "1 object" if count == 1 else f"{count} objects"


def empty_desired(desired: DesiredState, ownership: Ownership) -> Reason | None:
    """Refuse a whole project that declares nothing but manages something: a failed load."""
    if desired.addresses or not desired.scope.whole:
        return None
    count = sum(1 for _ in ownership.mine())
    if not count:
        return None
    return Reason(
        exit=ExitCode.REFUSED,
        sentence=f"the project {desired.project.name!r} declares nothing, yet manages {count} "
        "objects on this cluster, so this looks like a failed load; check spec.manifests, and to "
        "end the project keep one document or use Tombstones",
    )
