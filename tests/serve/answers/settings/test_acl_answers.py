"""DescribeAcls, CreateAcls and DeleteAcls: Kafka's numbers both ways, in its words."""

import pytest
from serve.raw_client import RawClient
from serve.served import client_of

from kgitops.cluster.embedded.adapter import EmbeddedCluster
from kgitops.cluster.embedded.options import AuthorizerKind
from kgitops.wire import messages
from kgitops.wire.messages import Message

TOPIC, GROUP, CLUSTER, USER = 2, 3, 4, 7
ANY, MATCH, LITERAL, PREFIXED = 1, 2, 3, 4
READ, WRITE, ALTER = 3, 4, 7
DENY, ALLOW = 2, 3
DONE = (0, "")
Found = tuple[int, str, int, str, str, int, int]


def binding(
    kind: int = TOPIC,
    name: str = "orders",
    pattern: int = LITERAL,
    principal: str = "User:a",
    host: str = "*",
    operation: int = READ,
    permission: int = ALLOW,
) -> Message:
    """A binding to create."""
    return messages.CreateAclsRequest.AclCreation(
        resource_type=kind,
        resource_name=name,
        resource_pattern_type=pattern,
        principal=principal,
        host=host,
        operation=operation,
        permission_type=permission,
    )


def matching(
    request: type[Message],
    kind: int = ANY,
    name: str | None = None,
    pattern: int = ANY,
    principal: str | None = None,
    operation: int = ANY,
    permission: int = ANY,
) -> Message:
    """A filter, of a request that has it as such or as a part."""
    return request(
        resource_type_filter=kind,
        resource_name_filter=name,
        pattern_type_filter=pattern,
        principal_filter=principal,
        host_filter=None,
        operation=operation,
        permission_type=permission,
    )


def create(client: RawClient, *bindings: Message, version: int = 3) -> list[tuple[int, str]]:
    """The results."""
    request = messages.CreateAclsRequest(creations=list(bindings))
    rows = client.ask("CreateAcls", version, request).results
    return [(row.error_code, row.error_message) for row in rows]


def describe(client: RawClient, version: int = 3, **how) -> list[Found]:
    """The bindings that a filter matches."""
    asked = matching(messages.DescribeAclsRequest, **how)
    answer = client.ask("DescribeAcls", version, asked)
    assert (answer.error_code, answer.error_message) == DONE
    return [
        (
            *(row.resource_type, row.resource_name, row.pattern_type),
            *(acl.principal, acl.host, acl.operation, acl.permission_type),
        )
        for row in answer.resources
        for acl in row.acls
    ]


def delete(client: RawClient, *filters: Message, version: int = 3) -> list[Message]:
    """The outcomes."""
    request = messages.DeleteAclsRequest(filters=list(filters))
    return client.ask("DeleteAcls", version, request).filter_results


def test_acls_are_created_found_and_deleted(client: RawClient) -> None:
    """A4-91, A4-92, A4-94, A4-95: in order; one that exists already is a success."""
    bindings = [
        binding(),
        binding(name="or", pattern=PREFIXED, operation=WRITE),
        binding(CLUSTER, "kafka-cluster", operation=ALTER, permission=DENY),
        binding(USER, "User:b", operation=13),
    ]
    assert create(client, *bindings) == [DONE] * 4
    assert create(client, bindings[0], bindings[0]) == [DONE] * 2
    everything = describe(client)
    assert sorted(everything) == [
        (TOPIC, "or", PREFIXED, "User:a", "*", WRITE, ALLOW),
        (TOPIC, "orders", LITERAL, "User:a", "*", READ, ALLOW),
        (CLUSTER, "kafka-cluster", LITERAL, "User:a", "*", ALTER, DENY),
        (USER, "User:b", LITERAL, "User:a", "*", 13, ALLOW),
    ]
    assert len(describe(client, kind=TOPIC, name="orders", pattern=MATCH)) == 2
    assert len(describe(client, kind=TOPIC, name="orders")) == 1
    assert describe(client, kind=TOPIC, name="or", pattern=LITERAL) == []
    assert describe(client, principal="User:nobody") == []
    part = messages.DeleteAclsRequest.DeleteAclsFilter
    outcomes = delete(
        client,
        matching(part, kind=TOPIC, name="orders", pattern=MATCH),
        matching(part, kind=TOPIC, name="orders"),
        matching(part, principal="User:nobody"),
    )
    assert [(row.error_code, row.error_message) for row in outcomes] == [(0, None)] * 3
    assert [len(row.matching_acls) for row in outcomes] == [2, 1, 0]
    assert {(row.error_code, row.error_message) for row in outcomes[0].matching_acls} == {(0, None)}
    assert len(describe(client)) == 2


@pytest.mark.parametrize("version", range(4))
def test_every_version_is_answered(client: RawClient, embedded: EmbeddedCluster, version: int):
    """Version 0 has literal patterns only, and no other is found by it."""
    assert create(client, binding(name="or", pattern=PREFIXED)) == [DONE]
    if version == 0 and not embedded.controller.options.seed:
        with pytest.raises(ConnectionResetError):
            describe(client, version=0, pattern=LITERAL)
        return
    assert create(client, binding(), version=version) == [DONE]
    pattern = ANY if version else LITERAL
    found = describe(client, version=version, pattern=pattern)
    assert [row[1] for row in found] == (["or", "orders"] if version else ["orders"])
    wanted = matching(messages.DeleteAclsRequest.DeleteAclsFilter, pattern=pattern)
    (outcome,) = delete(client, wanted, version=version)
    assert len(outcome.matching_acls) == (2 if version else 1)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (binding(kind=99), "Invalid resourceType UNKNOWN"),
        (binding(kind=ANY), "Invalid resourceType ANY"),
        (binding(pattern=MATCH), "Invalid patternType MATCH"),
        (binding(pattern=99), "Invalid patternType UNKNOWN"),
        (binding(operation=99), "Invalid operation UNKNOWN"),
        (binding(permission=99), "Invalid permissionType UNKNOWN"),
        (binding(kind=99, name=""), "Invalid empty resource name"),
        (
            binding(principal="a"),
            "Could not parse principal from `a` (no colon is present separating the principal "
            "type from the principal name)",
        ),
    ],
)
def test_one_wrong_binding_fails_itself_alone(
    client: RawClient, wrong: Message, message: str
) -> None:
    """A4-87, A4-95: the others are made."""
    assert create(client, wrong, binding(name="other")) == [(42, message), DONE]
    assert [row[1] for row in describe(client)] == ["other"]


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"kind": 99}, "Unknown patternFilter."),
        ({"pattern": 99}, "Unknown patternFilter."),
        ({"operation": 99}, "Unknown entryFilter."),
        ({"permission": 99}, "Unknown entryFilter."),
    ],
)
def test_unknown_numbers_match_nothing(client: RawClient, how: dict[str, int], message: str):
    """And delete nothing."""
    assert create(client, binding()) == [DONE]
    assert describe(client, **how) == []
    (outcome,) = delete(client, matching(messages.DeleteAclsRequest.DeleteAclsFilter, **how))
    assert (outcome.error_code, outcome.error_message) == (42, message)
    assert len(describe(client)) == 1


@pytest.mark.parametrize("field", ["kind", "pattern", "operation", "permission"])
def test_the_number_zero_closes_the_connection(client: RawClient, field: str) -> None:
    """As Kafka's, which takes the request for malformed."""
    with pytest.raises(ConnectionResetError):
        create(client, binding(**{field: 0}))


def test_without_an_authorizer_acls_are_refused() -> None:
    """A4-95: SECURITY_DISABLED for the request, and for each of its items."""
    with client_of(authorizer=AuthorizerKind.DISABLED) as client:
        answer = client.ask("DescribeAcls", 3, matching(messages.DescribeAclsRequest))
        refused = (54, "No Authorizer is configured on the broker.")
        assert (answer.error_code, answer.error_message, answer.resources) == (*refused, [])
        assert create(client, binding(), binding()) == [refused] * 2
        (outcome,) = delete(client, matching(messages.DeleteAclsRequest.DeleteAclsFilter))
        assert (outcome.error_code, outcome.error_message) == refused


def test_a_member_finds_its_own_by_local_names(client: RawClient, member: RawClient) -> None:
    """VC-249, VC-248: what it makes is of its virtual cluster, and nobody outside sees it."""
    assert create(client, binding(name="outside")) == [DONE]
    assert create(member, binding(name="mine")) == [DONE]
    assert [row[1] for row in describe(member)] == ["mine"]
    assert [row[1] for row in describe(client)] == ["outside"]
