"""Requests about virtual clusters, one after the other: seen once done, and not before."""

from apply.plans import open_cluster
from msgspec.structs import replace

from kgitops.apply.effects import is_visible
from kgitops.apply.run.reading import read_objects
from kgitops.apply.steps import Step
from kgitops.cluster.embedded.adapter import EmbeddedCluster
from kgitops.model import requests as req
from kgitops.model.resources.acls import (
    AclBinding,
    Operation,
    PatternType,
    PermissionType,
    ResourceType,
)
from kgitops.model.resources.kinds import Kind
from kgitops.model.resources.quotas import make_entity
from kgitops.model.resources.topics import RequestedTopicState
from kgitops.model.resources.virtual_clusters import (
    CapLowering,
    ChangeType,
    EntityType,
    LocalName,
    LoweringOptions,
)
from kgitops.model.source import Source
from kgitops.plan.document.plan import Action, Change, PlannedRequest, Precondition
from kgitops.plan.document.risks import REGISTRY_ONLY

GLOBAL = RequestedTopicState(name="stream", topic_id=None, assignment=((1, 2), (2, 3)), configs={})
ORDERS = replace(GLOBAL, name=f"{req.NEW_UUID}.Orders")
LOCAL = LocalName("emea", "Orders")
READ = AclBinding(
    resource_type=ResourceType.TOPIC,
    resource_name="Orders",
    pattern_type=PatternType.LITERAL,
    principal="User:jane",
    host="*",
    operation=Operation.READ,
    permission_type=PermissionType.ALLOW,
    virtual_cluster="emea",
)
QUOTA = make_entity({"virtual-cluster": "emea", "user": "jane"})
OPTIONS = LoweringOptions(cap_lowering=CapLowering.NONE)


def alter(
    name: str,
    entity_type: EntityType | None,
    entity: str | None,
    change: ChangeType = ChangeType.ADD,
    **more: str | LocalName | LoweringOptions,
) -> req.AlterVirtualClusterRequest:
    return req.AlterVirtualClusterRequest(
        virtual_cluster=name,
        change=change,
        entity_type=entity_type,
        entity_name=entity,
        **more,  # type: ignore[arg-type]
    )


UP: list[req.Request] = [
    req.CreateVirtualClusterRequest(virtual_cluster="emea"),
    req.CreateVirtualClusterRequest(virtual_cluster="apac", options=OPTIONS),
    alter("emea", None, None, options=OPTIONS),
    req.CreateTopicRequest(topic=ORDERS.name, requested_state=ORDERS, local=LOCAL),
    alter("apac", EntityType.TOPIC, "sales.orders", target=LOCAL),
    alter("emea", EntityType.TOPIC, "Stream", topic="stream"),
    alter("emea", EntityType.TOPIC, "Stream", target=LOCAL, replaces="stream"),
    alter("emea", EntityType.GROUP, "etl", adopts="old-etl"),
    req.CopyGroupOffsetsRequest(virtual_cluster="emea", group="etl", source="old-etl"),
    alter("emea", EntityType.TRANSACTIONAL_ID, "tx"),
    req.CreateAclRequest(binding=READ),
    req.AlterClientQuotaRequest(entity=QUOTA, quotas={"producer_byte_rate": 5.0}),
    alter("emea", EntityType.CLIENT_ID, "batch"),
    alter("emea", EntityType.USER, "User:jane"),
    alter("apac", EntityType.USER, "User:jane", moved_from="emea"),
]
GONE = ChangeType.REMOVE


def down(cluster: EmbeddedCluster) -> list[req.Request]:
    """All of UP in reverse; the topic has its physical name by then."""
    state = cluster.read_state()
    topic = state.topics[state.virtual_clusters["emea"].links["Orders"].topic]
    return [
        alter("apac", EntityType.USER, "User:jane", GONE),
        alter("emea", EntityType.CLIENT_ID, "batch", GONE),
        req.AlterClientQuotaRequest(entity=QUOTA, quotas={"producer_byte_rate": None}),
        req.DeleteAclRequest(binding=READ),
        alter("emea", EntityType.TRANSACTIONAL_ID, "tx", GONE),
        alter("emea", EntityType.GROUP, "etl", GONE),
        req.DeleteGroupRequest(virtual_cluster="emea", group="etl"),
        alter("emea", EntityType.TOPIC, "Stream", GONE),
        alter("apac", EntityType.TOPIC, "sales.orders", GONE),
        alter("emea", EntityType.TOPIC, "Orders", GONE),
        req.DeleteTopicRequest(topic=topic.name, topic_id=topic.topic_id, local=LOCAL),
        req.DeleteVirtualClusterRequest(virtual_cluster="apac"),
        req.DeleteVirtualClusterRequest(virtual_cluster="emea"),
    ]


def _step(request: req.Request) -> Step:
    address = req.request_address(request)
    expects = Precondition(object=address, exists=True)
    planned = PlannedRequest(id="r", request=request, expects=expects)
    change = Change(
        address=address,
        kind=Kind.VIRTUAL_CLUSTER,
        actions=(Action.UPDATE,),
        risks=(REGISTRY_ONLY,),
        because="",
        source=Source("", 1, 1),
        before=None,
        after=None,
    )
    return Step(id="r", change=change, planned=planned)


def test_every_request_is_seen_once_it_is_carried_out_and_not_before() -> None:
    """With what an apply looks at for it, and nothing else: topics by their links, groups."""
    cluster = open_cluster()
    cluster.execute(
        [req.CreateTopicRequest(topic="stream", requested_state=GLOBAL)],
        validate_only=False,
        principal="User:other",
    )
    cluster.commit("old-etl", {("stream", 0): 4, ("stream", 1): 2})
    seen = set()
    for requests in (UP, None):
        for request in requests or down(cluster):
            step = _step(request)
            assert not is_visible(request, read_objects(cluster, [step])), request
            (answer,) = cluster.execute([request], validate_only=False, principal="User:kgitops")
            assert answer.ok, (request, answer)
            after = read_objects(cluster, [step])
            assert is_visible(request, after), request
            assert is_visible(request, after, answer), request
            seen.add(req.api_name(request))
    assert seen >= {
        "CreateVirtualCluster",
        "AlterVirtualCluster",
        "DeleteVirtualCluster",
        "CopyGroupOffsets",
        "DeleteGroup",
    }
    assert cluster.read_state().virtual_clusters == {}
