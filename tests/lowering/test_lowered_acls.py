"""One ACL of a virtual cluster is many on brokers, or none."""

import pytest
from lowering.modelled_brokers import Brokers
from lowering.scenario import LITERAL, PREFIXED, READ, WRITE, G, T, X, acl, add, remove
from msgspec.structs import replace

from kgitops.lowering.acls.compile import lower_binding
from kgitops.model import requests as req
from kgitops.model.resources.acls import (
    AclBinding,
    Operation,
    PatternType,
    PermissionType,
    ResourceType,
)
from kgitops.model.resources.virtual_clusters import EntityType, LoweringOptions, TopicLink
from kgitops.model.results import ErrorCode

LINKS = {
    name: TopicLink(name=name, topic=topic)
    for name, topic in {"orders": "p1", "orders-eu": "p2", "again": "p1"}.items()
}
USERS = ("User:u", "User:w")
GLOBAL = "kafka-cluster"


def lowered(binding: AclBinding) -> set[AclBinding]:
    return set(lower_binding(binding, "v", LINKS, USERS))


def on(
    name: str,
    pattern: PatternType = LITERAL,
    kind: ResourceType = T,
    user: str = "User:u",
    operation: Operation = READ,
) -> AclBinding:
    return acl(GLOBAL, user, operation, kind, name, pattern)


@pytest.mark.parametrize(
    ("binding", "expected"),
    [
        (acl("v", "User:u", READ, T, "orders"), {on("p1")}),
        (acl("v", "User:u", READ, T, "absent"), set()),
        (acl("v", "User:u", READ, T, "orders", PREFIXED), {on("p1"), on("p2")}),
        (acl("v", "User:u", READ, T, "orders-", PREFIXED), {on("p2")}),
        (acl("v", "User:u", READ, T, "*"), {on("p1"), on("p2")}),
        (acl("v", "User:u", READ, G, "g"), {on("v:g", kind=G)}),
        (acl("v", "User:u", READ, G, "g", PREFIXED), {on("v:g", PREFIXED, G)}),
        (acl("v", "User:u", READ, G, "*"), {on("v:", PREFIXED, G)}),
        (
            acl("v", "User:u", WRITE, X, "*"),
            {on("v:", PREFIXED, X, operation=WRITE)},
        ),
        (
            acl("v", "User:*", READ, T, "orders"),
            {on("p1", user="User:u"), on("p1", user="User:w")},
        ),
        (acl("v", "User:stranger", READ, T, "orders"), set()),
        (acl("v", "User:u", Operation.CREATE, T, "orders"), set()),
        (acl("v", "User:u", Operation.DELETE, T, "orders"), set()),
    ],
)
def test_each_kind_of_resource_and_pattern(binding: AclBinding, expected: set[AclBinding]) -> None:
    """VC-161, VC-162, VC-163, VC-164, VC-166, VC-145, VC-171, VC-172: never a prefix or `*` of
    topics, never `User:*`, never Create or Delete, and only for members."""
    assert lowered(binding) == expected


def test_all_is_what_can_be_lowered_and_never_all() -> None:
    """VC-167: All of a topic has no Create and no Delete in it."""

    def operations(kind: ResourceType) -> set[str]:
        return {
            str(b.operation) for b in lowered(acl("v", "User:u", Operation.ALL, kind, "orders"))
        }

    assert operations(T) == {
        "Read", "Write", "Describe", "DescribeConfigs", "Alter", "AlterConfigs",
    }  # fmt: skip
    assert operations(G) == {"Read", "Describe", "Delete"}
    assert operations(X) == {"Write", "Describe"}


def test_host_and_permission_are_copied() -> None:
    """VC-167, VC-170: a denial is lowered as a denial, for the same host."""
    denial = acl("v", "User:u", READ, T, "orders", permission=PermissionType.DENY, host="10.0.0.1")
    assert lowered(denial) == {
        replace(on("p1"), permission_type=PermissionType.DENY, host="10.0.0.1")
    }


def founded(*names: str) -> Brokers:
    brokers = Brokers(topics=("p1", "p2"))
    ask(brokers, *(req.CreateVirtualClusterRequest(virtual_cluster=name) for name in names))
    return brokers


def ask(brokers: Brokers, *requests: object) -> None:
    for result in brokers.ask(*requests):
        assert result.ok, result


def test_expansions_follow_links_and_members() -> None:
    """VC-162, VC-166: a new link and a new member get their bindings in the same step, each shown
    with the request that brings it about."""
    brokers = founded("v")
    ask(brokers, add("v", EntityType.TOPIC, "one", topic="p1"))
    ask(brokers, req.CreateAclRequest(binding=acl("v", "User:*", READ, T, "*")))
    assert brokers.state.acls == set()

    ask(brokers, add("v", EntityType.USER, "User:u"))
    assert brokers.state.acls == {on("p1")}
    ask(brokers, add("v", EntityType.TOPIC, "two", topic="p2"), add("v", EntityType.USER, "User:w"))
    assert brokers.state.acls == {on(p, user=u) for p in ("p1", "p2") for u in USERS}
    ask(brokers, remove("v", EntityType.TOPIC, "one"), remove("v", EntityType.USER, "User:u"))
    assert brokers.state.acls == {on("p2", user="User:w")}


def test_a_prefix_of_virtual_clusters_reaches_each_and_no_other() -> None:
    """VC-165, VC-144, VC-108: also one created later; `*` is every one, never the physical one."""
    brokers = founded("eu.a", "us")
    for name in ("eu.a", "us"):
        ask(brokers, add(name, EntityType.TOPIC, "n", topic="p1" if name == "us" else "p2"))
    ask(brokers, add("eu.a", EntityType.USER, "User:u"), add("us", EntityType.USER, "User:w"))
    ask(brokers, req.CreateAclRequest(binding=acl("eu.", "User:*", READ, T, "n", scope=PREFIXED)))
    assert brokers.state.acls == {on("p2")}

    ask(brokers, req.CreateVirtualClusterRequest(virtual_cluster="eu.b"))
    ask(brokers, add("eu.b", EntityType.TOPIC, "n", topic="p1"))
    ask(brokers, add("eu.b", EntityType.USER, "User:x"))
    assert brokers.state.acls == {on("p2"), on("p1", user="User:x")}

    ask(brokers, req.CreateAclRequest(binding=acl("*", "User:*", WRITE, T, "n")))
    added = {b for b in brokers.state.acls if b.operation is WRITE}
    assert {(b.principal, b.resource_name) for b in added} == {
        ("User:u", "p2"), ("User:w", "p1"), ("User:x", "p1"),
    }  # fmt: skip


def test_prefixes_of_groups_keep_virtual_clusters_apart() -> None:
    """VC-112: `a:` begins no id of `a.b`, so its group `*` reaches nothing there."""
    whole = lower_binding(acl("a", "User:u", READ, G, "*"), "a", {}, ("User:u",))
    (binding,) = whole
    assert not "a.b:g".startswith(binding.resource_name)
    assert "a:g".startswith(binding.resource_name)


def test_a_binding_that_was_there_before_stays_when_its_sources_go() -> None:
    """VC-175: it is marked as adopted, and stays a global binding throughout."""
    brokers = founded("v")
    brokers.do(req.CreateAclRequest(binding=on("p1")))
    ask(brokers, add("v", EntityType.TOPIC, "one", topic="p1"))
    ask(brokers, add("v", EntityType.USER, "User:u"))
    scoped = acl("v", "User:u", READ, T, "one")
    ask(brokers, req.CreateAclRequest(binding=scoped))
    logical = brokers.logical
    assert logical.lowered is not None
    assert logical.lowered.acls[on("p1")].adopted
    assert on("p1") in logical.acls

    ask(brokers, req.DeleteAclRequest(binding=scoped))
    assert brokers.state.acls == {on("p1")}
    ask(brokers, req.CreateAclRequest(binding=scoped))
    ask(brokers, req.DeleteAclRequest(binding=on("p1")))
    assert brokers.state.acls == {on("p1")}
    assert on("p1") not in brokers.logical.acls
    ask(brokers, req.DeleteAclRequest(binding=scoped))
    assert brokers.state.acls == set()


def test_a_member_that_moves_keeps_what_both_give_and_is_never_without() -> None:
    """VC-086, VC-089: the new bindings are created before the old ones are deleted."""
    brokers = founded("a", "b")
    ask(
        brokers,
        add("a", EntityType.TOPIC, "n", topic="p1"),
        add("b", EntityType.TOPIC, "n", topic="p1"),
        add("b", EntityType.TOPIC, "m", topic="p2"),
        add("a", EntityType.USER, "User:u"),
    )
    ask(
        brokers,
        req.CreateAclRequest(binding=acl("a", "User:u", READ, T, "n")),
        req.CreateAclRequest(binding=acl("a", "User:u", READ, G, "g")),
        req.CreateAclRequest(binding=acl("b", "User:u", READ, T, "*")),
    )
    brokers.asked.clear()
    ask(brokers, add("b", EntityType.USER, "User:u", moved_from="a"))
    assert brokers.asked == [
        req.CreateAclRequest(binding=on("p2")),
        req.DeleteAclRequest(binding=on("a:g", kind=G)),
    ]
    logical = brokers.logical.virtual_clusters
    assert (logical["a"].users, logical["b"].users) == (frozenset(), {"User:u"})


@pytest.mark.parametrize("kind", [ResourceType.USER, ResourceType.DELEGATION_TOKEN])
def test_what_brokers_keep_for_nobody_in_a_virtual_cluster_is_refused(kind: ResourceType) -> None:
    """VC-173: with the reason, and nothing is recorded or sent."""
    brokers = founded("v")
    records = dict(brokers.records)
    (result,) = brokers.ask(
        req.CreateAclRequest(binding=acl("v", "User:u", Operation.DESCRIBE, kind, "x"))
    )
    assert result.code is ErrorCode.INVALID_REQUEST
    assert (result.message or "").startswith("L-ACL-TOKEN: ")
    assert dict(brokers.records) == records


def shared() -> Brokers:
    """Two links to one topic, read by one name and denied by none."""
    brokers = founded("v")
    ask(
        brokers,
        add("v", EntityType.TOPIC, "one", topic="p1"),
        add("v", EntityType.TOPIC, "two", topic="p1"),
        add("v", EntityType.USER, "User:u"),
    )
    ask(brokers, req.CreateAclRequest(binding=acl("v", "User:u", READ, T, "one")))
    return brokers


DENIED = PermissionType.DENY
CONTRADICTING = [
    acl("v", "User:u", READ, T, "two", permission=DENIED),
    acl("v", "User:*", READ, T, "two", permission=DENIED),
    acl("v", "User:u", Operation.ALL, T, "tw", PREFIXED, permission=DENIED),
    acl("v", "User:u", Operation.DESCRIBE, T, "two", permission=DENIED),
    acl("v", "User:u", READ, T, "two", permission=DENIED, host="10.0.0.1"),
    acl("*", "User:u", READ, T, "two", permission=DENIED),
]
AGREEING = [
    acl("v", "User:u", READ, T, "one", permission=DENIED),
    acl("v", "User:u", READ, T, "*", permission=DENIED),
    acl("v", "User:u", WRITE, T, "two", permission=DENIED),
    acl("v", "User:w", READ, T, "two", permission=DENIED),
    acl("v", "User:u", READ, G, "two", permission=DENIED),
]


@pytest.mark.parametrize("denial", CONTRADICTING)
def test_a_denial_by_one_name_against_a_right_by_another_is_refused(denial: AclBinding) -> None:
    """VC-169, VC-405: refused unless lowering.denyWins accepts that both names are denied."""
    brokers = shared()
    before = brokers.state
    (result,) = brokers.ask(req.CreateAclRequest(binding=denial))
    assert result.code is ErrorCode.INVALID_REQUEST
    assert (result.message or "").startswith("L-ACL-CONFLICT: the links one and two lead to ")
    assert brokers.state == before

    wins = LoweringOptions(deny_wins=True)
    ask(brokers, req.AlterVirtualClusterRequest(virtual_cluster="v", options=wins))
    ask(brokers, req.CreateAclRequest(binding=denial))
    (undone,) = brokers.ask(
        req.AlterVirtualClusterRequest(virtual_cluster="v", options=LoweringOptions())
    )
    assert undone.code is ErrorCode.INVALID_REQUEST


@pytest.mark.parametrize("denial", AGREEING)
def test_a_denial_that_takes_nothing_from_another_name_is_none_of_it(denial: AclBinding) -> None:
    """VC-169: where both names are denied anyway, or the rules are about different things."""
    ask(shared(), req.CreateAclRequest(binding=denial))


def test_a_link_or_a_member_can_bring_a_contradiction_about() -> None:
    """VC-169: the whole request is refused as well."""
    brokers = founded("v")
    ask(brokers, add("v", EntityType.TOPIC, "one", topic="p1"))
    ask(
        brokers,
        req.CreateAclRequest(binding=acl("v", "User:u", READ, T, "one")),
        req.CreateAclRequest(binding=acl("v", "User:u", READ, T, "two", permission=DENIED)),
    )
    ask(brokers, add("v", EntityType.USER, "User:u"))
    (link,) = brokers.ask(add("v", EntityType.TOPIC, "two", topic="p1"))
    assert (link.message or "").startswith("L-ACL-CONFLICT")
    ask(brokers, remove("v", EntityType.USER, "User:u"))
    ask(brokers, add("v", EntityType.TOPIC, "two", topic="p1"))
    before = brokers.state
    (user,) = brokers.ask(add("v", EntityType.USER, "User:u"))
    assert (user.message or "").startswith("L-ACL-CONFLICT")
    assert brokers.state == before


@pytest.mark.parametrize("last", ["two", "one"])
def test_a_pattern_that_names_two_links_of_a_topic_keeps_it_until_both_are_gone(last: str) -> None:
    """VC-168: one source requires the physical binding through two links; either may go first."""
    brokers = founded("v")
    ask(
        brokers,
        add("v", EntityType.TOPIC, "one", topic="p1"),
        add("v", EntityType.TOPIC, "two", topic="p1"),
        add("v", EntityType.USER, "User:u"),
    )
    ask(brokers, req.CreateAclRequest(binding=acl("v", "User:u", READ, T, "*")))
    (first,) = {"one", "two"} - {last}
    ask(brokers, remove("v", EntityType.TOPIC, first))
    assert brokers.state.acls == {on("p1")}
    logical = brokers.logical
    assert logical.lowered is not None
    assert not logical.lowered.missing_acls
    ask(brokers, add("v", EntityType.TOPIC, last, topic="p2", replaces="p1"))
    assert brokers.state.acls == {on("p2")}


def test_a_binding_that_others_had_made_and_deleted_is_made_anew_and_not_left_behind() -> None:
    """VC-175, VC-327: the binding that kgitops creates in its place is not adopted."""
    brokers = founded("v")
    brokers.do(req.CreateAclRequest(binding=on("p1")))
    ask(brokers, add("v", EntityType.TOPIC, "one", topic="p1"))
    ask(brokers, add("v", EntityType.USER, "User:u"))
    scoped = acl("v", "User:u", READ, T, "one")
    ask(brokers, req.CreateAclRequest(binding=scoped))
    brokers.do(req.DeleteAclRequest(binding=on("p1")))
    assert scoped not in brokers.logical.acls

    ask(brokers, req.CreateAclRequest(binding=scoped))
    assert brokers.state.acls == {on("p1")}
    assert brokers.logical.acls == {scoped}
    ask(brokers, req.DeleteAclRequest(binding=scoped))
    assert brokers.state.acls == set()
