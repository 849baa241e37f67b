"""The lowering report: the deviations from virtual clusters on a Kafka without them (§18)."""

from collections.abc import Iterable, Iterator

from kgitops.lowering.acls.compile import is_logical
from kgitops.lowering.acls.scoped_acls import ScopedAcls
from kgitops.lowering.report.acls import acl_lines, isolation_lines
from kgitops.lowering.report.gateway import behind_gateway, gateway_lines
from kgitops.lowering.report.lines import report_line
from kgitops.lowering.report.quotas import quota_lines
from kgitops.model.cluster_state import ClusterState
from kgitops.model.lowered import DeclaredGateway, Grade, Lowered, LoweringLine
from kgitops.model.requests import NEW_UUID
from kgitops.model.resources.acls import ResourceType
from kgitops.model.resources.addresses import acl_address, member_address, quota_address
from kgitops.model.resources.virtual_clusters import EntityType, VirtualCluster, generated_parts

_GRADES = tuple(Grade)


def lowering_report(
    state: ClusterState, gateway: DeclaredGateway | None = None
) -> tuple[LoweringLine, ...]:
    """All lines for a logical state, usually the one after a plan, sorted by code (VC-390).

    There are none if the state has nothing about virtual clusters. With a ``gateway`` they are
    about its clients, and there are always some.
    """
    lines = _lines(state)
    if gateway is not None:
        lines = [*map(behind_gateway, lines), *gateway_lines(state, gateway)]
    return tuple(sorted(set(lines), key=_order))


def _lines(state: ClusterState) -> list[LoweringLine]:
    """The lines for clients that connect to brokers themselves."""
    virtual_clusters = state.virtual_clusters
    if not virtual_clusters and not state.lowered and not any(map(is_logical, state.acls)):
        return []
    bindings = sorted(state.acls)
    lines = [
        *(report_line(code) for code in ("L-NATIVE", "L-LIST", "L-DYNAMIC", "L-STREAMS")),
        *_preflight(state),
        *acl_lines(bindings, virtual_clusters.values()),
        *quota_lines(state.quotas, virtual_clusters),
        *isolation_lines(bindings, virtual_clusters, state.lowered.acls if state.lowered else ()),
        *_topics(state),
        *_leftovers(state),
    ]
    scoped = ScopedAcls(bindings)
    for virtual_cluster in virtual_clusters.values():
        kinds = {b.resource_type for b in scoped.in_virtual_cluster(virtual_cluster.name).all()}
        lines += _members(virtual_cluster, kinds)
    lines += _goal_lines({virtual_cluster.code for virtual_cluster in lines})
    return lines


def native_report(state: ClusterState) -> tuple[LoweringLine, ...]:
    """The one line for a cluster with virtual clusters that moves no data (VC-392)."""
    return (report_line("L-DATAPLANE"),) if state.virtual_clusters else ()


def failing_lines(lines: Iterable[LoweringLine], threshold: Grade) -> tuple[LoweringLine, ...]:
    """The lines at least as bad as ``threshold`` (§18, ``--fail-on``)."""
    worst = _GRADES.index(threshold)
    return tuple(
        line for line in lines if line.grade is not None and _GRADES.index(line.grade) >= worst
    )


def _preflight(state: ClusterState) -> Iterator[LoweringLine]:
    """Lines on the broker configs that isolation depends on (VC-391)."""
    settings = state.settings
    if not state.has_authorizer:
        yield report_line("L-NO-AUTHORIZER")
    elif not settings:
        yield report_line("L-PREFLIGHT")
    elif not settings.get("authorizer.class.name", "unknown"):
        yield report_line("L-NO-AUTHORIZER")
    if _true(settings.get("allow.everyone.if.no.acl.found", "false")):
        yield report_line("L-ALLOW-EVERYONE")
    if _true(settings.get("auto.create.topics.enable", "false")):
        yield report_line("L-AUTO-CREATE")
    for key in ("allow.everyone.if.no.acl.found", "super.users"):
        if settings.get(key) == "":  # not a config that brokers know, so they treat it as a secret
            yield report_line("L-HIDDEN", subject=key)
    for virtual_cluster in state.virtual_clusters.values():
        for user in virtual_cluster.users & super_users(state):
            address = member_address(virtual_cluster.name, EntityType.USER, user)
            yield report_line("L-SUPER-USER", virtual_cluster=virtual_cluster.name, subject=address)


def super_users(state: ClusterState) -> frozenset[str]:
    """The brokers' super users, none of which can be bound (VC-092)."""
    users = state.settings.get("super.users", "").split(";")
    return frozenset(user.strip() for user in users if user.strip())


def _members(virtual_cluster: VirtualCluster, kinds: set[ResourceType]) -> Iterator[LoweringLine]:
    name = virtual_cluster.name
    yield report_line("L-CREATE", virtual_cluster=name)
    yield report_line("L-TRANSPARENCY", virtual_cluster=name)
    if virtual_cluster.users or virtual_cluster.groups or ResourceType.GROUP in kinds:
        yield report_line("L-GROUP", virtual_cluster=name)
    if virtual_cluster.transactional_ids or ResourceType.TRANSACTIONAL_ID in kinds:
        yield report_line("L-TXN", virtual_cluster=name)
    for local in virtual_cluster.transactional_ids:
        address = member_address(name, EntityType.TRANSACTIONAL_ID, local)
        yield report_line("L-TXN-CHECK", virtual_cluster=name, subject=address)
    for client_id in virtual_cluster.client_ids:
        address = member_address(name, EntityType.CLIENT_ID, client_id)
        yield report_line("L-CLIENTID", virtual_cluster=name, subject=address)


def _topics(state: ClusterState) -> Iterator[LoweringLine]:
    linked = {
        link.topic
        for virtual_cluster in state.virtual_clusters.values()
        for link in virtual_cluster.links.values()
    }
    guarded = not _true(state.settings.get("delete.topic.enable", "true"))
    for topic in linked:
        if not guarded:
            yield report_line("L-LINK-GUARD", subject=topic)
        if generated_parts(topic) is not None or topic.startswith(NEW_UUID):
            yield report_line("L-TOPICID", subject=topic)


def _leftovers(state: ClusterState) -> Iterator[LoweringLine]:
    """Lines on objects that an interrupted apply left over, which no other command shows."""
    lowered = state.lowered or Lowered()
    for acl in lowered.acls.values():
        if not acl.sources and acl.present and not acl.adopted:
            address = acl_address(acl.binding)
            yield report_line("L-LEFTOVER", virtual_cluster=acl.virtual_cluster, subject=address)
    for quota in lowered.quotas.values():
        if not quota.sources and quota.found != quota.hidden:
            address = quota_address(quota.entity)
            yield report_line("L-LEFTOVER", virtual_cluster=quota.virtual_cluster, subject=address)
    for local, topic in lowered.pending.items():
        if topic in state.topics:
            yield report_line("L-PENDING", virtual_cluster=local.virtual_cluster, subject=topic)


def _goal_lines(codes: set[str]) -> Iterator[LoweringLine]:
    """Lines on KIP-1134's goals, each with its grade (VC-003)."""
    open_to_all = codes & {"L-NO-AUTHORIZER", "L-ALLOW-EVERYONE"}
    isolation = Grade.NONE if open_to_all else Grade.EXACT
    if isolation is Grade.EXACT and "L-ISOLATION" in codes:
        isolation = Grade.APPROX
    for goal, grade, reason in (
        ("logical abstraction", Grade.SNAPSHOT, "kgitops updates virtual clusters with each apply"),
        ("isolation", isolation, "brokers isolate data with ACLs, and show physical names"),
        (
            "simpler multi-tenancy",
            Grade.SNAPSHOT,
            "tenants are declared, but brokers only see users",
        ),
        ("low administrative overhead", Grade.EXACT, "ACLs and quotas of users are derived"),
        (
            "backward compatibility",
            Grade.EXACT,
            "objects outside virtual clusters stay as they are",
        ),
        ("transparency to clients", Grade.CLIENT, "clients are configured with physical names"),
    ):
        yield report_line("L-GOAL", subject=goal, reason=reason, grade=grade)


def _true(value: str) -> bool:
    return value.strip().lower() == "true"


def _order(line: LoweringLine) -> tuple[str, str, str, str]:
    return line.code, line.virtual_cluster, line.subject, line.reason
