"""Objects of virtual clusters are found by address, and results of requests are recognized."""

import pytest
from builders import a_cluster, a_quota_state, a_topic_state
from msgspec.structs import replace

from kgitops.apply.effects import check_preconditions, is_visible
from kgitops.apply.objects import find_object, same_object
from kgitops.model import requests as req
from kgitops.model.cluster_state import ClusterState
from kgitops.model.registry import Owner, RegistryState
from kgitops.model.resources.acls import (
    AclBinding,
    Operation,
    PatternType,
    PermissionType,
    ResourceType,
)
from kgitops.model.resources.addresses import acl_address, quota_address
from kgitops.model.resources.quotas import make_entity
from kgitops.model.resources.topics import Assignment, RequestedTopicState
from kgitops.model.resources.virtual_clusters import (
    CapLowering,
    ChangeType,
    EntityType,
    LocalName,
    LoweringOptions,
    TopicLink,
    VirtualCluster,
)
from kgitops.model.results import OK
from kgitops.plan.document.plan import Precondition

UUID = "e58ed763-928c-4155-bee9-fdbaaadc15f3"
ORDERS = a_topic_state(f"{UUID}.Orders", assignment=((1, 2), (2, 3)))
ORDERS_LINK = TopicLink(name="Orders", topic=ORDERS.name, topic_id=ORDERS.topic_id)
LOCAL = LocalName("emea", "Orders")
EMEA = VirtualCluster(
    name="emea",
    links={"Orders": ORDERS_LINK},
    users=frozenset({"User:jane"}),
    client_ids=frozenset({"batch"}),
    groups={"etl": "old-etl"},
    transactional_ids=frozenset({"tx"}),
)
SCOPED = AclBinding(
    resource_type=ResourceType.TOPIC,
    resource_name="Orders",
    pattern_type=PatternType.LITERAL,
    principal="User:jane",
    host="*",
    operation=Operation.READ,
    permission_type=PermissionType.ALLOW,
    virtual_cluster="emea",
)
PREFIXED = replace(SCOPED, virtual_cluster_pattern_type=PatternType.PREFIXED)
EVERYWHERE = replace(SCOPED, virtual_cluster="*")
GLOBAL = replace(SCOPED, virtual_cluster="kafka-cluster")


def _state(*found: VirtualCluster, owners: dict[str, Owner] | None = None) -> ClusterState:
    state = replace(a_cluster(ORDERS), virtual_clusters={one.name: one for one in found or (EMEA,)})
    if owners is None:
        return state
    return replace(state, registry=RegistryState(topic_id="r", offset=1, owners=owners))


@pytest.mark.parametrize("wanted", [SCOPED, PREFIXED, EVERYWHERE, GLOBAL])
def test_a_scoped_binding_is_found_by_its_address_and_by_no_other(wanted: AclBinding) -> None:
    """VC-143, VC-144: the same binding in other scopes is another object."""
    for found in (SCOPED, PREFIXED, EVERYWHERE, GLOBAL):
        state = a_cluster(found)
        assert find_object(acl_address(wanted), state) == (wanted if found == wanted else None)


@pytest.mark.parametrize(
    "parts",
    [
        {"virtual-cluster": "emea", "user": "jane"},
        {"virtual-cluster": "emea", "user": None, "client-id": "<default>"},
        {"virtual-cluster": "emea"},
        {"virtual-cluster": None},
        {"user": "jane"},
    ],
)
def test_a_quota_of_a_virtual_cluster_is_found_by_its_address_alone(
    parts: dict[str, str | None],
) -> None:
    """VC-207: of a virtual cluster, its caps, and what is global."""
    entity = make_entity(parts)
    there = a_quota_state(entity, producer_byte_rate=1)
    assert find_object(quota_address(entity), a_cluster(there)) == there
    other = a_quota_state(make_entity({"client-id": "x"}), producer_byte_rate=1)
    assert find_object(quota_address(entity), a_cluster(other)) is None


@pytest.mark.parametrize(
    "address",
    ["vc/emea", *(f"vc/emea/{tail}" for tail in (
        "link/Orders", "topic/Orders", "user/User:jane", "client/batch", "group/etl", "txn/tx"
    ))],
)  # fmt: skip
def test_what_is_in_a_virtual_cluster_is_there_in_this_one_only(address: str) -> None:
    other = replace(EMEA, name="apac")
    assert find_object(address, _state()) is not None
    assert find_object(address, _state(other)) is None
    assert find_object(f"{address}x", _state()) is None


def test_a_topic_that_lost_its_link_is_found_by_its_owners_topic_id() -> None:
    """Its link goes first; then the topic itself is deleted, and only that very topic."""
    address = "vc/emea/topic/Orders"
    owner = Owner(project="p", last_applied={}, topic_id=ORDERS.topic_id)
    unlinked = replace(EMEA, links={})
    assert find_object(address, _state(unlinked, owners={address: owner})) == ORDERS
    assert find_object(address, _state(unlinked)) is None
    for other in (replace(owner, topic_id="another"), replace(owner, spent=True)):
        assert find_object(address, _state(unlinked, owners={address: other})) is None
    elsewhere = replace(EMEA, links={"Orders": TopicLink(name="Orders", topic="gone")})
    assert find_object(address, _state(elsewhere, owners={address: owner})) is None


@pytest.mark.parametrize(
    ("address", "fields", "wrong"),
    [
        ("vc/emea", {"options.capLowering": "clamp", "options.denyWins": "false"}, "divide"),
        ("vc/emea/link/Orders", {"topic": ORDERS.name}, "other"),
        ("vc/emea/group/etl", {"adopts": "old-etl"}, None),
    ],
)
def test_a_field_holds_for_its_own_text_only(
    address: str, fields: dict[str, str | None], wrong: str | None
) -> None:
    def holds(fields: dict[str, str | None]) -> bool:
        expected = Precondition(object=address, exists=True, fields=fields)
        return not check_preconditions([expected], _state())

    assert holds(fields)
    for path in fields:
        assert not holds({**fields, path: wrong})
    assert not holds({"colour": None})


def test_a_user_has_no_fields() -> None:
    expected = Precondition(object="vc/emea/user/User:jane", exists=True, fields={"adopts": None})
    assert check_preconditions([expected], _state())


def test_a_link_to_a_topic_that_was_made_anew_is_not_as_planned() -> None:
    """VC-047: a link holds the topic's id beside its name."""
    expected = Precondition(object="vc/emea/link/Orders", exists=True, topic_id=ORDERS.topic_id)
    assert not check_preconditions([expected], _state())
    assert check_preconditions([replace(expected, topic_id="another")], _state())


def test_a_topic_and_its_link_count_as_one_object() -> None:
    assert same_object("vc/emea/topic/Orders") == same_object("vc/emea/link/Orders")
    assert same_object("vc/emea/topic/Orders") != same_object("vc/emea/topic/orders")
    assert same_object("vc/emea/user/link") == "vc/emea/user/link"
    assert same_object("topic/Orders") == "topic/Orders"


def _member(
    entity_type: EntityType, name: str, **more: str | LocalName | ChangeType
) -> req.AlterVirtualClusterRequest:
    return req.AlterVirtualClusterRequest(
        virtual_cluster="emea",
        entity_type=entity_type,
        entity_name=name,
        **more,  # type: ignore[arg-type]
    )


BARE = VirtualCluster(name="emea")
OPTIONS = LoweringOptions(cap_lowering=CapLowering.DIVIDE, deny_wins=True)
APAC = VirtualCluster(name="apac", users=frozenset({"User:jane"}))
TARGET = LocalName("apac", "Sales")


@pytest.mark.parametrize(
    ("request_", "before", "after"),
    [
        (req.CreateVirtualClusterRequest(virtual_cluster="emea"), [APAC], [BARE]),
        (
            req.CreateVirtualClusterRequest(virtual_cluster="emea", options=OPTIONS),
            [BARE],
            [replace(BARE, options=OPTIONS)],
        ),
        (req.DeleteVirtualClusterRequest(virtual_cluster="emea"), [BARE], [APAC]),
        (
            req.AlterVirtualClusterRequest(virtual_cluster="emea", options=OPTIONS),
            [EMEA],
            [replace(EMEA, options=OPTIONS)],
        ),
        (_member(EntityType.USER, "User:jane"), [BARE], [EMEA]),
        (_member(EntityType.CLIENT_ID, "batch"), [BARE], [EMEA]),
        (_member(EntityType.TRANSACTIONAL_ID, "tx"), [BARE], [EMEA]),
        (_member(EntityType.USER, "User:jane", change=ChangeType.REMOVE), [EMEA], [BARE]),
        (_member(EntityType.USER, "User:jane", change=ChangeType.REMOVE), [EMEA], [APAC]),
        (
            _member(EntityType.USER, "User:jane", moved_from="apac"),
            [EMEA, APAC],
            [EMEA, replace(APAC, users=frozenset())],
        ),
        (
            _member(EntityType.GROUP, "etl", adopts="old-etl"),
            [replace(EMEA, groups={"etl": None})],
            [EMEA],
        ),
        (_member(EntityType.GROUP, "etl"), [EMEA], [replace(EMEA, groups={"etl": None})]),
        (
            _member(EntityType.TOPIC, "Orders", topic=ORDERS.name),
            [replace(EMEA, links={"Orders": TopicLink(name="Orders", topic="other")})],
            [EMEA],
        ),
        (
            _member(EntityType.TOPIC, "Orders", target=TARGET),
            [EMEA, APAC],
            [EMEA, replace(APAC, links={"Sales": TopicLink(name="Sales", topic=ORDERS.name)})],
        ),
        (
            _member(EntityType.TOPIC, "Orders", target=TARGET),
            [EMEA, replace(APAC, links={"Sales": TopicLink(name="Sales", topic="other")})],
            [EMEA, replace(APAC, links={"Sales": TopicLink(name="Sales", topic=ORDERS.name)})],
        ),
        (_member(EntityType.TOPIC, "Orders", change=ChangeType.REMOVE), [EMEA], [BARE]),
    ],
)
def test_a_request_is_seen_once_it_is_as_asked_for(
    request_: req.Request, before: list[VirtualCluster], after: list[VirtualCluster]
) -> None:
    """VC-233; VC-086: a move is done when the entity is gone where it was, too."""
    for reply in (None, OK):
        assert not is_visible(request_, _state(*before), reply)
        assert is_visible(request_, _state(*after), reply)


def test_a_virtual_cluster_that_someone_else_filled_is_not_proven_to_be_ours() -> None:
    request = req.CreateVirtualClusterRequest(virtual_cluster="emea")
    assert not is_visible(request, _state())
    assert is_visible(request, _state(), OK)


def _created(assignment: Assignment = ORDERS.assignment) -> req.CreateTopicRequest:
    requested = RequestedTopicState(
        name=f"{req.NEW_UUID}.Orders", topic_id=None, assignment=assignment, configs={}
    )
    return req.CreateTopicRequest(topic=requested.name, requested_state=requested, local=LOCAL)


def test_a_topic_made_in_a_virtual_cluster_is_there_with_its_link() -> None:
    """VC-056: whatever uuid it was given."""
    request = _created()
    assert is_visible(request, _state())
    assert not is_visible(request, _state(BARE))
    assert not is_visible(request, _state(replace(EMEA, name="apac")))
    assert not is_visible(_created(assignment=((1,),)), _state())
    assert not is_visible(request, _state(), replace(OK, topic_id="another"))


def test_offsets_are_copied_once_they_are_there() -> None:
    """VC-114: what the source commits meanwhile does not undo it."""
    request = req.CopyGroupOffsetsRequest(virtual_cluster="emea", group="etl", source="old-etl")
    source = {("t", 0): 5, ("t", 1): 7}

    def seen(**groups: dict[tuple[str, int], int]) -> tuple[bool, bool]:
        named = {name.replace("__", ":"): offsets for name, offsets in groups.items()}
        state = replace(_state(), group_offsets={"old-etl": source, **named})
        return is_visible(request, state), is_visible(request, state, OK)

    assert seen() == (False, False)
    assert seen(emea__etl={("t", 0): 4, ("t", 1): 7}) == (True, True)
    assert seen(emea__etl={("t", 0): 4}) == (False, True)
    assert is_visible(request, _state(), OK)


def test_a_group_is_deleted_when_nothing_is_committed_for_it() -> None:
    """VC-119: by its physical id; another group of that local name stays out of it."""
    request = req.DeleteGroupRequest(virtual_cluster="emea", group="etl")
    offsets = {("t", 0): 5}
    assert not is_visible(request, replace(_state(), group_offsets={"emea:etl": offsets}))
    assert is_visible(request, replace(_state(), group_offsets={"etl": offsets}))


@pytest.mark.parametrize(
    ("request_", "address"),
    [
        (_created(), "vc/emea/topic/Orders"),
        (
            req.AlterTopicRequest(
                topic=ORDERS.name,
                topic_id=ORDERS.topic_id,
                step=req.AlterStep.CONFIGS,
                requested_state=_created().requested_state,
                local=LOCAL,
            ),
            "vc/emea/topic/Orders",
        ),
        (
            req.DeleteTopicRequest(topic=ORDERS.name, topic_id=ORDERS.topic_id, local=LOCAL),
            "vc/emea/topic/Orders",
        ),
        (req.CreateVirtualClusterRequest(virtual_cluster="emea"), "vc/emea"),
        (req.DeleteVirtualClusterRequest(virtual_cluster="emea"), "vc/emea"),
        (req.AlterVirtualClusterRequest(virtual_cluster="emea", options=OPTIONS), "vc/emea"),
        (_member(EntityType.USER, "User:jane"), "vc/emea/user/User:jane"),
        (_member(EntityType.TOPIC, "Orders", topic="x"), "vc/emea/link/Orders"),
        (
            req.CopyGroupOffsetsRequest(virtual_cluster="emea", group="etl", source="x"),
            "vc/emea/group/etl",
        ),
        (req.DeleteGroupRequest(virtual_cluster="emea", group="etl"), "vc/emea/group/etl"),
    ],
)
def test_a_request_names_the_object_that_it_changes(request_: req.Request, address: str) -> None:
    assert req.request_address(request_) == address
