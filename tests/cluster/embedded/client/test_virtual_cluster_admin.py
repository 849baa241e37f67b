"""KIP-1134's five requests, as an admin client makes them: batches, per-item answers, rights."""

import inspect

import pytest
from cluster.clusters import (
    ROOT,
    a_cluster,
    a_grant,
    a_guarded_cluster,
    a_new_topic,
    admin,
    cluster_grant,
    codes,
    topic_grant,
)
from msgspec.structs import replace
from virtual_clusters.vc_requests import A, B, add

from kgitops.cluster.embedded.adapter import EmbeddedCluster
from kgitops.cluster.embedded.boot import boot
from kgitops.cluster.embedded.client.admin import EmbeddedAdmin
from kgitops.cluster.embedded.client.virtual_clusters import (
    DescribedTopicLink,
    DescribedVirtualCluster,
    NewVirtualCluster,
    VirtualClusterDescription,
)
from kgitops.cluster.embedded.client.virtual_clusters_batch import (
    VirtualClusterAlteration,
    VirtualClusterEntityChange,
)
from kgitops.cluster.embedded.options import Compat, Options
from kgitops.cluster.embedded.refusal import Refusal
from kgitops.model.resources.acls import AclBinding, Operation, PatternType, ResourceType
from kgitops.model.resources.virtual_clusters import ChangeType, EntityType
from kgitops.model.results import ErrorCode
from kgitops.virtual_clusters.rights import ApiKey

USER, CLIENT, GROUP = EntityType.USER, EntityType.CLIENT_ID, EntityType.GROUP
TOPIC, TXN = EntityType.TOPIC, EntityType.TRANSACTIONAL_ID
ADD, REMOVE = ChangeType.ADD, ChangeType.REMOVE
OK = ErrorCode.NONE
ANA = "User:ana"


def change(entity_type: EntityType, name: str, link: str | None = None):
    """An addition."""
    return VirtualClusterEntityChange(resource_type=entity_type, entity_name=name, link_name=link)


def gone(entity_type: EntityType, name: str, link: str | None = None):
    """A removal."""
    return replace(change(entity_type, name, link), change_type=REMOVE)


def alter(client: EmbeddedAdmin, validate_only: bool = False, **changes):
    """Each change's code, by virtual cluster: ``a`` and ``b`` stand for their names."""
    names = {"a": A, "b": B}
    alterations = [
        VirtualClusterAlteration(virtual_cluster_name=names.get(name, name), changes=items)
        for name, items in changes.items()
    ]
    results = client.alter_virtual_clusters(alterations, validate_only=validate_only)
    return {name: codes(results[names.get(name, name)]) for name in changes}


def a_client(*topics: str, **more: object) -> EmbeddedAdmin:
    """Whoever may do everything, on a cluster with both virtual clusters and these topics."""
    client = admin(a_cluster(**more))  # type: ignore[arg-type]
    for name in topics:
        assert client.create_topics([a_new_topic(name)])[name].ok
    new = [NewVirtualCluster(name=name) for name in (A, B)]
    assert codes(client.create_virtual_clusters(new)) == {A: OK, B: OK}
    return client


def described(client: EmbeddedAdmin, name: str = A) -> VirtualClusterDescription:
    found = client.describe_virtual_clusters([name])[name].description
    assert found is not None
    return found


def log_length(client: EmbeddedAdmin) -> int:
    return sum(1 for _ in client._controller._store.history())


def test_the_requests_have_the_keys_of_the_proposal():
    """VC-230: as a note; nothing is ever sent under them."""
    assert [key.value for key in ApiKey if key.name.endswith("VIRTUAL_CLUSTERS")] == [
        91,
        92,
        93,
        94,
        95,
    ]


def test_each_name_has_its_own_answer():
    """VC-231, VC-232: good ones are made, bad ones and those named twice are not."""
    client = a_client()
    names = ["new", "kafka-cluster", A, "no name", "twice", "twice"]
    results = client.create_virtual_clusters([NewVirtualCluster(name=name) for name in names])
    assert codes(results) == {
        "new": OK,
        "kafka-cluster": ErrorCode.INVALID_REQUEST,
        A: ErrorCode.INVALID_REQUEST,
        "no name": ErrorCode.INVALID_REQUEST,
        "twice": ErrorCode.DUPLICATE_RESOURCE,
    }
    assert "RESERVED_NAME" in (results["kafka-cluster"].message or "")
    assert "VC_ALREADY_EXISTS" in (results[A].message or "")
    assert "DUPLICATE_IN_REQUEST" in (results["twice"].message or "")
    assert client.list_virtual_clusters() == (B, A, "new")


def test_names_are_listed_in_order_and_without_the_physical_cluster():
    """VC-107, VC-109, VC-236, VC-300: zero, then some."""
    client = admin(a_cluster())
    assert client.list_virtual_clusters() == ()
    for name in ("b", "a", "B"):
        client.create_virtual_clusters([NewVirtualCluster(name=name)])
    assert client.list_virtual_clusters() == ("B", "a", "b")


def test_what_is_described():
    """VC-237, VC-301, VC-302: five lists, each in order; an unknown one has its own answer."""
    client = a_client("x", "y")
    assert described(client) == VirtualClusterDescription(name=A)
    alter(
        client,
        a=[
            *(change(TOPIC, topic, link) for topic, link in (("x", "q"), ("y", "p"), ("x", None))),
            *(change(USER, name) for name in ("User:n", "User:m")),
            *(change(CLIENT, name) for name in ("d", "c")),
            *(change(GROUP, name) for name in ("h", "g")),
            *(change(TXN, name) for name in ("u", "t")),
        ],
    )
    results = client.describe_virtual_clusters([A, "none", "kafka-cluster"])
    assert results[A] == DescribedVirtualCluster(
        description=VirtualClusterDescription(
            name=A,
            topic_links=(
                DescribedTopicLink(link_name="p", topic_name="y"),
                DescribedTopicLink(link_name="q", topic_name="x"),
                DescribedTopicLink(link_name="x", topic_name="x"),
            ),
            group_links=("g", "h"),
            user_links=("User:m", "User:n"),
            client_links=("c", "d"),
            transactional_id_links=("t", "u"),
        )
    )
    assert codes(results) == {
        A: OK,
        "none": ErrorCode.RESOURCE_NOT_FOUND,
        "kafka-cluster": ErrorCode.INVALID_REQUEST,
    }
    assert "reserved" in str(results["kafka-cluster"].result).lower()
    assert client.describe_virtual_clusters([]) == {}


def test_only_empty_ones_are_deleted_each_on_its_own():
    """VC-235, VC-245, VC-299: one that has something does not keep the others."""
    client = a_client()
    alter(client, a=[change(USER, "User:x")])
    results = client.delete_virtual_clusters([A, B, "none", "kafka-cluster"])
    assert codes(results) == {
        A: ErrorCode.INVALID_REQUEST,
        B: OK,
        "none": ErrorCode.RESOURCE_NOT_FOUND,
        "kafka-cluster": ErrorCode.INVALID_REQUEST,
    }
    assert "VC_NOT_EMPTY" in (results[A].message or "")
    assert "User:x" in (results[A].message or "")
    assert codes(client.delete_virtual_clusters([A, A])) == {A: ErrorCode.DUPLICATE_RESOURCE}
    assert client.list_virtual_clusters() == (A,)


def test_a_mixed_batch_is_one_batch_of_what_is_good():
    """VC-233, VC-234, VC-240, VC-297, VC-298: an answer for each change."""
    client = a_client("x")
    before = log_length(client)
    results = alter(
        client,
        a=[change(USER, "User:x"), change(TOPIC, "none"), gone(CLIENT, "c"), change(TOPIC, "x")],
        b=[change(USER, "User:x"), change(GROUP, "g")],
        none=[change(USER, "User:y"), change(CLIENT, "c")],
    )
    missing = ErrorCode.RESOURCE_NOT_FOUND
    assert results == {
        "a": {
            (USER, "User:x", ADD): OK,
            (TOPIC, "none", ADD): ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
            (CLIENT, "c", REMOVE): missing,
            (TOPIC, "x", ADD): OK,
        },
        "b": {(USER, "User:x", ADD): ErrorCode.INVALID_REQUEST, (GROUP, "g", ADD): OK},
        "none": {(USER, "User:y", ADD): missing, (CLIENT, "c", ADD): missing},
    }
    assert log_length(client) == before + 1
    assert (described(client).user_links, described(client, B).user_links) == (("User:x",), ())


def test_what_is_twice_in_a_request_is_done_neither_time():
    """VC-233: (type, name, operation) once a virtual cluster; a virtual cluster once a request."""
    client = a_client("x")
    twice = ErrorCode.DUPLICATE_RESOURCE
    assert alter(client, a=[change(USER, "User:x"), change(USER, "User:x"), change(CLIENT, "c")])[
        "a"
    ] == {(USER, "User:x", ADD): twice, (CLIENT, "c", ADD): OK}
    same_link = [change(TOPIC, "x", "l"), change(TOPIC, "y", "l")]
    assert alter(client, a=same_link)["a"] == {(TOPIC, "l", ADD): twice}
    alteration = VirtualClusterAlteration(virtual_cluster_name=A, changes=[change(USER, "User:x")])
    results = client.alter_virtual_clusters([alteration, alteration])
    assert codes(results[A]) == {(USER, "User:x", ADD): twice}
    assert described(client).user_links == ()


@pytest.mark.parametrize(
    ("code", "entity_type"), [(2, TOPIC), (3, GROUP), (5, TXN), (7, USER), (8, CLIENT)]
)
def test_types_have_kafkas_codes(code: int, entity_type: EntityType):
    """VC-239: those of resource types, and one of ours for client ids."""
    client = a_client("x")
    by_code = VirtualClusterEntityChange(resource_type=code, entity_name="x", change_type=0)
    assert alter(client, a=[by_code])["a"] == {(entity_type, "x", ADD): OK}
    assert alter(client, a=[replace(by_code, change_type=1)])["a"] == {
        (entity_type, "x", REMOVE): OK
    }


@pytest.mark.parametrize(("resource_type", "operation"), [(4, 0), (0, 0), (7, 2), (99, 1)])
def test_unknown_codes_are_refused(resource_type: int, operation: int):
    """VC-239."""
    unknown = VirtualClusterEntityChange(
        resource_type=resource_type, entity_name="x", change_type=operation
    )
    (code,) = alter(a_client(), a=[unknown])["a"].values()
    assert code is ErrorCode.INVALID_REQUEST


@pytest.mark.parametrize(
    ("entity_type", "name"), [(USER, "User:x"), (CLIENT, "c"), (GROUP, "g"), (TXN, "t")]
)
def test_a_move_in_one_request(entity_type: EntityType, name: str):
    """VC-086, VC-240: removals are done first, whatever the order."""
    client = a_client()
    alter(client, a=[change(entity_type, name)])
    before = log_length(client)
    assert alter(client, b=[change(entity_type, name)], a=[gone(entity_type, name)]) == {
        "a": {(entity_type, name, REMOVE): OK},
        "b": {(entity_type, name, ADD): OK},
    }
    assert log_length(client) == before + 1
    found = client._controller.image().virtual_clusters.by_name
    assert found[A].empty
    assert found[B].members(entity_type) == {name}


def test_a_move_that_fails_leaves_everybody_where_they_were():
    """VC-086, VC-240: what can't arrive does not leave; other removals do."""
    client = a_client()
    alter(client, a=[change(USER, "User:x"), change(USER, "User:y")])
    results = alter(
        client,
        a=[gone(USER, "User:x"), gone(USER, "User:y")],
        none=[change(USER, "User:x")],
    )
    assert results == {
        "a": {
            (USER, "User:x", REMOVE): ErrorCode.OPERATION_NOT_ATTEMPTED,
            (USER, "User:y", REMOVE): OK,
        },
        "none": {(USER, "User:x", ADD): ErrorCode.RESOURCE_NOT_FOUND},
    }
    assert described(client).user_links == ("User:x",)


def test_what_is_not_there_to_be_moved_is_only_added():
    client = a_client()
    assert alter(client, a=[gone(USER, "User:x")], b=[change(USER, "User:x")]) == {
        "a": {(USER, "User:x", REMOVE): ErrorCode.RESOURCE_NOT_FOUND},
        "b": {(USER, "User:x", ADD): OK},
    }


def test_links_swap_their_topics_in_one_request():
    """VC-028."""
    client = a_client("x", "y")
    alter(client, a=[change(TOPIC, "x", "l"), change(TOPIC, "y", "m")])
    before = log_length(client)
    swapped = [
        gone(TOPIC, "x", "l"),
        gone(TOPIC, "y", "m"),
        change(TOPIC, "y", "l"),
        change(TOPIC, "x", "m"),
    ]
    assert set(alter(client, a=swapped)["a"].values()) == {OK}
    assert log_length(client) == before + 1
    links = {link.link_name: link.topic_name for link in described(client).topic_links}
    assert links == {"l": "y", "m": "x"}
    lost = [gone(TOPIC, "y", "l"), change(TOPIC, "none", "l")]
    assert alter(client, a=lost)["a"] == {
        (TOPIC, "l", REMOVE): ErrorCode.OPERATION_NOT_ATTEMPTED,
        (TOPIC, "l", ADD): ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    }
    assert {link.link_name for link in described(client).topic_links} == {"l", "m"}


def test_links_of_one_name_in_two_virtual_clusters_are_two_links():
    """VC-240: one batch removes one and adds the other, and neither depends on the other."""
    client = a_client("x", "y")
    alter(client, a=[change(TOPIC, "x", "l")])
    results = alter(client, b=[change(TOPIC, "y", "l")], a=[gone(TOPIC, "x", "l")])
    assert results == {"a": {(TOPIC, "l", REMOVE): OK}, "b": {(TOPIC, "l", ADD): OK}}
    assert described(client).topic_links == ()
    (link,) = described(client, B).topic_links
    assert (link.link_name, link.topic_name) == ("l", "y")
    failing = alter(client, a=[change(TOPIC, "none", "l")], b=[gone(TOPIC, "y", "l")])
    assert failing == {
        "a": {(TOPIC, "l", ADD): ErrorCode.UNKNOWN_TOPIC_OR_PARTITION},
        "b": {(TOPIC, "l", REMOVE): OK},
    }
    assert described(client, B).topic_links == ()


def test_a_group_moves_from_two_virtual_clusters_to_a_third():
    """VC-086: a group leaves two virtual clusters for a third, by one removal each."""
    client = a_client()
    alter(client, a=[change(GROUP, "g")], b=[change(GROUP, "g")])
    assert codes(client.create_virtual_clusters([NewVirtualCluster(name="c")])) == {"c": OK}
    results = alter(client, a=[gone(GROUP, "g")], b=[gone(GROUP, "g")], c=[change(GROUP, "g")])
    assert {code for answers in results.values() for code in answers.values()} == {OK}
    found = client._controller.image().virtual_clusters.by_name
    assert [bool(found[name].members(GROUP)) for name in (A, B, "c")] == [False, False, True]


def test_a_link_has_its_topics_name_unless_it_is_given_another():
    """VC-024, VC-025: without the uuid, where the topic was made in a virtual cluster."""
    client = a_client("x")
    generated = f"{'0' * 8}-0000-4000-8000-{'0' * 12}.Orders"
    client.create_topics([a_new_topic(generated)])
    alter(client, a=[change(TOPIC, "x"), change(TOPIC, generated), change(TOPIC, "x", "other")])
    assert {link.link_name for link in described(client).topic_links} == {"x", "Orders", "other"}


def test_a_link_is_removed_by_name_with_its_topic_as_a_guard():
    """VC-273."""
    client = a_client("x", "y")
    alter(client, a=[change(TOPIC, "x", "l"), change(TOPIC, "y", "m")])
    assert alter(client, a=[gone(TOPIC, "y", "l"), gone(TOPIC, "", "m")])["a"] == {
        (TOPIC, "l", REMOVE): ErrorCode.RESOURCE_NOT_FOUND,
        (TOPIC, "m", REMOVE): OK,
    }
    assert alter(client, a=[gone(TOPIC, "x", "l")])["a"] == {(TOPIC, "l", REMOVE): OK}


def test_adding_an_existing_group_takes_it_over_with_its_offsets():
    """VC-114: in the same batch; once only (VC-115)."""
    client = a_client("x")
    EmbeddedCluster(client._controller).commit("g", {("x", 1): 7})
    before = log_length(client)
    assert alter(client, a=[change(GROUP, "g")])["a"] == {(GROUP, "g", ADD): OK}
    assert log_length(client) == before + 1
    groups = client._controller.image().groups.groups
    assert groups[f"{A}:g"].committed == groups["g"].committed == {("x", 1): 7}
    assert alter(client, a=[change(GROUP, "g")])["a"] == {(GROUP, "g", ADD): OK}
    assert alter(client, b=[change(GROUP, "g")])["b"] == {
        (GROUP, "g", ADD): ErrorCode.INVALID_REQUEST
    }


def test_a_group_that_reads_already_takes_nothing_over():
    """VC-114: nothing of it is done."""
    client = a_client("x")
    EmbeddedCluster(client._controller).commit("g", {("x", 1): 7})
    client._controller.faults.busy_groups = frozenset({f"{A}:g"})
    assert alter(client, a=[change(GROUP, "g")])["a"] == {
        (GROUP, "g", ADD): ErrorCode.NON_EMPTY_GROUP
    }
    assert described(client).group_links == ()


def test_validating_answers_as_doing_and_does_nothing():
    """VC-241, VC-215: the same code answers."""
    client = a_client("x")
    alter(client, a=[change(USER, "User:x")])
    before = client._controller.image(), log_length(client)
    changes = {
        "a": [gone(USER, "User:x"), change(TOPIC, "x"), change(TOPIC, "none")],
        "b": [change(USER, "User:x")],
    }
    judged = alter(client, validate_only=True, **changes)
    new = [NewVirtualCluster(name=name) for name in ("new", A)]
    created = client.create_virtual_clusters(new, validate_only=True)
    deleted = client.delete_virtual_clusters([A, B], validate_only=True)
    assert (client._controller.image(), log_length(client)) == before
    assert codes(deleted) == {A: ErrorCode.INVALID_REQUEST, B: OK}
    assert created == client.create_virtual_clusters(new)
    assert deleted == client.delete_virtual_clusters([A, B])
    assert client.create_virtual_clusters([NewVirtualCluster(name=B)])[B].ok
    assert judged == alter(client, **changes)


@pytest.mark.parametrize("compat", list(Compat))
def test_what_is_late_before_it_begins(compat: Compat):
    """VC-243, VC-300: nothing is done, and it says so."""
    client = a_client(compat=compat)
    before = client._controller.image()
    late = ErrorCode.REQUEST_TIMED_OUT
    new = [NewVirtualCluster(name="new")]
    assert codes(client.create_virtual_clusters(new, timeout_ms=0)) == {"new": late}
    assert codes(client.delete_virtual_clusters([A], timeout_ms=0)) == {A: late}
    item = VirtualClusterAlteration(virtual_cluster_name=A, changes=[change(USER, "User:x")])
    assert codes(client.alter_virtual_clusters([item], timeout_ms=0)[A]) == {
        (USER, "User:x", ADD): late
    }
    with pytest.raises(Refusal) as refused:
        client.list_virtual_clusters(timeout_ms=0)
    assert refused.value.result.code is late
    assert client._controller.image() is before


def test_the_calls_are_named_as_in_the_kip():
    """VC-297, VC-298, VC-299, VC-301: snake_case of it, and what its enums lack."""
    words = {
        name: {
            word: parameter.default
            for word, parameter in inspect.signature(
                getattr(EmbeddedAdmin, name)
            ).parameters.items()
            if parameter.kind is inspect.Parameter.KEYWORD_ONLY
        }
        for name in (
            "create_virtual_clusters",
            "alter_virtual_clusters",
            "delete_virtual_clusters",
            "list_virtual_clusters",
            "describe_virtual_clusters",
        )
    }
    changing = {"timeout_ms": 60_000, "validate_only": False}
    assert list(words.values()) == [changing] * 3 + [{"timeout_ms": 60_000}, {}]
    assert [item.name for item in ChangeType] == ["ADD", "REMOVE"]
    assert {item.name for item in EntityType} == {
        *("USER", "TOPIC", "GROUP", "TRANSACTIONAL_ID"),
        "CLIENT_ID",
    }
    assert list(VirtualClusterAlteration.__struct_fields__) == [
        "virtual_cluster_name",
        "changes",
    ]
    one = VirtualClusterEntityChange(resource_type=TOPIC, entity_name="x", link_name="l")
    assert one.change_type is ADD


def test_too_much_at_once_is_refused_whole():
    client = a_client()
    users = [change(USER, f"User:{number}") for number in range(10_001)]
    (code,) = set(alter(client, a=users)["a"].values())
    assert code is ErrorCode.POLICY_VIOLATION
    assert described(client).user_links == ()


def test_without_the_feature_all_five_are_unsupported():
    """VC-351."""
    client = admin(boot(None, options=Options(virtual_clusters=False)))
    unsupported = ErrorCode.UNSUPPORTED_VERSION
    new = [NewVirtualCluster(name=A)]
    assert codes(client.create_virtual_clusters(new)) == {A: unsupported}
    assert codes(client.delete_virtual_clusters([A])) == {A: unsupported}
    assert codes(client.describe_virtual_clusters([A])) == {A: unsupported}
    assert alter(client, a=[change(USER, "User:x")])["a"] == {(USER, "User:x", ADD): unsupported}
    with pytest.raises(Refusal) as caught:
        client.list_virtual_clusters()
    assert caught.value.result.code is unsupported


def a_right(
    operation: Operation, name: str = A, pattern: PatternType = PatternType.LITERAL
) -> AclBinding:
    return a_grant(operation, ResourceType.CLUSTER, name, ANA, pattern_type=pattern)


def guarded(*bindings: AclBinding) -> tuple[EmbeddedAdmin, EmbeddedAdmin]:
    """Root's connection, and ana's who has only these rights; both virtual clusters are there."""
    cluster = a_guarded_cluster(Compat.KRAFT, *bindings)
    root = admin(cluster, ROOT)
    root.create_virtual_clusters([NewVirtualCluster(name=name) for name in (A, B)])
    return root, admin(cluster, ANA)


def allowed(client: EmbeddedAdmin, operation: Operation, name: str = A) -> bool:
    """Whether the one request that needs this operation is let through for this name."""
    refused = ErrorCode.CLUSTER_AUTHORIZATION_FAILED
    match operation:
        case Operation.CREATE_VIRTUAL_CLUSTER:
            new = [NewVirtualCluster(name=name)]
            return client.create_virtual_clusters(new, validate_only=True)[name].code is not refused
        case Operation.ALTER_VIRTUAL_CLUSTER:
            item = VirtualClusterAlteration(
                virtual_cluster_name=name, changes=[change(CLIENT, "c")]
            )
            results = client.alter_virtual_clusters([item], validate_only=True)
            return refused not in codes(results[name]).values()
        case Operation.DELETE_VIRTUAL_CLUSTER:
            results = client.delete_virtual_clusters([name], validate_only=True)
            return results[name].code is not refused
        case Operation.DESCRIBE_VIRTUAL_CLUSTER:
            return client.describe_virtual_clusters([name])[name].result.code is not refused
        case _:
            return name in client.list_virtual_clusters()


FIVE = (
    Operation.CREATE_VIRTUAL_CLUSTER,
    Operation.ALTER_VIRTUAL_CLUSTER,
    Operation.DELETE_VIRTUAL_CLUSTER,
    Operation.DESCRIBE_VIRTUAL_CLUSTER,
    Operation.LIST_VIRTUAL_CLUSTERS,
)


@pytest.mark.parametrize("operation", FIVE)
def test_each_request_needs_its_right_on_the_name(operation: Operation):
    """VC-141, VC-142, VC-244, VC-100: it is enough for that request, there; Describe is implied."""
    _, ana = guarded(a_right(operation))
    writing = operation in FIVE[:3]
    lets = {operation, Operation.DESCRIBE_VIRTUAL_CLUSTER} if writing else {operation}
    assert {other for other in FIVE if allowed(ana, other)} == lets
    assert not any(allowed(ana, other, B) for other in FIVE)


@pytest.mark.parametrize("operation", FIVE)
def test_without_a_right_nothing_is_said(operation: Operation):
    """VC-244: nor is it told whether the virtual cluster is there."""
    _, ana = guarded()
    assert not allowed(ana, operation)
    if operation is not Operation.LIST_VIRTUAL_CLUSTERS:
        assert not allowed(ana, operation, "none")


@pytest.mark.parametrize(
    ("operation", "held"),
    [
        (Operation.CREATE_VIRTUAL_CLUSTER, Operation.CREATE),
        (Operation.ALTER_VIRTUAL_CLUSTER, Operation.ALTER),
        (Operation.DELETE_VIRTUAL_CLUSTER, Operation.DELETE),
        (Operation.DESCRIBE_VIRTUAL_CLUSTER, Operation.DESCRIBE),
    ],
)
def test_a_right_on_the_whole_cluster_is_one_on_every_virtual_cluster(
    operation: Operation, held: Operation
):
    """VC-101."""
    _, ana = guarded(cluster_grant(held, ANA))
    assert allowed(ana, operation)
    assert allowed(ana, operation, B)


def test_a_move_needs_the_right_on_both():
    """VC-086: else it is neither given up nor taken."""
    root, ana = guarded(a_right(Operation.ALTER_VIRTUAL_CLUSTER))
    alter(root, b=[change(USER, "User:x")])
    assert alter(ana, b=[gone(USER, "User:x")], a=[change(USER, "User:x")]) == {
        "b": {(USER, "User:x", REMOVE): ErrorCode.CLUSTER_AUTHORIZATION_FAILED},
        "a": {(USER, "User:x", ADD): ErrorCode.INVALID_REQUEST},
    }
    assert described(root, B).user_links == ("User:x",)
    moving = add(USER, "User:x", A, moved_from=B)
    (result,) = EmbeddedCluster(root._controller).execute(
        [moving], validate_only=False, principal=ANA
    )
    assert result.code is ErrorCode.CLUSTER_AUTHORIZATION_FAILED
    assert B in (result.message or "")
    assert described(root, B).user_links == ("User:x",)


def test_nobody_links_to_what_belongs_to_others():
    """VC-040: it takes Alter on the topic, or a virtual cluster of one's own that has it."""
    mine = a_right(Operation.ALTER_VIRTUAL_CLUSTER)
    taken = [change(TOPIC, "orders")]
    root, ana = guarded(mine)
    assert alter(ana, a=taken)["a"] == {
        (TOPIC, "orders", ADD): ErrorCode.TOPIC_AUTHORIZATION_FAILED
    }
    alter(root, a=taken)
    assert alter(ana, a=[change(TOPIC, "orders", "again")])["a"] == {(TOPIC, "again", ADD): OK}
    _, ana = guarded(mine, topic_grant(Operation.ALTER, principal=ANA))
    assert alter(ana, a=taken)["a"] == {(TOPIC, "orders", ADD): OK}


def test_nobody_takes_over_a_group_that_they_may_not_see():
    """VC-114: its offsets say what somebody has read."""
    root, ana = guarded(a_right(Operation.ALTER_VIRTUAL_CLUSTER))
    EmbeddedCluster(root._controller).commit("g", {("orders", 0): 1})
    assert alter(ana, a=[change(GROUP, "g")])["a"] == {
        (GROUP, "g", ADD): ErrorCode.GROUP_AUTHORIZATION_FAILED
    }
    assert described(root).group_links == ()
