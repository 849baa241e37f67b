"""Limits on what one plan may delete (contract §2), asked at plan and again at apply."""

from collections.abc import Iterable, Mapping

from kgitops.desired.state import DesiredState, Safety
from kgitops.model.registry import RegistryState
from kgitops.model.verdict import ExitCode, Reason
from kgitops.plan.ownership import Ownership
from kgitops.plan.plan import Action, Change, Kind

_PERCENT_FROM = 5
_PREFIXES = {"topic/": Kind.TOPIC, "acl/": Kind.ACL, "quota/": Kind.QUOTA}


def managed_counts(registry: RegistryState | None, identity: str) -> Mapping[str, int]:
    """How many objects of each kind a project manages: what the percentage is of."""
    counts = dict.fromkeys(map(str, _PREFIXES.values()), 0)
    for address, owner in (registry.owners if registry else {}).items():
        if owner.project == identity and not owner.spent:
            prefix = address[: address.index("/") + 1]
            if prefix in _PREFIXES:
                counts[_PREFIXES[prefix]] += 1
    return counts


def deletion_limits(
    changes: Iterable[Change], managed: Mapping[str, int], safety: Safety
) -> tuple[Reason, ...]:
    """Why this many deletions are refused; the one way past is ``--allow-deletes KIND=N``."""
    deletions: dict[Kind, int] = {}
    for change in changes:
        if Action.DELETE in change.actions:
            deletions[change.kind] = deletions.get(change.kind, 0) + 1
    reasons = []
    for kind, count in sorted(deletions.items()):
        if count <= safety.allow_deletes.get(kind, 0):
            continue
        of = max(managed.get(kind, 0), count)
        limit = None
        if count > safety.max_deletes:
            limit = f"safety.maxDeletes is {safety.max_deletes}"
        elif count >= _PERCENT_FROM and count * 100 > safety.max_delete_percent * of:
            limit = f"safety.maxDeletePercent is {safety.max_delete_percent}, of {of} managed"
        if limit:
            reasons.append(
                Reason(
                    exit=ExitCode.REFUSED,
                    sentence=f"the plan deletes {count} objects of kind {kind}, but {limit}; if "
                    f"all of them should go, pass --allow-deletes {kind}={count}",
                )
            )
    return tuple(reasons)


def empty_desired(desired: DesiredState, ownership: Ownership) -> Reason | None:
    """A whole project that declares nothing, but manages something, was not loaded right."""
    declared = desired.topics or desired.acls or desired.quotas or desired.tombstones
    if declared or not desired.scope.whole:
        return None
    count = sum(1 for prefix in _PREFIXES for _ in ownership.mine(prefix))
    if not count:
        return None
    return Reason(
        exit=ExitCode.REFUSED,
        sentence=f"the project {desired.project.name!r} declares nothing, yet manages {count} "
        "objects on this cluster, so this looks like a failed load; check spec.manifests, and to "
        "end the project keep one document or use Tombstones",
    )
