"""Plans that make and remove virtual clusters, by values: the scenario of KIP-1134's rules."""

from collections.abc import Mapping

from msgspec.structs import replace
from report.plans import make_plan

from kgitops.model import requests as req
from kgitops.model.lowered import Grade, LoweringLine
from kgitops.model.registry import Json
from kgitops.model.resources.acls import (
    AclBinding,
    Operation,
    PatternType,
    PermissionType,
    ResourceType,
)
from kgitops.model.resources.addresses import (
    acl_address,
    local_topic_address,
    member_address,
    quota_address,
    virtual_cluster_address,
)
from kgitops.model.resources.kinds import Kind
from kgitops.model.resources.quotas import USER, VIRTUAL_CLUSTER, make_entity
from kgitops.model.resources.topics import RequestedTopicState
from kgitops.model.resources.virtual_clusters import ChangeType, EntityType, LocalName
from kgitops.model.source import Source
from kgitops.plan.document import risks
from kgitops.plan.document.plan import Action, Change, Plan, PlannedRequest, Precondition
from kgitops.plan.document.risks import Risk

SALES, ANALYTICS = "emea.sales", "analytics"
STREAM = "emea.eu.sales.SalesStream"
UUID = "0b1f3c52-6d0e-4a7b-9c39-6f0d5a1d2e33"
_KINDS = {
    EntityType.TOPIC: Kind.LINK,
    EntityType.GROUP: Kind.GROUP,
    EntityType.USER: Kind.BINDING,
    EntityType.CLIENT_ID: Kind.BINDING,
    EntityType.TRANSACTIONAL_ID: Kind.BINDING,
}
_RISKS = {
    EntityType.TOPIC: risks.LINK_ADD,
    EntityType.GROUP: risks.GROUP_ADD,
    EntityType.USER: risks.MEMBER_BIND,
    EntityType.CLIENT_ID: risks.MEMBER_BIND,
    EntityType.TRANSACTIONAL_ID: risks.TRANSACTIONAL_ID_ADD,
}


def change(
    address: str,
    kind: Kind,
    action: Action,
    risk: Risk,
    *requests: req.Request,
    line: int = 3,
    after: Mapping[str, Json] | None = None,
    because: str = "",
    physical: tuple[str, ...] = (),
    derived_from: tuple[str, ...] = (),
) -> Change:
    """One change with its requests; the second waits for the first."""
    made = action is Action.CREATE
    expects = Precondition(object=address, exists=not made)
    return Change(
        address=address,
        kind=kind,
        actions=(action,),
        risks=(risk,),
        because=because or ("it is declared" if made else "its document is gone"),
        source=Source("manifests/tenants.yaml", line, 1) if made else None,
        before=None if made else {},
        after=(after or {}) if made else None,
        requests=tuple(
            PlannedRequest(
                id=f"{address}#{number}",
                request=request,
                depends_on=(f"{address}#{number - 1}",) if number else (),
                physical=physical,
                expects=expects,
            )
            for number, request in enumerate(requests)
        ),
        derived_from=derived_from,
    )


def created(name: str, line: int = 3) -> Change:
    """``+ virtual cluster NAME``."""
    request = req.CreateVirtualClusterRequest(virtual_cluster=name)
    return change(
        virtual_cluster_address(name),
        Kind.VIRTUAL_CLUSTER,
        Action.CREATE,
        risks.VIRTUAL_CLUSTER_CREATE,
        request,
        line=line,
        physical=(f"registry: vcs/vc/{name}",),
    )


def made_topic(virtual_cluster: str, name: str, partitions: int = 6, line: int = 12) -> Change:
    """A topic that is made in a virtual cluster, with its link."""
    local = LocalName(virtual_cluster, name)
    physical = f"{req.NEW_UUID}.{name}"
    state = RequestedTopicState(
        name=physical,
        topic_id=None,
        assignment=((1, 2, 3),) * partitions,
        configs={"retention.ms": "604800000"},
        requested_configs={"retention.ms": "604800000"},
        generated_replica_assignments=True,
    )
    return change(
        local_topic_address(local),
        Kind.TOPIC,
        Action.CREATE,
        risks.TOPIC_CREATE,
        req.CreateTopicRequest(topic=physical, requested_state=state, local=local),
        line=line,
        after={"partitions": partitions, "configs": {"retention.ms": "604800000"}},
        physical=(f"CreateTopics {physical}", f"registry: vcs/link/{local}"),
    )


def member(
    virtual_cluster: str,
    entity_type: EntityType,
    name: str,
    *more: req.Request,
    line: int = 20,
    risk: Risk | None = None,
    **fields: object,
) -> Change:
    """A link or another member that is added."""
    request = req.AlterVirtualClusterRequest(
        virtual_cluster=virtual_cluster,
        entity_type=entity_type,
        entity_name=name,
        **fields,  # type: ignore[arg-type]
    )
    return change(
        member_address(virtual_cluster, entity_type, name),
        _KINDS[entity_type],
        Action.CREATE,
        risk or _RISKS[entity_type],
        request,
        *more,
        line=line,
    )


def grant(
    virtual_cluster: str,
    principal: str,
    operation: Operation,
    resource: ResourceType,
    name: str,
    pattern: PatternType = PatternType.LITERAL,
    derived_from: tuple[str, ...] = (),
) -> Change:
    """A right in a virtual cluster."""
    scope = {} if resource is ResourceType.CLUSTER else {"virtual_cluster": virtual_cluster}
    acl = AclBinding(
        resource_type=resource,
        resource_name=name,
        pattern_type=pattern,
        principal=principal,
        host="*",
        operation=operation,
        permission_type=PermissionType.ALLOW,
        **scope,  # type: ignore[arg-type]
    )
    return change(
        acl_address(acl),
        Kind.ACL,
        Action.CREATE,
        risks.ACL_GRANT,
        req.CreateAclRequest(binding=acl),
        line=40,
        physical=(f"CreateAcls {principal} Allow {operation} {resource} {name}",),
        derived_from=derived_from,
    )


def limit(entity: Mapping[str, str | None], key: str, value: float) -> Change:
    """A quota."""
    whom = make_entity(entity)
    return change(
        quota_address(whom),
        Kind.QUOTA,
        Action.CREATE,
        risks.QUOTA_CREATE,
        req.AlterClientQuotaRequest(entity=whom, quotas={key: value}),
        line=60,
        after={"quotas": {key: f"{value:.0f}"}},
    )


def removed(virtual_cluster: str, entity_type: EntityType, name: str, topic: str = "") -> Change:
    """A member that goes."""
    risk = risks.LINK_REMOVE if entity_type is EntityType.TOPIC else risks.MEMBER_UNBIND
    request = req.AlterVirtualClusterRequest(
        virtual_cluster=virtual_cluster,
        change=ChangeType.REMOVE,
        entity_type=entity_type,
        entity_name=name,
    )
    address = member_address(virtual_cluster, entity_type, name)
    gone = change(address, _KINDS[entity_type], Action.DELETE, risk, request)
    return replace(gone, before={"topic": topic} if topic else {})


def lowering() -> tuple[LoweringLine, ...]:
    """Some lines of what Kafka does not keep."""
    transparency = "clients must use physical topic names; brokers don't resolve link names"
    group = "clients must set group.id; a wrong one is denied, not translated"
    return (
        LoweringLine(
            code="L-NATIVE",
            grade=None,
            reason="this Kafka has no virtual clusters; kgitops keeps them in __kgitops",
        ),
        *(
            LoweringLine(
                code=code,
                grade=Grade.CLIENT,
                virtual_cluster=name,
                subject=subject,
                reason=reason,
                remedy=remedy,
            )
            for code, name, subject, reason, remedy in (
                ("L-TRANSPARENCY", ANALYTICS, "", transparency, "see kgitops vc bindings"),
                ("L-TRANSPARENCY", SALES, "", transparency, "see kgitops vc bindings"),
                ("L-GROUP", ANALYTICS, "rpt-*", group, "set group.id=analytics:rpt-…"),
                ("L-GROUP", SALES, "sales-etl", group, "set group.id=emea.sales:sales-etl"),
            )
        ),
        LoweringLine(
            code="L-ACL-CLUSTER",
            grade=Grade.NONE,
            virtual_cluster=SALES,
            subject="User:sales-admin AlterVirtualCluster",
            reason="kgitops checks the right, brokers don't",
            remedy="keep Alter on the cluster from everyone else",
        ),
    )


def golden_plan() -> Plan:
    """Commit 1 of the scenario: 26 changes."""
    topic, group = ResourceType.TOPIC, ResourceType.GROUP
    copied = (member_address(SALES, EntityType.USER, "User:sales-app"),)
    read, write = Operation.READ, Operation.WRITE
    app, reader = "User:sales-app", "User:ana-reader"
    copy = req.CopyGroupOffsetsRequest(virtual_cluster=SALES, group="sales-etl", source="sales-etl")
    changes = (
        created(ANALYTICS),
        created(SALES, line=9),
        made_topic(ANALYTICS, "Reports", 3),
        made_topic(SALES, "Orders"),
        member(ANALYTICS, EntityType.TOPIC, "sales.orders", target=LocalName(SALES, "Orders")),
        member(SALES, EntityType.TOPIC, "SalesStream", topic=STREAM),
        member(SALES, EntityType.TOPIC, STREAM, topic=STREAM),
        member(
            SALES,
            EntityType.GROUP,
            "sales-etl",
            copy,
            adopts="sales-etl",
            risk=risks.GROUP_TAKE_OVER,
        ),
        grant(ANALYTICS, reader, read, group, "rpt-", PatternType.PREFIXED),
        grant(ANALYTICS, reader, write, topic, "Reports"),
        grant(ANALYTICS, reader, read, topic, "sales.orders"),
        grant(
            SALES,
            "User:sales-admin",
            Operation.ALTER_VIRTUAL_CLUSTER,
            ResourceType.CLUSTER,
            SALES,
        ),
        grant(SALES, app, read, group, "sales-etl", derived_from=copied),
        grant(SALES, app, read, topic, "Orders"),
        grant(SALES, app, write, topic, "Orders"),
        *(
            grant(SALES, app, operation, topic, name, derived_from=copied)
            for name in ("SalesStream", STREAM)
            for operation in (read, write)
        ),
        grant(SALES, app, write, ResourceType.TRANSACTIONAL_ID, "sales-", PatternType.PREFIXED),
        limit({VIRTUAL_CLUSTER: None}, "consumer_byte_rate", 52428800),
        limit({VIRTUAL_CLUSTER: SALES}, "producer_byte_rate", 20971520),
        limit({VIRTUAL_CLUSTER: ANALYTICS, USER: None}, "consumer_byte_rate", 10485760),
        limit({VIRTUAL_CLUSTER: SALES, USER: "sales-app"}, "producer_byte_rate", 10485760),
        member(ANALYTICS, EntityType.USER, reader),
        member(SALES, EntityType.USER, app),
    )
    return make_plan(*changes, lowering=lowering())


def farewell_plan() -> Plan:
    """The removal of analytics, whose topic and group go with it."""
    local = LocalName(ANALYTICS, "Reports")
    physical = f"{UUID}.Reports"
    return make_plan(
        removed(ANALYTICS, EntityType.USER, "User:ana-reader"),
        change(
            member_address(ANALYTICS, EntityType.GROUP, "rpt"),
            Kind.GROUP,
            Action.DELETE,
            risks.GROUP_DELETE,
            req.DeleteGroupRequest(virtual_cluster=ANALYTICS, group="rpt"),
        ),
        removed(ANALYTICS, EntityType.TOPIC, "Reports", physical),
        removed(ANALYTICS, EntityType.TOPIC, "sales.orders", f"{UUID}.Orders"),
        replace(
            change(
                local_topic_address(local),
                Kind.TOPIC,
                Action.DELETE,
                risks.TOPIC_DELETE,
                req.DeleteTopicRequest(topic=physical, topic_id="A" * 22, local=local),
            ),
            impact={"partitions": 3},
        ),
        change(
            virtual_cluster_address(ANALYTICS),
            Kind.VIRTUAL_CLUSTER,
            Action.DELETE,
            risks.VIRTUAL_CLUSTER_DELETE,
            req.DeleteVirtualClusterRequest(virtual_cluster=ANALYTICS),
        ),
    )
