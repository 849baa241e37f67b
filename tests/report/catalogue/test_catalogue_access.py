"""The catalogue: who may read and write a topic, by the declared bindings."""

import pytest

from kgitops.model.resources.acls import (
    AclBinding,
    Operation,
    PatternType,
    PermissionType,
    ResourceType,
)
from kgitops.report.catalogue.access import SeenTopic, TopicBindings, access_to


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
    found = TopicBindings([acl]).on(SeenTopic(name, scope))
    access = access_to([(item, "") for item in found], Operation.READ)
    shown = ", ".join(
        f"{right.principal} ({right.by})" if right.by else right.principal
        for right in access.allowed
    )
    assert shown == expected


def test_a_denied_principal_is_told_beside_the_allowed() -> None:
    acls = [binding("*"), binding("orders", permission="Deny", principal="User:b")]
    found = TopicBindings(acls).on(SeenTopic("orders"))
    access = access_to([(item, "") for item in found], Operation.READ)
    assert [right.principal for right in access.allowed] == ["User:a"]
    assert [right.principal for right in access.denied] == ["User:b"]
