"""Refuses plans that would leave links without a topic, or members without a virtual cluster."""

from collections.abc import Iterable, Iterator

from kgitops.desired.state import DesiredState
from kgitops.model import requests as req
from kgitops.model.cluster_state import ClusterState
from kgitops.model.json.declared import DesiredAcl, DesiredQuota
from kgitops.model.resources.acls import AclBinding, PatternType
from kgitops.model.resources.addresses import (
    acl_address,
    member_address,
    quota_address,
    virtual_cluster_address,
)
from kgitops.model.resources.quotas import VIRTUAL_CLUSTER
from kgitops.model.resources.virtual_clusters import ChangeType, EntityType
from kgitops.model.source import Finding, Severity
from kgitops.plan.document.plan import Change
from kgitops.plan.draft import PlanDraft
from kgitops.plan.link_index import PlannedLinks

_SHOWN = 10


def guard_virtual_clusters(
    draft: PlanDraft, desired: DesiredState, current: ClusterState, links: PlannedLinks
) -> None:
    """Refuse to delete topics that links still lead to, and virtual clusters that are not empty."""
    changes = tuple(draft.changes)
    deleted = {}
    for change in changes:
        for planned in change.requests:
            match planned.request:
                case req.DeleteTopicRequest(topic=topic):
                    draft.findings += _linked(change, topic, links)
                case req.DeleteVirtualClusterRequest(virtual_cluster=name):
                    deleted[name] = change
                case _:
                    pass
    if not deleted:
        return
    remaining = _remaining(frozenset(deleted), changes, desired, current, links)
    foreign = _foreign_rules(frozenset(deleted), changes, current)
    for name, change in sorted(deleted.items()):
        draft.findings += _not_empty(name, change, sorted(remaining[name]))
        draft.warnings += _stay_behind(name, change, sorted(foreign[name] - remaining[name]))


def _linked(change: Change, topic: str, links: PlannedLinks) -> Iterator[Finding]:
    """Refuse to delete a topic that a link leads to (VC-033)."""
    others = links.to(topic)
    if others:
        yield Finding(
            source=change.source,
            problem=f"{change.address} can't be deleted while {_list(map(str, others))} "
            f"lead{'s' if len(others) == 1 else ''} to its topic {topic}",
            advice="remove those links as well, or keep the topic with deletionPolicy: Orphan",
        )


def _remaining(
    names: frozenset[str],
    changes: Iterable[Change],
    desired: DesiredState,
    current: ClusterState,
    links: PlannedLinks,
) -> dict[str, set[str]]:
    """Return the addresses of all objects in each of them that remain declared or existing."""
    remaining: dict[str, set[str]] = {name: set() for name in names}
    for name in names:
        linked = {member_address(name, EntityType.TOPIC, link) for link in links.of(name)}
        remaining[name] |= linked
        for entity_type in EntityType:
            if entity_type is not EntityType.TOPIC:
                members = current.virtual_clusters[name].members(entity_type)
                remaining[name] |= {member_address(name, entity_type, member) for member in members}
    for change in changes:
        for planned in change.requests:
            if isinstance(planned.request, req.AlterVirtualClusterRequest):
                _apply_member(planned.request, remaining)
    for acl in desired.of(DesiredAcl):
        if _scope(acl.binding) in remaining:
            remaining[acl.binding.virtual_cluster].add(acl.address)
    for quota in desired.of(DesiredQuota):
        at = dict(quota.entity).get(VIRTUAL_CLUSTER)
        if at in remaining:
            remaining[at].add(quota.address)
    return remaining


def _apply_member(request: req.AlterVirtualClusterRequest, remaining: dict[str, set[str]]) -> None:
    entity_type, name = request.entity_type, request.entity_name
    if entity_type in (None, EntityType.TOPIC) or name is None:
        return
    at = request.virtual_cluster
    if at in remaining:
        address = member_address(at, entity_type, name)
        removes = request.change is ChangeType.REMOVE
        (remaining[at].discard if removes else remaining[at].add)(address)
    if request.moved_from in remaining:
        old = member_address(request.moved_from, entity_type, name)
        remaining[request.moved_from].discard(old)


def _foreign_rules(
    names: frozenset[str], changes: Iterable[Change], current: ClusterState
) -> dict[str, set[str]]:
    """Return the ACLs and quotas of deleted virtual clusters that no change removes (VC-216)."""
    rules: dict[str, set[str]] = {name: set() for name in names}
    for acl in current.acls:
        if _scope(acl) in rules:
            rules[acl.virtual_cluster].add(acl_address(acl))
    for entity, state in current.quotas.items():
        at = dict(entity).get(VIRTUAL_CLUSTER)
        if at in rules and state.quotas:
            rules[at].add(quota_address(entity))
    removed = {
        change.address
        for change in changes
        if any(
            isinstance(planned.request, req.DeleteAclRequest | req.AlterClientQuotaRequest)
            for planned in change.requests
        )
    }
    return {name: addresses - removed for name, addresses in rules.items()}


def _scope(binding: AclBinding) -> str | None:
    exact = binding.scoped and binding.virtual_cluster_pattern_type is PatternType.LITERAL
    return binding.virtual_cluster if exact else None


def _not_empty(name: str, change: Change, remaining: list[str]) -> Iterator[Finding]:
    if remaining:
        yield Finding(
            source=change.source,
            problem=f"{virtual_cluster_address(name)} can't be deleted while it has "
            f"{_list(remaining)}",
            advice="remove what is declared in it in the same commit, and declare what nobody "
            "manages to remove it then",
        )


def _stay_behind(name: str, change: Change, rules: list[str]) -> Iterator[Finding]:
    if rules:
        yield Finding(
            source=change.source,
            problem=f"deleting {virtual_cluster_address(name)} leaves behind what this project "
            f"does not remove: {_list(rules)}",
            advice="remove that too, or it counts again for a virtual cluster of that name",
            severity=Severity.WARNING,
        )


def _list(names: Iterable[str]) -> str:
    every = list(names)
    more = [f"{len(every) - _SHOWN} more"] if len(every) > _SHOWN else []
    return ", ".join([*every[:_SHOWN], *more])
