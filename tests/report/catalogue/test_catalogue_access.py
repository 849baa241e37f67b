"""The catalogue: who may read and write a topic, by the declared bindings."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tiers import examples

from kgitops.cluster.embedded.authorizer import Authorizer
from kgitops.cluster.embedded.options import AuthorizerKind, Options
from kgitops.model.resources.acls import (
    AclBinding,
    Operation,
    PatternType,
    PermissionType,
    ResourceType,
)
from kgitops.model.resources.virtual_clusters import VirtualCluster
from kgitops.report.catalogue.access import SeenTopic, TopicBindings, Way, access_to
from kgitops.virtual_clusters.resolution import Binding, BoundBy


def binding(
    name: str,
    *,
    operation: str = "Read",
    kind: str = "topic",
    pattern: str = "literal",
    principal: str = "User:a",
    host: str = "*",
    permission: str = "Allow",
    virtual_cluster: str = "kafka-cluster",
) -> AclBinding:
    return AclBinding(
        resource_type=ResourceType(kind),
        resource_name=name,
        pattern_type=PatternType(pattern),
        principal=principal,
        host=host,
        operation=Operation(operation),
        permission_type=PermissionType(permission),
        virtual_cluster=virtual_cluster,
    )


CASES = [
    (binding("orders"), "orders", None, "User:a"),
    (binding("orders", operation="All"), "orders", None, "User:a"),
    (binding("orders", operation="Write"), "orders", None, ""),
    (binding("order", pattern="prefixed"), "orders", None, "User:a (all order…)"),
    (binding("orders.", pattern="prefixed"), "orders", None, ""),
    (binding("*"), "orders", None, "User:a (every topic)"),
    (binding("*", pattern="prefixed"), "orders", None, ""),
    (binding("orders", host="10.0.0.1"), "orders", None, "User:a (from 10.0.0.1)"),
    (binding("orders", kind="group"), "orders", None, ""),
    (binding("orders", virtual_cluster="v"), "orders", "v", "User:a"),
    (binding("orders", virtual_cluster="w"), "orders", "v", ""),
    (binding("orders", virtual_cluster="*"), "orders", "v", "User:a"),
    (binding("orders"), "orders", "v", ""),
    (binding("orders", virtual_cluster="v"), "orders", None, ""),
]


@pytest.mark.parametrize(("acl", "name", "scope", "expected"), CASES)
def test_a_binding_is_found_as_kafka_matches_it(
    acl: AclBinding, name: str, scope: str | None, expected: str
) -> None:
    seen = SeenTopic(name, scope)
    access = access_to([Way(seen, TopicBindings([acl]).on(seen))], Operation.READ)
    shown = ", ".join(
        f"{right.principal} ({right.by})" if right.by else right.principal
        for right in access.allowed
    )
    assert shown == expected


DENIALS = [
    (binding("orders", permission="Deny", principal="User:b"), ["User:a"]),
    (binding("orders", permission="Deny", operation="All"), []),
    (binding("orders", permission="Deny", operation="Write"), ["User:a"]),
    (binding("orders", permission="Deny", principal="User:*"), []),
    (binding("ord", permission="Deny", pattern="prefixed"), []),
    # From everywhere else the principal may.
    (binding("orders", permission="Deny", host="10.0.0.1"), ["User:a"]),
]


@pytest.mark.parametrize(("denial", "allowed"), DENIALS)
def test_whom_a_denial_stops_is_told_beside(denial: AclBinding, allowed: list[str]) -> None:
    seen = SeenTopic("orders")
    access = access_to([Way(seen, TopicBindings([binding("*"), denial]).on(seen))], Operation.READ)
    assert [right.principal for right in access.allowed] == allowed
    told = [right.principal for right in access.denied]
    assert told == ([denial.principal] if denial.operation != "Write" else [])


MEMBER, CLUSTER = "User:member", "v"
bindings = st.builds(
    binding,
    st.sampled_from(("orders", "orders.v1", "ord", "*", "o", "")).filter(bool),
    operation=st.sampled_from(("Read", "Write", "All", "Describe")),
    pattern=st.sampled_from(("literal", "prefixed")),
    principal=st.sampled_from(("User:a", MEMBER, "User:*")),
    host=st.sampled_from(("*", "*", "10.0.0.1")),
    permission=st.sampled_from(("Allow", "Allow", "Deny")),
    virtual_cluster=st.sampled_from(("kafka-cluster", CLUSTER, "*")),
)


@settings(max_examples=examples(400))
@given(st.lists(bindings, max_size=6, unique=True))
def test_the_catalogue_says_what_brokers_would(acls: list[AclBinding]) -> None:
    """Law: whom it names may do it from an address that no binding names, and nobody else may."""
    found = TopicBindings(acls)
    physical, local = SeenTopic("orders"), SeenTopic("ord", CLUSTER)
    ways = [
        Way(physical, found.on(physical)),
        Way(local, [*found.on(local), *found.on(physical)], "v/ord"),
    ]
    inside = VirtualCluster(name=CLUSTER, users=frozenset({MEMBER}))
    bound = Binding(virtual_cluster=inside, reason=BoundBy.USER)
    # Rights of everyone are listed as everyone's: here only those of its own count.
    own = [it for it in acls if it.principal != "User:*" or it.permission_type == "Deny"]
    options = Options(authorizer=AuthorizerKind.ACLS)
    for operation in (Operation.READ, Operation.WRITE):
        access = access_to(ways, operation, {MEMBER: CLUSTER})
        named = {it.principal for it in access.allowed if "from" not in it.by}
        outsider = Authorizer(options, own, "User:a", "10.9.9.9")
        may = outsider.allows_topic(operation, "orders")
        at_home = {
            it.principal for it in access.allowed if "from" not in it.by and "v/ord" not in it.by
        }
        assert ("User:a" in at_home) == may
        member = Authorizer(options, own, MEMBER, "10.9.9.9", bound)
        may = member.allows_local(operation, ResourceType.TOPIC, "ord", "orders")
        assert (MEMBER in named) == may
