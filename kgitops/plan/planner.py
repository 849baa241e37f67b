"""The whole diff on one page: turns the desired and the current state into a plan."""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import chain, starmap
from types import MappingProxyType

from msgspec.structs import replace

from kgitops.desired.claims import claims_of
from kgitops.desired.clients import warn_of_ranges
from kgitops.desired.state import DesiredState
from kgitops.manifests.kind_models import class_of, kind_class, planned_by
from kgitops.manifests.value_origin import HasOrigins, ValueOrigin, has_origins
from kgitops.model.cluster_state import (
    Capabilities,
    ClusterState,
    VirtualClusterSupport,
    address_of,
)
from kgitops.model.errors import FindingsError
from kgitops.model.json.declared import DesiredAcl
from kgitops.model.registry import SCHEMA_VERSION, RegistryState
from kgitops.model.requests import api_name
from kgitops.model.resources.addresses import acl_address, kind_of
from kgitops.model.resources.config_resources import FoundConfigs
from kgitops.model.resources.groups import FoundGroup
from kgitops.model.resources.kinds import KIND_OF_SORT, Kind
from kgitops.model.resources.virtual_clusters import VirtualCluster
from kgitops.model.source import Finding, Severity
from kgitops.plan.access import access_losses, warn_of_registry_writers, with_rights_lost
from kgitops.plan.context import NOTHING_EARLIER, EarlierFacts, PlanContext
from kgitops.plan.document.plan import (
    AccessLoss,
    Action,
    Base,
    Change,
    Desired,
    Plan,
    PlannedRequest,
    PlanTarget,
    RegistryEnd,
)
from kgitops.plan.draft import PlanDraft, merge_drafts
from kgitops.plan.link_index import PlannedLinks, index_links
from kgitops.plan.order import order_changes
from kgitops.plan.ownership import PROTECTION, Ownership, build_ownership, identity_problem
from kgitops.plan.removal import PROTECTED
from kgitops.plan.safety import (
    deletion_limits,
    empty_desired,
    empty_folder_refusals,
    managed_counts,
    unused_allowances,
)
from kgitops.plan.shown import with_shown
from kgitops.plan.stale_throttles import StaleThrottles, find_stale_throttles
from kgitops.plan.takeovers import Taking, find_takeovers, ownership_notices, plan_takeovers
from kgitops.plan.usage import not_checked
from kgitops.plan.virtual_clusters import (
    cut_overs,
    guard_virtual_clusters,
    lint_virtual_clusters,
    without_virtual_clusters,
)
from kgitops.plan.warnings import (
    own_quota_ranks,
    warn_of_defaults_under_profiles,
    warn_of_own_throttles,
    warn_of_producers_without_create,
    warn_of_shown_names,
    warn_of_twins,
)

NOTHING_UNCHANGED: Mapping[str, int] = MappingProxyType({})
_NAMING = frozenset((Kind.TOPIC, Kind.LINK))
"""The kinds that decide which names virtual clusters have, by which ACLs are copied."""
_REMOVING = frozenset((Action.DELETE, Action.FORGET))


def make_plan(
    desired: DesiredState,
    current: ClusterState,
    *,
    target_name: str,
    capabilities: Capabilities,
    git_sha: str | None = None,
    dirty: bool = False,
    pending_undo_requests: Sequence[PlannedRequest] = (),
    advise: bool = True,
    unchanged_counts: Mapping[str, int] = NOTHING_UNCHANGED,
    base_digest: str | None = None,
    earlier: EarlierFacts = NOTHING_EARLIER,
) -> Plan:
    """Plan the changes that bring the cluster to the desired state; refusals are part of the plan.

    ``pending_undo_requests`` are requests of an unfinished run of this project that undo its
    temporary settings; this plan takes them over. Without ``advise`` it has no warnings about the
    consequences for clients of virtual clusters, nor about hosts that older brokers never match.
    ``unchanged_counts`` counts by kind the objects of this project that both sides leave out,
    because they are as declared and as last applied; ``base_digest`` is then that of the whole
    cluster. ``earlier`` are the choices of the plan that is planned again.

    Raises:
        FindingsError: the state has configs of which no brokers were asked.
    """
    if desired.unknown_configs:
        raise FindingsError(config.refusal for config in desired.unknown_configs)
    project = desired.project
    ownership = build_ownership(project, current.registry)
    managed = _with_unchanged(managed_counts(ownership), unchanged_counts)
    takings = find_takeovers(desired, current.registry)
    identity_conflict = identity_problem(
        project,
        current.registry,
        taking=_claimed(desired, current.registry, takings),
        allowed=desired.safety.allow_takeover,
    )
    empty_project = None if unchanged_counts else empty_desired(desired, ownership)
    if identity_conflict or empty_project:
        # No conclusion about single objects is possible: a plan with changes would mislead.
        draft = PlanDraft(
            refusals=[reason for reason in (identity_conflict, empty_project) if reason]
        )
        takings = ()
    elif takings and current.registry:
        draft = plan_takeovers(takings, desired, current.registry, target_name)
    else:
        stale_throttles = find_stale_throttles(pending_undo_requests, current)
        draft = _plan_kinds(
            desired,
            current,
            ownership,
            stale_throttles,
            capabilities,
            earlier,
            advise=advise,
        )
        draft.findings += _unsupported(draft.changes, capabilities)
    if desired.scope.takes_over:
        draft.warnings += ownership_notices(project, current.registry)
    client = capabilities.client
    draft.warnings += warn_of_own_throttles(
        draft.changes, current.quotas, client, desired.principal
    )
    last = own_quota_ranks(client, desired.principal)
    draft.warnings += warn_of_twins(desired, current)
    if advise and not capabilities.host_ranges:
        draft.warnings += warn_of_ranges(desired.of(DesiredAcl))
    shown_addresses = {change.address for change in draft.changes}
    shown_addresses |= {row.address for row in draft.drift}
    draft.warnings += warn_of_shown_names(shown_addresses - desired.addresses)
    takeovers = tuple(taking.takeover for taking in takings)
    shown = with_shown(draft.changes, current.broker_defaults, takeovers)
    named = _with_origins(_with_labels(shown, desired), desired)
    changes = order_changes(named, capabilities.validation, last)
    losses = access_losses(
        current.acls, changes, desired.principal, host_ranges=capabilities.host_ranges
    )
    changes = with_rights_lost(changes, losses)
    scope = desired.scope
    return Plan(
        target=PlanTarget(name=target_name, backend=current.backend, cluster_id=current.cluster_id),
        desired=Desired(
            project=project.name,
            identity=project.identity,
            digest=desired.digest,
            git_sha=git_sha,
            dirty=dirty,
        ),
        base=replace(
            base_of(current, base_digest),
            defaults=_defaults_shown(changes, current.broker_defaults),
        ),
        principal=desired.principal,
        changes=changes,
        drift=tuple(sorted(draft.drift, key=lambda row: (row.address, row.path))),
        kept=tuple(sorted(draft.kept, key=lambda row: (row.address, row.rule))),
        access_losses=losses,
        warnings=(
            *_in_order((*desired.warnings, *draft.warnings, *not_checked(current.not_checked))),
            *_lockout(losses, desired.principal),
            *_registry_upgrade(changes, current.registry),
            *warn_of_defaults_under_profiles(changes),
            *_in_order(
                warn_of_producers_without_create(desired.of(DesiredAcl), _leaving(changes, draft))
            ),
            *warn_of_registry_writers(current.acls, desired.principal),
            *unused_allowances(desired),
        ),
        findings=_in_order(draft.findings),
        refusals=(
            *sorted(draft.refusals, key=lambda reason: reason.sentence),
            *deletion_limits(changes, managed, desired.safety),
            *empty_folder_refusals(
                changes, draft.kept, desired, removes_all=empty_project is not None
            ),
        ),
        partial=bool(scope.targets or scope.excludes or not scope.whole),
        allow_deletes=desired.safety.allow_deletes,
        allow_empty_folders=desired.safety.allow_empty_folders,
        allow_takeover=desired.safety.allow_takeover,
        takeovers=takeovers,
        managed_counts=managed,
    )


def _claimed(
    desired: DesiredState, registry: RegistryState | None, takings: Sequence[Taking]
) -> frozenset[str]:
    """Return the projects whose name or uid may be this one's; a plan of drift takes nothing."""
    if not desired.scope.takes_over:
        return frozenset(claim.identity for claim in claims_of(desired.project, registry))
    return frozenset(taking.takeover.identity for taking in takings)


def _with_unchanged(
    managed: Mapping[str, int], unchanged_counts: Mapping[str, int]
) -> Mapping[str, int]:
    return {
        kind: managed.get(kind, 0) + unchanged_counts.get(kind, 0)
        for kind in {**managed, **unchanged_counts}
    }


def _plan_kinds(
    desired: DesiredState,
    current: ClusterState,
    ownership: Ownership,
    stale_throttles: StaleThrottles,
    capabilities: Capabilities,
    earlier: EarlierFacts,
    *,
    advise: bool,
) -> PlanDraft:
    """Plan every kind; ACLs are copied by the links as they are after the plan."""
    if capabilities.virtual_clusters is VirtualClusterSupport.NONE:
        desired, refused = without_virtual_clusters(desired, capabilities.backend)
    else:
        refused = []
    index = index_links(desired, current)
    kinds = _kinds(desired, current, ownership, stale_throttles)

    def planned(kind: Kind, links: PlannedLinks | None = None) -> PlanDraft:
        context = PlanContext(
            desired=desired,
            current=current,
            ownership=ownership,
            stale_throttles=stale_throttles,
            links=index,
            planned_links=links,
            client=capabilities.client,
            earlier=earlier,
        )
        draft: PlanDraft = kind_class(kind)(context).plan()
        return draft

    named = merge_drafts(planned(kind) for kind in kinds if kind in _NAMING)
    links = PlannedLinks(current, named.changes)
    others = (planned(kind, links) for kind in kinds if kind not in _NAMING)
    draft = merge_drafts((named, *others))
    guard_virtual_clusters(draft, desired, current, links)
    if advise:
        support = capabilities.virtual_clusters
        draft.warnings += cut_overs(draft.changes, support, desired.gateway)
        draft.warnings += lint_virtual_clusters(draft, desired, current, links)
    draft.findings += refused
    return draft


def _kinds(
    desired: DesiredState, current: ClusterState, ownership: Ownership, stale: StaleThrottles
) -> Sequence[Kind]:
    """The kinds of which anything is declared, buried, recorded or found."""
    addresses = chain(current.objects, (tombstone.address for tombstone in desired.tombstones))
    sorts = {*ownership.managed, *map(kind_of, addresses)}
    here = {planned_by(sort) for sort in sorts if sort in KIND_OF_SORT}
    here |= {item.kind for item in desired.objects}
    if current.topics or stale.brokers:
        here.add(Kind.TOPIC)
    if current.virtual_clusters:
        here |= {Kind.VIRTUAL_CLUSTER, Kind.LINK, Kind.BINDING}
    if current.quotas or current.partial_quotas:
        here.add(Kind.QUOTA)
    if current.acls or current.partial_acls:
        here.add(Kind.ACL)
    return [kind for kind in Kind if kind in here]


def _defaults_shown(changes: Iterable[Change], defaults: Mapping[str, str]) -> dict[str, str]:
    """Those of the brokers' defaults that changes show, or that their risks rest on."""
    keys = {key for change in changes for key in class_of(change.address).defaults_shown(change)}
    return {key: defaults[key] for key in sorted(keys) if key in defaults}


def _unsupported(changes: Sequence[Change], capabilities: Capabilities) -> list[Finding]:
    """Report changes that need a request which the cluster does not support."""
    apis = {api_name(planned.request) for change in changes for planned in change.requests}
    if all(map(capabilities.supports, apis)):
        return []
    return [
        Finding(
            source=change.source,
            problem=f"{change.address} needs {api}, which a cluster of the kind "
            f"{capabilities.backend} can't carry out",
            advice="leave it out for this cluster with metadata.clusters, or remove it",
        )
        for change in changes
        for api in sorted({api_name(planned.request) for planned in change.requests})
        if not capabilities.supports(api)
    ]


def _with_labels(changes: Iterable[Change], desired: DesiredState) -> list[Change]:
    """Give each change the labels of its document.

    A derived change has the labels of the object that it is derived from, and a deletion those of
    its Tombstone, because the document of the object is gone.
    """
    labels = {
        item.address: item.labels for item in (*desired.tombstones, *desired.objects) if item.labels
    }
    if not labels:
        return list(changes)
    return [change.with_labels(_labels_of(change, labels)) for change in changes]


def _with_origins(changes: list[Change], desired: DesiredState) -> list[Change]:
    """Give each change the origins of its values that are written outside of its document."""
    places = {item.address: item.located for item in desired.objects if has_origins(item.located)}
    if not places:
        return changes
    return [
        replace(change, origins=origins)
        if (origins := _origins_of(change, places.get(change.address)))
        else change
        for change in changes
    ]


def _origins_of(change: Change, place: HasOrigins | None) -> Mapping[str, ValueOrigin]:
    """The origins of what changes; of all values, if the object is new to the cluster or to us."""
    if place is None:
        return {}
    origins = place.origins
    every = change.before is None or Action.ADOPT in change.actions
    found = dict(origins) if every else {}
    for field in change.fields:
        path = field.path.removeprefix("lastApplied.")
        origin = origins.get("deletionPolicy" if path in PROTECTION else path)
        if origin is not None:
            found[field.path] = origin
    return found


def _labels_of(change: Change, labels: Mapping[str, Mapping[str, str]]) -> Mapping[str, str]:
    addresses = (change.address, *change.derived_from)
    return next((labels[address] for address in addresses if address in labels), {})


def _leaving(changes: Iterable[Change], draft: PlanDraft) -> frozenset[str]:
    """Return the addresses of what is removed, or would be if it weren't protected."""
    removed = (change.address for change in changes if _REMOVING.intersection(change.actions))
    protected = (row.address for row in draft.kept if row.rule == PROTECTED)
    return frozenset((*removed, *protected))


def _in_order(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    return tuple(sorted(findings, key=lambda finding: finding.sort_key))


def _lockout(losses: tuple[AccessLoss, ...], principal: str) -> tuple[Finding, ...]:
    lost = [f"{loss.operation} on {loss.resource}" for loss in losses if loss.requester]
    if not lost:
        return ()
    return (
        Finding(
            source=None,
            problem=f"this plan takes rights from {principal}, who applies it: {', '.join(lost)}",
            advice="make sure that it keeps what kgitops needs, or apply as another principal",
            severity=Severity.WARNING,
        ),
    )


def _registry_upgrade(
    changes: Sequence[Change], registry: RegistryState | None
) -> tuple[Finding, ...]:
    """Warn that the first write raises the registry's schema version."""
    if not changes or registry is None or registry.schema_version >= SCHEMA_VERSION:
        return ()
    return (
        Finding(
            source=None,
            problem="applying this plan raises the registry of this cluster from schema version "
            f"{registry.schema_version} to {SCHEMA_VERSION}, which older versions of kgitops "
            "refuse",
            advice="upgrade all pipelines, loops and gateways of this cluster first",
            severity=Severity.WARNING,
        ),
    )


def base_of(current: ClusterState, digest: str | None = None) -> Base:
    """Describe the state that a plan is made from; ``digest`` is given if it is known already."""
    return Base(digest=digest or _digest(current), registry=registry_end(current))


def registry_end(current: ClusterState) -> RegistryEnd | None:
    """Return where the registry ends; None if the cluster has none."""
    if current.registry is None:
        return None
    return RegistryEnd(topic_id=current.registry.topic_id, offset=str(current.registry.offset))


def _digest(current: ClusterState) -> str:
    """Compute the digest of the state, without the usage of topics, which changes all the time."""
    digest = hashlib.sha256(current.cluster_id.encode())
    for broker in sorted(current.brokers, key=lambda broker: broker.id):
        digest.update(f"broker {broker!r}\n".encode())
    for name in sorted(current.topics):
        topic = current.topics[name]
        configs = ", ".join(starmap(_pair, sorted(topic.configs.items())))
        digest.update(f"{name} {topic.topic_id} {topic.assignment} [{configs}]\n".encode())
    for address in sorted(map(acl_address, current.acls)):
        digest.update(f"{address}\n".encode())
    for entity in sorted(current.quotas, key=repr):
        digest.update(f"{entity} {sorted(current.quotas[entity].quotas.items())}\n".encode())
    for user, held in sorted((current.users or {}).items()):
        digest.update(f"user {user!r} {sorted(held.items())}\n".encode())
    for group in sorted(current.of(FoundGroup), key=lambda it: it.name):
        offsets = sorted(group.offsets.items())
        digest.update(f"group {group.name} {sorted(group.configs.items())} {offsets}\n".encode())
    for found in sorted(current.of(FoundConfigs), key=address_of):
        kind, settings = found.type.lower().replace("_", " "), sorted(found.configs.items())
        digest.update(f"{kind} {found.name} {settings}\n".encode())
    for virtual_cluster in sorted(current.virtual_clusters):
        digest.update(_as_text(current.virtual_clusters[virtual_cluster]).encode())
    return f"sha256:{digest.hexdigest()}"


@lru_cache(maxsize=1 << 14)  # most topics have the configs of others
def _pair(key: str, value: str) -> str:
    return repr((key, value))


def _as_text(virtual_cluster: VirtualCluster) -> str:
    links = virtual_cluster.links.values()
    parts = (
        virtual_cluster.options,
        sorted((link.name, link.topic, link.topic_id) for link in links),
        sorted(virtual_cluster.users),
        sorted(virtual_cluster.client_ids),
        sorted(virtual_cluster.groups.items()),
        sorted(virtual_cluster.transactional_ids),
    )
    return f"virtual cluster {virtual_cluster.name} {parts}\n"
