"""DescribeClientQuotas and AlterClientQuotas, with the codes and words of Kafka 4.3."""

from collections.abc import Sequence

import pytest
from serve.plain_requests import ask
from serve.raw_client import RawClient

Entity = tuple[tuple[str, str | None], ...]
EXACT, DEFAULT, SPECIFIED = range(3)
RATE = "producer_byte_rate"
JANE: Entity = (("user", "jane"),)
BOTH_PARTS: Entity = (("user", "jane"), ("client-id", "app"))
ANYONE: Entity = (("user", None),)
ADDRESS: Entity = (("ip", "1.2.3.4"),)
DONE = (0, None)


def alter(
    client: RawClient,
    *entries: tuple[Entity, Sequence[tuple[str, float | None]]],
    version: int = 1,
    validate_only: bool = False,
) -> list[tuple[int, str | None]]:
    """AlterClientQuotas: (entity, [(key, value)]), None removes the key."""
    rows = [
        {
            "entity": [{"entity_type": kind, "entity_name": name} for kind, name in entity],
            "ops": [
                {"key": key, "value": value or 0, "remove": value is None}
                for key, value in operations
            ],
        }
        for entity, operations in entries
    ]
    how = {"entries": rows, "validate_only": validate_only}
    rows = ask(client, "AlterClientQuotas", version, **how).entries
    return [(row.error_code, row.error_message) for row in rows]


def describe(
    client: RawClient,
    *components: tuple[str, int, str | None],
    strict: bool = False,
    version: int = 1,
) -> dict[Entity, dict[str, float]] | tuple[int, str]:
    """The quotas by their entity, or the error."""
    rows = [
        {"entity_type": kind, "match_type": match, "match": name}
        for kind, match, name in components
    ]
    answer = ask(client, "DescribeClientQuotas", version, components=rows, strict=strict)
    if answer.error_code:
        assert answer.entries is None
        return answer.error_code, answer.error_message
    return {
        tuple((part.entity_type, part.entity_name) for part in row.entity): {
            value.key: value.value for value in row.values
        }
        for row in answer.entries
    }


@pytest.mark.parametrize("version", [0, 1])
def test_quotas_are_set_found_and_removed(client: RawClient, version: int) -> None:
    """F590-50, F590-51: the default entity has no name, which is not the same as no part."""
    entries = [
        (JANE, [(RATE, 7.0), ("request_percentage", 1.5)]),
        (BOTH_PARTS, [(RATE, 8.0)]),
        (ANYONE, [(RATE, 9.0)]),
        (ADDRESS, [("connection_creation_rate", 5.0)]),
    ]
    assert alter(client, *entries, version=version) == [DONE] * 4
    everything = {entity: dict(operations) for entity, operations in entries}

    def found(*components: tuple[str, int, str | None], strict: bool = False) -> set[Entity]:
        answer = describe(client, *components, strict=strict, version=version)
        assert isinstance(answer, dict)
        assert {entity: everything[entity] for entity in answer} == answer
        return set(answer)

    assert found() == set(everything)
    assert found(strict=True) == set()
    assert found(("user", EXACT, "jane")) == {JANE, BOTH_PARTS}
    assert found(("user", EXACT, "jane"), strict=True) == {JANE}
    assert found(("user", DEFAULT, None)) == {ANYONE}
    assert found(("user", SPECIFIED, None), strict=True) == {JANE, ANYONE}
    assert found(("user", SPECIFIED, None), ("client-id", SPECIFIED, None)) == {BOTH_PARTS}
    assert alter(client, (JANE, [(RATE, None), ("request_percentage", None)])) == [DONE]
    assert found() == set(everything) - {JANE}


@pytest.mark.parametrize(
    ("entity", "operations", "message"),
    [
        ((), [(RATE, 7.0)], "Invalid empty client quota entity"),
        ((("x", "y"),), [(RATE, 7.0)], "Unhandled client quota entity type: x"),
        ((("user", ""),), [(RATE, 7.0)], "Empty user not supported"),
        (JANE, [("nope", 7.0)], "Invalid configuration key nope"),
        (JANE, [(RATE, 0.0)], "Quota producer_byte_rate must be greater than 0"),
        (JANE, [(RATE, 1.5)], "producer_byte_rate cannot be a fractional value."),
        (ADDRESS, [(RATE, 5.0)], "Invalid configuration key producer_byte_rate"),
        (
            JANE,
            [(RATE, 7.0), (RATE, 8.0)],
            "Ignoring duplicate entity ClientQuotaEntity(entries={user=jane})",
        ),
        (
            (("user", "a"), ("ip", "1.2.3.4")),
            [(RATE, 7.0)],
            "Invalid quota entity combination, IP entity shouldnot be combined with User or "
            "ClientId",
        ),
    ],
)
def test_quotas_that_are_refused(
    client: RawClient, entity: Entity, operations: list[tuple[str, float | None]], message: str
) -> None:
    """F590-50, F590-51: all of an entity's keys, and no other entity's."""
    assert alter(client, (entity, operations), (ANYONE, [(RATE, 9.0)])) == [(42, message), DONE]
    assert describe(client) == {ANYONE: {RATE: 9.0}}


def test_an_entity_that_is_there_twice(client: RawClient) -> None:
    """F590-51: it has one result; of a part that is there twice the last counts."""
    refused = (42, "Ignoring duplicate entity ClientQuotaEntity(entries={user=jane})")
    assert alter(client, (JANE, [(RATE, 7.0)]), (JANE, [(RATE, 8.0)])) == [refused]
    assert alter(client, ((("user", "a"), ("user", "b")), [(RATE, 7.0)])) == [DONE]
    assert describe(client) == {(("user", "b"),): {RATE: 7.0}}


def test_validating_sets_nothing(client: RawClient) -> None:
    """F590-52: and removing what is not there is no error."""
    assert alter(client, (JANE, [(RATE, 7.0)]), validate_only=True) == [DONE]
    assert alter(client, (JANE, [(RATE, -7.0)]), validate_only=True)[0][0] == 42
    assert alter(client, (JANE, [(RATE, None)])) == [DONE]
    assert describe(client) == {}


@pytest.mark.parametrize(
    ("components", "code", "message"),
    [
        ([("user", 9, None)], 42, "Unknown match type 9"),
        (
            [("user", EXACT, None)],
            42,
            "Request specified MATCH_TYPE_EXACT, but set match string to null.",
        ),
        (
            [("user", DEFAULT, "x")],
            42,
            "Request specified MATCH_TYPE_DEFAULT, but also specified a match string.",
        ),
        ([("x", SPECIFIED, None)], 35, "Unsupported entity type x"),
        ([("", SPECIFIED, None)], 42, "Invalid empty entity type."),
        (
            [("user", SPECIFIED, None)] * 2,
            42,
            "Entity type user cannot appear more than once in the filter.",
        ),
        (
            [("user", SPECIFIED, None), ("ip", SPECIFIED, None)],
            42,
            "Invalid entity filter component combination. IP filter component should not be used "
            "with user or clientId filter component.",
        ),
    ],
)
def test_filters_that_are_refused(
    client: RawClient, components: list[tuple[str, int, str | None]], code: int, message: str
) -> None:
    assert describe(client, *components) == (code, message)


def test_a_member_names_users_without_its_virtual_cluster(
    client: RawClient, member: RawClient
) -> None:
    """VC-249, VC-208: outside, the entity has the virtual cluster too."""
    assert alter(member, (JANE, [(RATE, 7.0)])) == [DONE]
    assert describe(member) == {JANE: {RATE: 7.0}}
    assert describe(member, ("user", EXACT, "jane"), strict=True) == {JANE: {RATE: 7.0}}
    assert describe(client) == {(("virtual-cluster", "sales"), *JANE): {RATE: 7.0}}
