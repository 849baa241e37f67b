"""What policies are told about virtual clusters, and that each request sees those before it."""

import pytest
from msgspec.structs import replace
from policy.asking import TOPIC_ID, a_state, a_topic_state, alteration, creation, judge, stopped

from kgitops.model import requests as req
from kgitops.model.cluster_state import ClusterState as Snapshot
from kgitops.model.resources.addresses import member_address
from kgitops.model.resources.quotas import USER, VIRTUAL_CLUSTER, make_entity
from kgitops.model.resources.virtual_clusters import (
    CapLowering,
    ChangeType,
    EntityType,
    LocalName,
    LoweringOptions,
    placeholder_topic_name,
)
from kgitops.policy import (
    AlterTopicRequest,
    ClusterState,
    DeleteRecordsRequest,
    DeleteTopicRequest,
    PolicyViolation,
    VirtualClusterChange,
    VirtualClusterManagementPolicy,
)
from kgitops.policy.api.requests import AlterVirtualClusterRequest as AlterVirtualCluster
from kgitops.policy.api.requests import (
    CreateTopicLinkRequest,
    DeleteTopicLinkRequest,
    PolicyRequest,
    Principal,
)
from kgitops.policy.api.requests import CreateVirtualClusterRequest as CreateVirtualCluster
from kgitops.policy.api.requests import DeleteVirtualClusterRequest as DeleteVirtualCluster
from kgitops.policy.evaluate.policy_input import PolicyInput, build_input
from kgitops.policy.state import SimulatedState
from kgitops.policy.testing import acl, virtual_cluster

UUID = "11111111-2222-3333-4444-555555555555"
ORDERS = f"{UUID}.Orders"
SALES = virtual_cluster("emea.sales", users=["jane"], groups=["etl"], links={"Orders": ORDERS})
ANALYTICS = virtual_cluster("analytics", links={"sales.orders": ORDERS})
LOCAL = LocalName("emea.sales", "Orders")


def state() -> Snapshot:
    """Sales' topic Orders, which analytics sees too."""
    topics = a_state(a_topic_state(ORDERS), a_topic_state("plain"))
    return replace(topics, virtual_clusters={"emea.sales": SALES, "analytics": ANALYTICS})


def link(
    change: ChangeType = ChangeType.ADD,
    name: str = "o",
    topic: str | None = "plain",
    target: LocalName | None = None,
) -> req.AlterVirtualClusterRequest:
    """A link of analytics."""
    return req.AlterVirtualClusterRequest(
        virtual_cluster="analytics",
        change=change,
        entity_type=EntityType.TOPIC,
        entity_name=name,
        topic=topic,
        target=target,
    )


def member(
    entity_type: EntityType, name: str, change: ChangeType = ChangeType.ADD
) -> req.AlterVirtualClusterRequest:
    """A member of emea.sales."""
    return req.AlterVirtualClusterRequest(
        virtual_cluster="emea.sales", change=change, entity_type=entity_type, entity_name=name
    )


def asked(request: req.Request, *before: req.Request) -> PolicyInput:
    """What policies are asked after the requests before it were accepted."""
    world = SimulatedState(state())
    for earlier in before:
        world.accept(earlier)
    return build_input(request, Principal("User", "boss"), world, None)


def a_new_topic(local: LocalName, partitions: int = 1) -> req.CreateTopicRequest:
    """A topic to be made in a virtual cluster, as plans ask for it."""
    new = creation(f"{req.NEW_UUID}.{local.name}", assignment=((1, 2),) * partitions)
    return replace(new, local=local)


class Watching(VirtualClusterManagementPolicy):
    """Remembers what it is asked, refuses what its fault says."""

    def __init__(self, fault: str = "") -> None:
        self.told: list[tuple[PolicyRequest, frozenset[str]]] = []
        self._fault = fault

    def _look(self, request: PolicyRequest, cluster_state: ClusterState) -> None:
        self.told.append((request, cluster_state.virtual_clusters()))
        if self._fault and self._fault in repr(request):
            raise PolicyViolation(self._fault)

    def validate_create_virtual_cluster(
        self, request: CreateVirtualCluster, cluster_state: ClusterState
    ) -> None:
        self._look(request, cluster_state)

    def validate_alter_virtual_cluster(
        self, request: AlterVirtualCluster, cluster_state: ClusterState
    ) -> None:
        self._look(request, cluster_state)

    def validate_delete_virtual_cluster(
        self, request: DeleteVirtualCluster, cluster_state: ClusterState
    ) -> None:
        self._look(request, cluster_state)

    def validate_create_topic_link(
        self, request: CreateTopicLinkRequest, cluster_state: ClusterState
    ) -> None:
        self._look(request, cluster_state)

    def validate_delete_topic_link(
        self, request: DeleteTopicLinkRequest, cluster_state: ClusterState
    ) -> None:
        self._look(request, cluster_state)


def test_a_topic_of_a_virtual_cluster_is_known_by_all_its_names() -> None:
    """VC-065: virtual cluster, link name and physical name; patterns match the local name."""
    new = replace(creation(f"{req.NEW_UUID}.Orders"), local=LOCAL)
    on = {"topic": ORDERS, "topic_id": TOPIC_ID, "local": LOCAL}
    requests: list[tuple[req.Request, str]] = [
        (new, f"{req.NEW_UUID}.Orders"),
        (replace(alteration(a_topic_state(ORDERS)), local=LOCAL), ORDERS),
        (req.DeleteTopicRequest(**on), ORDERS),  # type: ignore[arg-type]
        (req.DeleteRecordsRequest(deleted_message_offsets={0: 1}, **on), ORDERS),  # type: ignore[arg-type]
    ]
    for request, physical in requests:
        found = asked(request)
        assert found.name == "Orders"
        assert found.virtual_cluster == "emea.sales"
        assert found.topic == physical
        assert found.address == "vc/emea.sales/topic/Orders"
        told = found.request
        names = {key: getattr(told, key) for key in ("name", "topic", "virtual_cluster")}
        assert names == {"name": "Orders", "topic": physical, "virtual_cluster": "emea.sales"}


def test_a_topic_of_no_virtual_cluster_is_as_it_was() -> None:
    """VC-004, VC-065: without a local name, the name is the topic's own."""
    found = asked(alteration(a_topic_state("plain")))
    assert (found.name, found.virtual_cluster, found.topic) == ("plain", None, "plain")
    assert isinstance(found.request, AlterTopicRequest)
    assert (found.request.name, found.request.virtual_cluster) == ("plain", None)
    assert found.request.links == frozenset()


def test_a_change_of_a_shared_topic_names_all_who_see_it() -> None:
    """VC-036, VC-408: a policy sees every link of an altered, deleted or emptied topic."""
    everybody = {LOCAL, LocalName("analytics", "sales.orders")}
    on = {"topic": ORDERS, "topic_id": TOPIC_ID}
    requests: list[tuple[req.Request, type[PolicyRequest]]] = [
        (alteration(a_topic_state(ORDERS)), AlterTopicRequest),
        (req.DeleteTopicRequest(**on), DeleteTopicRequest),
        (req.DeleteRecordsRequest(deleted_message_offsets={0: 1}, **on), DeleteRecordsRequest),  # type: ignore[arg-type]
    ]
    for request, kind in requests:
        judged = asked(request).request
        assert isinstance(judged, AlterTopicRequest | DeleteTopicRequest | DeleteRecordsRequest)
        assert type(judged) is kind
        assert judged.links == everybody
        left = asked(request, link(ChangeType.REMOVE, "sales.orders", topic=None)).request
        assert isinstance(left, AlterTopicRequest | DeleteTopicRequest | DeleteRecordsRequest)
        assert left.links == {LOCAL}


def test_a_link_tells_both_names_and_who_else_sees_the_topic() -> None:
    """VC-408: virtual cluster, link name, physical name, who asks, who is affected."""
    found = asked(link(name="orders", topic=ORDERS))
    request = found.request
    assert isinstance(request, CreateTopicLinkRequest)
    assert (found.api, found.name) == ("CreateTopicLink", "orders")
    assert found.address == "vc/analytics/link/orders"
    assert (request.virtual_cluster, request.link, request.topic) == ("analytics", "orders", ORDERS)
    assert str(request.principal) == "User:boss"
    assert request.affected == {"emea.sales"}
    assert request.links == {LOCAL, LocalName("analytics", "sales.orders")}
    removed = asked(link(ChangeType.REMOVE, "sales.orders", topic=None))
    assert removed.api == "DeleteTopicLink"
    assert isinstance(removed.request, DeleteTopicLinkRequest)
    assert removed.request.topic == ORDERS
    assert removed.request.links == {LOCAL}


def test_a_link_that_is_there_already_is_none_of_the_others() -> None:
    """VC-046, VC-408: asking again for one's own name affects those that it affected before."""
    again = asked(link(name="sales.orders", topic=ORDERS)).request
    assert isinstance(again, CreateTopicLinkRequest)
    assert again.links == {LOCAL}


def test_a_link_to_a_topic_of_the_same_plan_finds_it() -> None:
    """VC-065: the target is the topic that was made before, which has no name of its own yet."""
    target = LocalName("emea.sales", "New")
    request = asked(link(topic=None, target=target), a_new_topic(target)).request
    assert isinstance(request, CreateTopicLinkRequest)
    assert request.topic == placeholder_topic_name(target)
    assert request.affected == {"emea.sales"}
    alone = asked(link(topic=None, target=target)).request
    assert isinstance(alone, CreateTopicLinkRequest)
    assert alone.topic == placeholder_topic_name(target)
    assert alone.affected == frozenset()


def test_a_link_to_a_topic_to_come_finds_no_other_virtual_clusters() -> None:
    """VC-024, VC-408: who agreed to a link of analytics' New did not agree to one of sales'."""
    target = LocalName("emea.sales", "New")
    other = a_new_topic(LocalName("analytics", "New"))
    request = asked(link(topic=None, target=target), other).request
    assert isinstance(request, CreateTopicLinkRequest)
    assert request.links == frozenset()


def test_two_new_topics_of_one_name_are_two() -> None:
    """VC-024: Orders of one virtual cluster is not Orders of another, nor overlays it."""
    world = SimulatedState(state())
    seen = ClusterState(world)
    topics = []
    for partitions, name in enumerate(("a", "b"), start=1):
        world.accept(req.CreateVirtualClusterRequest(virtual_cluster=name))
        new = a_new_topic(LocalName(name, "Same"), partitions)
        assert seen.topic_state(new.topic) is None  # The other one's must not be taken for it.
        world.accept(new)
        found = seen.virtual_cluster(name)
        assert found is not None
        topics.append(seen.topic_state(found.links["Same"].topic))
    assert [topic and topic.num_partitions for topic in topics] == [1, 2]
    assert world.topic_count == 4


@pytest.mark.parametrize(
    ("entity_type", "name", "field"),
    [
        (EntityType.USER, "User:joe", "users"),
        (EntityType.CLIENT_ID, "app", "client_ids"),
        (EntityType.GROUP, "etl2", "groups"),
        (EntityType.TRANSACTIONAL_ID, "tx", "transactional_ids"),
    ],
)
def test_a_member_comes_and_goes(entity_type: EntityType, name: str, field: str) -> None:
    """VC-408: the state before and after, and the one member that differs."""
    adding = member(entity_type, name)
    added = asked(adding)
    request = added.request
    assert isinstance(request, AlterVirtualCluster)
    assert (added.api, added.name) == ("AlterVirtualCluster", "emea.sales")
    assert added.address == member_address("emea.sales", entity_type, name)
    assert (request.change, request.entity_type, request.entity_name) == (
        VirtualClusterChange.ADD,
        entity_type,
        name,
    )
    assert getattr(request.requested_state, field) - getattr(request.current_state, field) == {name}
    removed = asked(member(entity_type, name, ChangeType.REMOVE), adding).request
    assert isinstance(removed, AlterVirtualCluster)
    assert removed.change is VirtualClusterChange.REMOVE
    assert name in getattr(removed.current_state, field)
    assert name not in getattr(removed.requested_state, field)


def test_a_move_names_the_virtual_cluster_that_gives_the_member_up() -> None:
    """VC-086, VC-408: the other virtual cluster is affected, and without the user afterwards."""
    moving = req.AlterVirtualClusterRequest(
        virtual_cluster="analytics",
        entity_type=EntityType.USER,
        entity_name="User:jane",
        moved_from="emea.sales",
    )
    request = asked(moving).request
    assert isinstance(request, AlterVirtualCluster)
    assert (request.moved_from, request.affected) == ("emea.sales", {"emea.sales"})
    world = SimulatedState(state())
    world.accept(moving)
    seen = ClusterState(world)
    assert seen.virtual_cluster("emea.sales").users == frozenset()  # type: ignore[union-attr]
    assert seen.virtual_cluster("analytics").users == {"User:jane"}  # type: ignore[union-attr]


def test_what_becomes_of_offsets_is_judged_as_a_change_of_the_virtual_cluster() -> None:
    """VC-408: nothing passes for want of a method."""
    copied = req.CopyGroupOffsetsRequest(virtual_cluster="emea.sales", group="etl", source="old")
    deleted = req.DeleteGroupRequest(virtual_cluster="emea.sales", group="etl")
    for request, change, adopts in (
        (copied, VirtualClusterChange.COPY_OFFSETS, "old"),
        (deleted, VirtualClusterChange.DELETE_GROUP, None),
    ):
        found = asked(request)
        assert found.api == "AlterVirtualCluster"
        assert found.address == "vc/emea.sales/group/etl"
        told = found.request
        assert isinstance(told, AlterVirtualCluster)
        assert (told.change, told.entity_name, told.adopts) == (change, "etl", adopts)
        assert told.requested_state == told.current_state
        refusing = Watching(str(change))
        assert stopped(judge(refusing, state(), request)) == [True]


def test_options_are_an_alteration_without_a_member() -> None:
    """VC-221: the virtual cluster is the object."""
    options = LoweringOptions(cap_lowering=CapLowering.DIVIDE)
    found = asked(req.AlterVirtualClusterRequest(virtual_cluster="emea.sales", options=options))
    request = found.request
    assert found.address == "vc/emea.sales"
    assert isinstance(request, AlterVirtualCluster)
    assert (request.change, request.entity_type) == (VirtualClusterChange.OPTIONS, None)
    assert request.requested_state.options == options
    assert request.requested_state.users == request.current_state.users


def test_scoped_acls_and_quotas_tell_their_virtual_cluster() -> None:
    """VC-065: the name is the local one, the virtual cluster stands beside it."""
    binding = acl(name="Orders", virtual_cluster="emea.sales")
    found = asked(req.CreateAclRequest(binding=binding))
    assert (found.name, found.virtual_cluster) == ("Orders", "emea.sales")
    assert asked(req.CreateAclRequest(binding=acl())).virtual_cluster is None
    scoped = make_entity({VIRTUAL_CLUSTER: "quota", USER: "jane"})
    quota = asked(req.AlterClientQuotaRequest(entity=scoped, quotas={"producer_byte_rate": 1.0}))
    assert (quota.name, quota.virtual_cluster) == ("user=jane", "quota")
    cap = make_entity({VIRTUAL_CLUSTER: "emea.sales"})
    capped = asked(req.AlterClientQuotaRequest(entity=cap, quotas={"producer_byte_rate": 1.0}))
    assert capped.name == "virtual-cluster=emea.sales"


def test_each_request_sees_what_those_before_it_made() -> None:
    """P201-41, VC-408: also of virtual clusters; what is refused is not seen."""
    policy = Watching("User:no")
    judgements = judge(
        policy,
        state(),
        req.CreateVirtualClusterRequest(virtual_cluster="new"),
        req.AlterVirtualClusterRequest(
            virtual_cluster="new", entity_type=EntityType.USER, entity_name="User:no"
        ),
        req.AlterVirtualClusterRequest(
            virtual_cluster="new", entity_type=EntityType.USER, entity_name="User:yes"
        ),
        req.DeleteVirtualClusterRequest(virtual_cluster="new"),
        req.DeleteVirtualClusterRequest(virtual_cluster="analytics"),
    )
    assert stopped(judgements) == [False, True, False, False, False]
    assert [names for _, names in policy.told] == [
        {"emea.sales", "analytics"},
        {"emea.sales", "analytics", "new"},
        {"emea.sales", "analytics", "new"},
        {"emea.sales", "analytics", "new"},
        {"emea.sales", "analytics"},
    ]
    third = policy.told[2][0]
    assert isinstance(third, AlterVirtualCluster)
    assert third.requested_state.users == {"User:yes"}


def test_the_links_of_a_topic_follow_what_was_accepted() -> None:
    """VC-408: a link that is gone affects nobody any more."""
    world = SimulatedState(state())
    seen = ClusterState(world)
    assert seen.links_to(ORDERS) == {LOCAL, LocalName("analytics", "sales.orders")}
    world.accept(link(ChangeType.REMOVE, "sales.orders", topic=None))
    assert seen.links_to(ORDERS) == {LOCAL}
    world.accept(link(topic=ORDERS))
    assert seen.links_to(ORDERS) == {LOCAL, LocalName("analytics", "o")}
    world.accept(req.DeleteVirtualClusterRequest(virtual_cluster="analytics"))
    assert seen.links_to(ORDERS) == {LOCAL}
    assert seen.virtual_cluster("analytics") is None


def test_a_policy_cannot_change_what_it_is_shown() -> None:
    """P201-21: links too."""
    found = ClusterState(SimulatedState(state())).virtual_cluster("emea.sales")
    assert found is not None
    with pytest.raises(TypeError):
        found.links["x"] = found.links["Orders"]  # type: ignore[index]


def test_a_plan_without_its_beginning_is_judged_too() -> None:
    """VC-408: what a policy sees is what is asked for, also of a virtual cluster nobody knows."""
    policy = Watching()
    ghost = req.AlterVirtualClusterRequest(
        virtual_cluster="ghost", entity_type=EntityType.USER, entity_name="User:boo"
    )
    judge(policy, state(), ghost, req.DeleteVirtualClusterRequest(virtual_cluster="ghost"))
    assert policy.told[1][1] == {"emea.sales", "analytics", "ghost"}
    assert req.request_address(ghost) == "vc/ghost/user/User:boo"
