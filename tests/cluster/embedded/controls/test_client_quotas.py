"""AlterClientQuotas and DescribeClientQuotas (F590-50…52)."""

import math

import pytest
from cluster.clusters import a_cluster, a_guarded_cluster, admin, cluster_grant, codes

from kgitops.cluster.embedded.controls.quotas import EntityMatch, QuotaAlteration, QuotaFilter
from kgitops.cluster.embedded.options import Compat
from kgitops.cluster.embedded.refusal import Refusal
from kgitops.model.resources.acls import Operation
from kgitops.model.results import ErrorCode

RATE = "consumer_byte_rate"
USER = (("user", "a"),)
USER_DEFAULT = (("user", None),)
CLIENT = (("client-id", "c"),)
PAIR = (("user", "a"), ("client-id", "c"))
PAIR_DEFAULT = (("user", "a"), ("client-id", None))
IP = (("ip", "10.0.0.1"),)
IP_RATE = "connection_creation_rate"


def answer(entity, *operations) -> ErrorCode:
    """What altering an empty cluster's quotas is answered."""
    cluster = a_cluster()
    alteration = QuotaAlteration(entity=entity, operations=operations)
    (result,) = admin(cluster).alter_client_quotas([alteration]).values()
    assert bool(cluster.read_state().quotas) is result.ok
    return result.code


@pytest.mark.parametrize(
    ("entity", "code"),
    [
        pytest.param(USER, ErrorCode.NONE, id="user"),
        pytest.param(USER_DEFAULT, ErrorCode.NONE, id="user-default"),
        pytest.param(CLIENT, ErrorCode.NONE, id="client"),
        pytest.param(PAIR, ErrorCode.NONE, id="both"),
        pytest.param(PAIR_DEFAULT, ErrorCode.NONE, id="user-and-default-client"),
        pytest.param((), ErrorCode.INVALID_REQUEST, id="empty"),
        pytest.param((("group", "g"),), ErrorCode.INVALID_REQUEST, id="unknown-type"),
        pytest.param((("user", "a"), ("user", "b")), ErrorCode.INVALID_REQUEST, id="type-twice"),
        pytest.param((("user", "a"), ("ip", "::1")), ErrorCode.INVALID_REQUEST, id="ip-and-user"),
        pytest.param((("user", ""),), ErrorCode.INVALID_REQUEST, id="empty-name"),
    ],
)
def test_entities(entity, code: ErrorCode):
    """F590-50."""
    assert answer(entity, (RATE, 1024.0)) is code


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("10.0.0.1", ErrorCode.NONE),
        ("::1", ErrorCode.NONE),
        ("client.example.com", ErrorCode.NONE),
        (None, ErrorCode.NONE),
        ("10.0.0.256", ErrorCode.INVALID_REQUEST),
        ("not a host", ErrorCode.INVALID_REQUEST),
    ],
)
def test_ips(name: str | None, code: ErrorCode):
    """F590-50."""
    assert answer((("ip", name),), (IP_RATE, 5.0)) is code


@pytest.mark.parametrize(
    ("entity", "key", "value", "code"),
    [
        (USER, "producer_byte_rate", 1.0, ErrorCode.NONE),
        (USER, "request_percentage", 12.5, ErrorCode.NONE),
        (USER, "controller_mutation_rate", 0.5, ErrorCode.NONE),
        (USER, IP_RATE, 1.0, ErrorCode.INVALID_REQUEST),
        (IP, RATE, 1.0, ErrorCode.INVALID_REQUEST),
        (USER, "no_such_rate", 1.0, ErrorCode.INVALID_REQUEST),
        (USER, RATE, 0.0, ErrorCode.INVALID_REQUEST),
        (USER, RATE, -1.0, ErrorCode.INVALID_REQUEST),
        (USER, RATE, 1.5, ErrorCode.INVALID_REQUEST),
        (USER, RATE, math.inf, ErrorCode.INVALID_REQUEST),
        (USER, RATE, math.nan, ErrorCode.INVALID_REQUEST),
        (IP, IP_RATE, 1.5, ErrorCode.INVALID_REQUEST),
    ],
)
def test_keys_and_values(entity, key: str, value: float, code: ErrorCode):
    """F590-51."""
    assert answer(entity, (key, value)) is code


def test_one_bad_key_fails_its_entity_and_no_other():
    """F590-51."""
    cluster = a_cluster()
    good, bad = (RATE, 1.0), ("no_such_rate", 1.0)
    results = admin(cluster).alter_client_quotas(
        [
            QuotaAlteration(entity=USER, operations=[good, bad]),
            QuotaAlteration(entity=CLIENT, operations=[good]),
        ]
    )
    assert codes(results) == {USER: ErrorCode.INVALID_REQUEST, CLIENT: ErrorCode.NONE}
    assert list(cluster.read_state().quotas) == [CLIENT]


def test_a_key_or_an_entity_twice_is_refused():
    """F590-51: also when the parts stand in another order."""
    assert answer(USER, (RATE, 1.0), (RATE, 1.0)) is ErrorCode.INVALID_REQUEST
    cluster = a_cluster()
    alterations = [
        QuotaAlteration(entity=entity, operations=[(RATE, 1.0)])
        for entity in (PAIR, tuple(reversed(PAIR)))
    ]
    results = admin(cluster).alter_client_quotas(alterations)
    assert codes(results) == {PAIR: ErrorCode.INVALID_REQUEST}
    assert cluster.read_state().quotas == {}


def test_removing_what_is_not_there_changes_nothing():
    """F590-52."""
    cluster = a_cluster()
    before = cluster.controller.image()
    (result,) = (
        admin(cluster)
        .alter_client_quotas([QuotaAlteration(entity=USER, operations=[(RATE, None)])])
        .values()
    )
    assert result.ok
    assert cluster.controller.image() is before


@pytest.mark.parametrize("compat", list(Compat))
def test_altering_needs_alter_configs_and_describing_describe_configs(compat: Compat):
    """F590-52."""
    cluster = a_guarded_cluster(
        compat,
        cluster_grant(Operation.ALTER_CONFIGS, "User:a"),
        cluster_grant(Operation.DESCRIBE_CONFIGS, "User:b"),
    )
    alteration = QuotaAlteration(entity=USER, operations=[(RATE, 1.0)])
    denied = admin(cluster, "User:b").alter_client_quotas([alteration])
    assert codes(denied) == {USER: ErrorCode.CLUSTER_AUTHORIZATION_FAILED}
    assert admin(cluster, "User:a").alter_client_quotas([alteration])[USER].ok
    assert admin(cluster, "User:b").describe_client_quotas() == {USER: {RATE: 1.0}}
    with pytest.raises(Refusal) as refusal:
        admin(cluster, "User:c").describe_client_quotas()
    assert refusal.value.result.code is ErrorCode.CLUSTER_AUTHORIZATION_FAILED


@pytest.fixture(scope="module")
def described():
    """Answers DescribeClientQuotas on a cluster with every kind of entity."""
    connection = admin(a_cluster())
    for entity in (USER, USER_DEFAULT, CLIENT, PAIR, PAIR_DEFAULT):
        connection.alter_client_quotas([QuotaAlteration(entity=entity, operations=[(RATE, 1.0)])])
    return connection.describe_client_quotas


@pytest.mark.parametrize(
    ("components", "strict", "entities"),
    [
        pytest.param([], False, {USER, USER_DEFAULT, CLIENT, PAIR, PAIR_DEFAULT}, id="all"),
        pytest.param(
            [("user", EntityMatch.ANY, None)],
            False,
            {USER, USER_DEFAULT, PAIR, PAIR_DEFAULT},
            id="type",
        ),
        pytest.param([("user", EntityMatch.ANY, None)], True, {USER, USER_DEFAULT}, id="strict"),
        pytest.param([("user", EntityMatch.EXACT, "a")], True, {USER}, id="exact"),
        pytest.param([("user", EntityMatch.DEFAULT, None)], False, {USER_DEFAULT}, id="default"),
        pytest.param(
            [("user", EntityMatch.EXACT, "a"), ("client-id", EntityMatch.DEFAULT, None)],
            False,
            {PAIR_DEFAULT},
            id="both",
        ),
        pytest.param([("user", EntityMatch.EXACT, "b")], False, set(), id="nothing"),
    ],
)
def test_filters(described, components, strict: bool, entities):
    """F590-50: the default entity is not the absent one."""
    filters = [QuotaFilter(entity_type=t, match=match, name=n) for t, match, n in components]
    assert set(described(filters, strict=strict)) == entities


@pytest.mark.parametrize(
    ("types", "code"),
    [
        (["group"], ErrorCode.UNSUPPORTED_VERSION),
        ([""], ErrorCode.INVALID_REQUEST),
        (["user", "user"], ErrorCode.INVALID_REQUEST),
        (["user", "ip"], ErrorCode.INVALID_REQUEST),
    ],
)
def test_filters_that_are_not_legal(described, types: list[str], code: ErrorCode):
    """As Kafka's ClientQuotasImage answers."""
    with pytest.raises(Refusal) as refusal:
        described([QuotaFilter(entity_type=item) for item in types])
    assert refusal.value.result.code is code
