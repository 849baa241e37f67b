"""The lowering report: the deviations from virtual clusters on a Kafka without them (§18)."""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping

from msgspec import Struct
from msgspec.structs import replace

from kgitops.lowering.acls.compile import INEXPRESSIBLE, OPERATIONS, WILDCARD, is_logical
from kgitops.lowering.acls.conflicts import find_conflicts
from kgitops.lowering.acls.scoped_acls import ScopedAcls, spans_virtual_clusters
from kgitops.lowering.quota_compile import QuotaTable, lower_user_quotas
from kgitops.lowering.report_lines import report_line
from kgitops.model.cluster_state import ClusterState
from kgitops.model.lowered import DeclaredGateway, Grade, Lowered, LoweringLine
from kgitops.model.requests import NEW_UUID
from kgitops.model.resources.acls import (
    EVERYONE,
    AclBinding,
    Operation,
    PatternType,
    PermissionType,
    ResourceType,
)
from kgitops.model.resources.acls import OPERATIONS as KAFKA_OPERATIONS
from kgitops.model.resources.addresses import acl_address, member_address, quota_address
from kgitops.model.resources.quotas import (
    CLIENT_ID,
    IP,
    USER,
    VIRTUAL_CLUSTER,
    ClientQuotaEntity,
    ClientQuotaState,
    quota_text,
)
from kgitops.model.resources.virtual_clusters import (
    SEPARATOR,
    CapLowering,
    EntityType,
    VirtualCluster,
    generated_parts,
    physical_id,
    user_name,
)

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
        lines = [*map(_behind_gateway, lines), *_gateway_lines(state, gateway)]
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
        *_acl_lines(bindings, virtual_clusters.values()),
        *_quota_lines(state.quotas, virtual_clusters),
        *_isolation_lines(bindings, virtual_clusters, state.lowered.acls if state.lowered else ()),
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


def _acl_lines(
    bindings: Iterable[AclBinding], virtual_clusters: Iterable[VirtualCluster]
) -> Iterator[LoweringLine]:
    """Lines for the bindings of virtual clusters and for conflicts; a binding may have several."""
    scoped = ScopedAcls(bindings)
    for binding in bindings:
        if is_logical(binding):
            cluster = binding.resource_type is ResourceType.CLUSTER
            where = binding.resource_name if cluster else binding.virtual_cluster
            for code in dict.fromkeys(_codes(binding)):
                yield report_line(code, virtual_cluster=where, subject=acl_address(binding))
    for virtual_cluster in virtual_clusters:
        index = scoped.in_virtual_cluster(virtual_cluster.name)
        if index.denies:
            for conflict in sorted(set(find_conflicts(virtual_cluster, index.all()))):
                yield report_line(
                    "L-ACL-CONFLICT",
                    virtual_cluster=virtual_cluster.name,
                    subject=acl_address(conflict.deny),
                    reason=str(conflict),
                    grade=Grade.APPROX if virtual_cluster.options.deny_wins else Grade.REFUSE,
                )


def _codes(binding: AclBinding) -> Iterator[str]:
    kind, operation = binding.resource_type, binding.operation
    everything = operation is Operation.ALL
    if kind is ResourceType.CLUSTER:
        yield "L-ACL-CLUSTER"
        if everything or operation is Operation.CREATE:
            yield "L-ACL-CREATE"
        return
    if kind in INEXPRESSIBLE:
        yield "L-ACL-TOKEN"
        return
    for lost in KAFKA_OPERATIONS[kind] - OPERATIONS[kind]:
        if everything or operation is lost:
            yield _lost(kind, lost)
    if binding.principal == EVERYONE or spans_virtual_clusters(binding) or _expanded(binding):
        yield "L-ACL-SNAPSHOT"


def _lost(kind: ResourceType, operation: Operation) -> str:
    if kind is ResourceType.TOPIC and operation is Operation.CREATE:
        return "L-ACL-CREATE"
    if kind is ResourceType.TOPIC and operation is Operation.DELETE:
        return "L-ACL-DELETE"
    return "L-ACL-OPERATION"


def _expanded(binding: AclBinding) -> bool:
    """True for patterns on topics: unlike those on ids, they have no equivalent on brokers."""
    prefixed = binding.pattern_type is PatternType.PREFIXED
    pattern = prefixed or binding.resource_name == WILDCARD
    return binding.resource_type is ResourceType.TOPIC and pattern


_MANY = 3
_SCOPED = (ResourceType.TOPIC, ResourceType.GROUP, ResourceType.TRANSACTIONAL_ID)


def _isolation_lines(
    bindings: Iterable[AclBinding],
    virtual_clusters: Mapping[str, VirtualCluster],
    lowered: Collection[AclBinding] = (),
) -> Iterator[LoweringLine]:
    """A line for each principal that reaches a virtual cluster through global ACLs (VC-176).

    ``lowered`` bindings also implement ACLs of virtual clusters, so members bypass nothing by them.
    """
    reaching: defaultdict[tuple[str, str], list[str]] = defaultdict(list)
    prefixes = _OwnedNames({physical_id(name, ""): {name} for name in virtual_clusters})
    linked: defaultdict[str, set[str]] = defaultdict(set)
    for virtual_cluster in virtual_clusters.values():
        for link in virtual_cluster.links.values():
            linked[link.topic].add(virtual_cluster.name)
    topics = _OwnedNames(linked)
    for binding in sorted(bindings):
        if (
            is_logical(binding)
            or binding.permission_type is PermissionType.DENY
            or binding.resource_type not in _SCOPED
        ):
            continue
        of_topics = binding.resource_type is ResourceType.TOPIC
        reached = topics.of(binding) if of_topics else _by_id(binding, prefixes)
        for name in reached:
            if binding.principal not in virtual_clusters[name].users or binding not in lowered:
                reaching[name, binding.principal].append(acl_address(binding))
    for (name, principal), addresses in sorted(reaching.items()):
        more = f" and {len(addresses) - _MANY} more" if len(addresses) > _MANY else ""
        ways = f"{', '.join(addresses[:_MANY])}{more}"
        if principal in virtual_clusters[name].users:
            reason = f"its member gets around the virtual cluster's own ACLs by {ways}"
            yield report_line("L-BYPASS", virtual_cluster=name, subject=principal, reason=reason)
        else:
            reason = f"it is not a member and reaches into the virtual cluster by {ways}"
            yield report_line("L-ISOLATION", virtual_cluster=name, subject=principal, reason=reason)


class _OwnedNames:
    """Names with their owning virtual clusters, sorted so that those with a prefix are adjacent."""

    def __init__(self, owners: Mapping[str, set[str]]) -> None:
        self._owners = owners
        self._sorted = sorted(owners)
        self._all = set().union(*owners.values())

    def of(self, binding: AclBinding) -> set[str]:
        """The virtual clusters that own a name that the binding covers."""
        name = binding.resource_name
        if binding.pattern_type is PatternType.PREFIXED:
            return self.beginning(name)
        return self._all if name == WILDCARD else self._owners.get(name, set())

    def beginning(self, prefix: str) -> set[str]:
        """The owners of the names with this prefix."""
        if not prefix:
            return self._all
        owners: set[str] = set()
        index = bisect_left(self._sorted, prefix)
        while index < len(self._sorted) and self._sorted[index].startswith(prefix):
            owners |= self._owners[self._sorted[index]]
            index += 1
        return owners

    def owner(self, name: str) -> set[str]:
        """The owners of exactly this name."""
        return self._owners.get(name, set())


def _by_id(binding: AclBinding, prefixes: _OwnedNames) -> set[str]:
    """The virtual clusters whose ids a binding on groups or transactional ids covers.

    Their ids begin with the virtual cluster's name and a colon, which no such name contains.
    """
    name = binding.resource_name
    scope, colon, _ = name.partition(SEPARATOR)
    if colon:
        return prefixes.owner(physical_id(scope, ""))
    return prefixes.of(binding)


class _Behind(Struct, frozen=True):
    """The grade, reason and remedy of a code for clients of the gateway."""

    grade: Grade
    reason: str
    remedy: str


BEHIND_GATEWAY = {
    "L-TRANSPARENCY": _Behind(
        Grade.EXACT,
        "the gateway translates link names",
        "let clients connect to the gateway, and use the names of the links",
    ),
    "L-GROUP": _Behind(
        Grade.EXACT,
        "the gateway translates group ids",
        "let clients connect to the gateway, and set group.id to the group's own name",
    ),
    "L-TXN": _Behind(
        Grade.EXACT,
        "the gateway translates transactional ids",
        "let clients connect to the gateway, and set transactional.id to the id itself",
    ),
    "L-LIST": _Behind(
        Grade.EXACT,
        "the gateway lists what is in the client's virtual cluster, by its local names",
        "let clients connect to the gateway",
    ),
    "L-STREAMS": _Behind(
        Grade.NONE,
        "the gateway refuses to create the topics that Streams, Connect and MirrorMaker make "
        "themselves",
        "declare their topics in the virtual cluster, by the names that they use",
    ),
    "L-CLIENTID": _Behind(
        Grade.NONE,
        "the gateway translates names for the client id, but neither ACLs nor quotas of the "
        "virtual cluster reach it on brokers; and anyone can claim a client id",
        "add the client's user instead",
    ),
}
"""The lines that read differently where the cluster has a gateway."""
_GOALS = {
    "isolation": (None, "brokers isolate data with ACLs, and the gateway shows local names only"),
    "transparency to clients": (Grade.EXACT, "clients of the gateway use local names"),
}


def _behind_gateway(line: LoweringLine) -> LoweringLine:
    """The line as it reads for clients of a gateway."""
    if line.code == "L-GOAL" and line.subject in _GOALS:
        grade, reason = _GOALS[line.subject]
        return replace(line, grade=grade or line.grade, reason=reason)
    behind = BEHIND_GATEWAY.get(line.code)
    if behind is None:
        return line
    return replace(line, grade=behind.grade, reason=behind.reason, remedy=behind.remedy)


def _gateway_lines(state: ClusterState, gateway: DeclaredGateway) -> Iterator[LoweringLine]:
    """Lines on what brokers no longer see of clients: their addresses (ACLs, quotas of ip)."""
    yield report_line("L-GATEWAY", subject=gateway.bootstrap_servers)
    for binding in state.acls:
        if binding.host != WILDCARD:
            denies = binding.permission_type is PermissionType.DENY
            reason = (
                "brokers compare its host with the gateway's address, so whom it is to keep out "
                "comes in through the gateway"
            )
            yield report_line(
                "L-GATEWAY-HOST",
                virtual_cluster=_scope(binding),
                subject=acl_address(binding),
                reason=reason if denies else "",
            )
    for entity in state.quotas:
        if any(kind == IP for kind, _ in entity):
            yield report_line("L-GATEWAY-IP", subject=quota_address(entity))


def _scope(binding: AclBinding) -> str:
    if not is_logical(binding):
        return ""
    cluster = binding.resource_type is ResourceType.CLUSTER
    return (binding.resource_name if cluster else binding.virtual_cluster) or ""


def _quota_lines(
    quotas: Mapping[ClientQuotaEntity, ClientQuotaState],
    virtual_clusters: Mapping[str, VirtualCluster],
) -> Iterator[LoweringLine]:
    """Lines for each entity of a virtual cluster, and for global quotas that are hidden."""
    scoped = {e: state for e, state in quotas.items() if e[0][0] == VIRTUAL_CLUSTER}
    if not scoped:
        return
    yield report_line("L-QUOTA-API")
    table = QuotaTable(quotas.values())
    for entity, state in scoped.items():
        name = entity[0][1] or ""
        if len(entity) == 1:
            yield from _cap(table, state, virtual_clusters)
        elif (USER, None) in entity:
            yield report_line("L-QUOTA-EXPAND", virtual_cluster=name, subject=quota_address(entity))
        elif entity[1][0] == CLIENT_ID:
            yield report_line("L-QUOTA-CLIENT", virtual_cluster=name, subject=quota_address(entity))
    for virtual_cluster in virtual_clusters.values():
        yield from _hidden(table, virtual_cluster)


def _cap(
    table: QuotaTable, state: ClientQuotaState, virtual_clusters: Mapping[str, VirtualCluster]
) -> Iterator[LoweringLine]:
    """A line for a cap, which limits each member instead of all together, with the worst case."""
    name = state.entity[0][1]
    capped = [
        virtual_cluster
        for virtual_cluster in virtual_clusters.values()
        if any(
            (cap := table.cap(virtual_cluster.name, key)) is not None and cap[0] == state.entity
            for key in state.quotas
        )
    ]
    grades = {_grade(virtual_cluster) for virtual_cluster in capped} or {Grade.APPROX}
    members = max((_multiple(virtual_cluster) for virtual_cluster in capped), default=0)
    worst = ", ".join(
        f"{key} {quota_text(value)} times {members} = {quota_text(value * members)}"
        for key, value in sorted(state.quotas.items())
    )
    where = "in the largest of them " if name is None else ""
    reason = f"brokers have no quota for several users together; at worst {where}it is {worst}"
    if Grade.NONE in grades:
        reason = "a cap is not lowered where lowering.capLowering is none"
    yield report_line(
        "L-QUOTA-CAP",
        virtual_cluster=name or "",
        subject=quota_address(state.entity),
        reason=reason,
        grade=Grade.NONE if Grade.NONE in grades else Grade.APPROX,
    )


def _grade(virtual_cluster: VirtualCluster) -> Grade:
    return Grade.NONE if virtual_cluster.options.cap_lowering is CapLowering.NONE else Grade.APPROX


def _multiple(virtual_cluster: VirtualCluster) -> int:
    """The factor by which all members together may exceed the cap."""
    if virtual_cluster.options.cap_lowering is CapLowering.DIVIDE:
        return min(len(virtual_cluster.users), 1)
    return len(virtual_cluster.users)


def _hidden(table: QuotaTable, virtual_cluster: VirtualCluster) -> Iterable[LoweringLine]:
    for user in sorted(filter(None, map(user_name, virtual_cluster.users))):
        for (entity, key), target in lower_user_quotas(table, virtual_cluster, user).items():
            value = table.get(entity, key)
            if value is not None and value != target.value:
                yield report_line(
                    "L-QUOTA-SHADOW",
                    virtual_cluster=virtual_cluster.name,
                    subject=quota_address(entity),
                    reason=f"the global {key} of {quota_text(value)} is hidden while the user is a "
                    "member",
                )
