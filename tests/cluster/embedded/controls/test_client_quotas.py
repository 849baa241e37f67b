"""AlterClientQuotas and DescribeClientQuotas (F590-50…52)."""

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


def answer(entity, *operations) -> ErrorCode:
    """What altering an empty cluster's quotas is answered."""
    cluster = a_cluster()
    alteration = QuotaAlteration(entity=entity, operations=operations)
    (result,) = admin(cluster).alter_client_quotas([alteration]).values()
    assert bool(cluster.read_state().quotas) is result.ok
    return result.code


def test_a_key_or_an_entity_twice_is_refused():
    """F590-51: also when the parts stand in another order; and no type twice in one (F590-50)."""
    assert answer(USER, (RATE, 1.0), (RATE, 1.0)) is ErrorCode.INVALID_REQUEST
    assert answer((*USER, ("user", "b")), (RATE, 1.0)) is ErrorCode.INVALID_REQUEST
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
