"""Virtual clusters in a plan: advice about them, and refusals that guard what still has members."""

from collections.abc import Iterable, Iterator, Mapping
from functools import partial

from kgitops.desired.state import DesiredState
from kgitops.lowering.acls.compile import is_logical
from kgitops.model import requests as req
from kgitops.model.cluster_state import ClusterState, VirtualClusterSupport
from kgitops.model.json.declared import DesiredAcl, DesiredObject, DesiredQuota, DesiredUser
from kgitops.model.lowered import DeclaredGateway
from kgitops.model.requests import AlterVirtualClusterRequest
from kgitops.model.resources.acls import CLUSTER_NAME, AclBinding, PatternType
from kgitops.model.resources.addresses import (
    acl_address,
    member_address,
    quota_address,
    virtual_cluster_address,
)
from kgitops.model.resources.quotas import (
    VIRTUAL_CLUSTER,
    ClientQuotaEntity,
    make_entity,
    quota_text,
)
from kgitops.model.resources.virtual_clusters import EXCLUSIVE, ChangeType, EntityType, physical_id
from kgitops.model.source import Finding, Severity
from kgitops.plan.document.plan import Change
from kgitops.plan.draft import PlanDraft
from kgitops.plan.link_index import PlannedLinks


def lint_virtual_clusters(
    draft: PlanDraft, desired: DesiredState, current: ClusterState, links: PlannedLinks
) -> list[Finding]:
    """Warn of misleading names of added links, and of quotas above their virtual cluster's cap."""
    warnings: list[Finding] = []
    names: dict[str, dict[str, list[str]]] = {}
    # By address: which name of a topic comes first must not depend on the order of documents.
    for change in sorted(draft.changes, key=lambda change: change.address):
        for planned in change.requests:
            request = planned.request
            if (
                isinstance(request, AlterVirtualClusterRequest)
                and request.change is ChangeType.ADD
                and request.entity_type is EntityType.TOPIC
            ):
                at = request.virtual_cluster
                if at not in names:
                    names[at] = _by_topic(links.of(at))
                warnings += _names(change, request, current, links, names[at])
                # Once for all names of a topic.
                names[at].pop(links.of_one(at, request.entity_name or "") or "", None)
    return [*warnings, *_capped(desired, current)]


def _by_topic(links: Mapping[str, str | None]) -> dict[str, list[str]]:
    names: dict[str, list[str]] = {}
    for name, topic in links.items():
        if topic is not None:
            names.setdefault(topic, []).append(name)
    return names


def _names(
    change: Change,
    request: AlterVirtualClusterRequest,
    current: ClusterState,
    links: PlannedLinks,
    names: Mapping[str, list[str]],
) -> Iterator[Finding]:
    at, name = request.virtual_cluster, request.entity_name or ""
    topic = links.of_one(at, name)
    if topic is None:
        return
    if topic != name and name in current.topics:
        yield _warning(
            change,
            f"{at}/{name} has the name of a topic of the cluster, and leads to {topic}",
            "nothing to do if it is meant: members never see the other one",
        )
    others = sorted(other for other in names.get(topic, ()) if other != name)
    if others:
        yield _warning(
            change,
            f"{at} has more than one name for the topic {topic}: {', '.join([name, *others])}; "
            "whoever subscribes by a pattern that matches both reads it twice",
            "remove the old name as soon as no client uses it",
        )


def _capped(desired: DesiredState, current: ClusterState) -> Iterator[Finding]:
    """Warn of quotas above the cap of their virtual cluster, which never take effect (VC-202)."""
    wanted = {quota.entity: quota.quotas for quota in desired.of(DesiredQuota)}
    for quota in desired.of(DesiredQuota):
        at = dict(quota.entity).get(VIRTUAL_CLUSTER)
        if at is None or len(quota.entity) == 1:
            continue
        for key, value in sorted(quota.quotas.items()):
            cap = _cap(at, key, wanted, current)
            if cap is not None and value > cap:
                yield _above(quota, at, key, value, cap)


def _cap(
    at: str,
    key: str,
    wanted: Mapping[ClientQuotaEntity, Mapping[str, float]],
    current: ClusterState,
) -> float | None:
    """Return the cap of the virtual cluster, else that of all of them (VC-203)."""
    for name in (at, None):
        entity = make_entity({VIRTUAL_CLUSTER: name})
        there = current.quotas.get(entity)
        quotas = wanted.get(entity, there.quotas if there else {})
        if key in quotas:
            return quotas[key]
    return None


def _above(quota: DesiredQuota, at: str, key: str, value: float, cap: float) -> Finding:
    return Finding(
        source=quota.located.at("spec", "quotas", key),
        problem=f"{quota.address} sets {key} to {quota_text(value)}, above the cap of {at}, "
        f"{quota_text(cap)}, which holds for all of it together",
        advice="lower it, or raise the cap",
        severity=Severity.WARNING,
    )


def _warning(change: Change, problem: str, advice: str) -> Finding:
    return Finding(source=change.source, problem=problem, advice=advice, severity=Severity.WARNING)


_ADDRESSES = ("vc/", f"quota/{VIRTUAL_CLUSTER}=")


def cut_overs(
    changes: Iterable[Change],
    support: VirtualClusterSupport,
    gateway: DeclaredGateway | None = None,
) -> list[Finding]:
    """Warn, by virtual cluster, of clients whose names change with this plan (VC-412).

    If brokers do not know virtual clusters, clients have to be configured with the names (VC-048),
    or come through the ``gateway``.
    """
    bound: dict[str, list[str]] = {}
    for change in changes:
        for planned in change.requests:
            request = planned.request
            if (
                isinstance(request, AlterVirtualClusterRequest)
                and request.change is ChangeType.ADD
                and request.entity_type in EXCLUSIVE
            ):
                bound.setdefault(request.virtual_cluster, []).append(request.entity_name or "")
    warning = _on_brokers if support is VirtualClusterSupport.NATIVE else _by_clients
    if gateway is not None and support is VirtualClusterSupport.LOWERED:
        warning = partial(_by_gateway, gateway)
    return [warning(name, _list(sorted(names))) for name, names in sorted(bound.items())]


def _on_brokers(name: str, members: str) -> Finding:
    return Finding(
        source=None,
        problem=f"clients of {members} see the names of the virtual cluster {name} from their "
        "first request after this plan was applied, and no others",
        advice="see that it has every topic, group and right that they use, by those names",
        severity=Severity.WARNING,
    )


def _by_clients(name: str, members: str) -> Finding:
    return Finding(
        source=None,
        problem=f"clients of {members} are in the virtual cluster {name} once this plan was "
        "applied, and these brokers translate no names: topics keep their physical ones, and ids "
        f"of groups and transactions begin with {physical_id(name, '')}",
        advice="configure the clients by their binding sheet: kgitops vc bindings",
        severity=Severity.WARNING,
    )


def _by_gateway(gateway: DeclaredGateway, name: str, members: str) -> Finding:
    return Finding(
        source=None,
        problem=f"clients of {members} that connect to the gateway at {gateway.bootstrap_servers} "
        f"see the names of the virtual cluster {name} once this plan was applied, and no others; "
        "clients that connect to the brokers need the physical ones",
        advice="see that it has every topic, group and right that they use, by those names",
        severity=Severity.WARNING,
    )


def without_virtual_clusters(
    desired: DesiredState, backend: str
) -> tuple[DesiredState, list[Finding]]:
    """Drop everything about virtual clusters from the state, with a finding for each document."""
    inside = [item for item in desired.objects if _is_inside(item)]
    problems = {item.located.source: _problem(item, backend) for item in inside}
    findings = [
        Finding(
            source=source,
            problem=problems[source],
            advice="leave the document out for it with metadata.clusters",
        )
        for source in sorted(problems)
    ]
    if not findings:
        return desired, []
    dropped = {item.address for item in inside}
    kept = (item for item in desired.objects if item.address not in dropped)
    return desired.with_objects(kept), findings


def _is_inside(item: DesiredObject) -> bool:
    """True if the object concerns virtual clusters; for an ACL the resource's name decides."""
    if isinstance(item, DesiredAcl):
        return is_logical(item.binding)
    if isinstance(item, DesiredUser):
        return item.virtual_cluster is not None
    return item.address.startswith(_ADDRESSES)


def _problem(item: DesiredObject, backend: str) -> str:
    problem = f"this cluster, of the kind {backend}, has no virtual clusters"
    if isinstance(item, DesiredAcl) and not item.binding.scoped:
        return f"{problem}, and the name of its resource cluster is {CLUSTER_NAME}"
    return problem


def _list(names: Iterable[str], shown: int = 5) -> str:
    every = list(names)
    more = [f"{len(every) - shown} more"] if len(every) > shown else []
    return ", ".join([*every[:shown], *more])


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
            problem=f"{change.address} can't be deleted while {_list(map(str, others), 10)} "
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
            f"{_list(remaining, 10)}",
            advice="remove what is declared in it in the same commit, and declare what nobody "
            "manages to remove it then",
        )


def _stay_behind(name: str, change: Change, rules: list[str]) -> Iterator[Finding]:
    if rules:
        yield Finding(
            source=change.source,
            problem=f"deleting {virtual_cluster_address(name)} leaves behind what this project "
            f"does not remove: {_list(rules, 10)}",
            advice="remove that too, or it counts again for a virtual cluster of that name",
            severity=Severity.WARNING,
        )
