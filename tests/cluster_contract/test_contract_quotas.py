"""Client quotas, as every cluster changes them."""

import pytest
from cluster_contract.contract import done, judge, refused

from kgitops.cluster.port import Cluster
from kgitops.model.requests import AlterClientQuotaRequest
from kgitops.model.resources.quotas import ClientQuotaEntity, ClientQuotaState, make_entity
from kgitops.model.results import ErrorCode

pytestmark = pytest.mark.default_kafka

USER = make_entity({"user": "billing"})


def alteration(entity: ClientQuotaEntity, **quotas: float | None) -> AlterClientQuotaRequest:
    return AlterClientQuotaRequest(entity=entity, quotas=quotas)


@pytest.mark.parametrize(
    "parts",
    [
        {"user": "billing"},
        {"user": None},
        {"client-id": "c"},
        {"client-id": None},
        {"user": "billing", "client-id": "c"},
        {"user": "billing", "client-id": None},
        {"user": None, "client-id": None},
    ],
    ids=str,
)
def test_every_entity_of_users_and_clients(cluster: Cluster, parts):
    """F590-50."""
    entity = make_entity(parts)
    quotas = {
        "producer_byte_rate": 1024.0,
        "consumer_byte_rate": 2048.0,
        "request_percentage": 12.5,
        "controller_mutation_rate": 0.5,
    }
    request = alteration(entity, **quotas)
    assert judge(cluster, request) is ErrorCode.NONE
    expected = {entity: ClientQuotaState(entity=entity, quotas=quotas)}
    done(cluster, request, lambda state: state.quotas == expected)


@pytest.mark.parametrize("ip", ["10.0.0.1", None])
def test_ips(cluster: Cluster, ip: str | None):
    """F590-50, F590-51."""
    entity = make_entity({"ip": ip})
    request = alteration(entity, connection_creation_rate=5.0)
    done(cluster, request, lambda state: entity in state.quotas)


def test_one_key_changes_and_the_others_stay(cluster: Cluster):
    """F590-52."""
    request = alteration(USER, consumer_byte_rate=1.0, producer_byte_rate=2.0)
    done(cluster, request, lambda state: len(state.quotas) == 1)
    request = alteration(USER, consumer_byte_rate=None, request_percentage=3.0)
    state = done(cluster, request, lambda state: "request_percentage" in state.quotas[USER].quotas)
    assert state.quotas[USER].quotas == {"producer_byte_rate": 2.0, "request_percentage": 3.0}
    request = alteration(USER, producer_byte_rate=None, request_percentage=None)
    done(cluster, request, lambda state: not state.quotas)


def test_what_is_not_legal(cluster: Cluster):
    """F590-50, F590-51: a key that is unknown, of IPs or of users; zero, a fraction, a pair."""
    user, ip = make_entity({"user": "a"}), make_entity({"ip": "10.0.0.1"})
    wrong = (
        alteration(user, no_such_rate=1.0),
        alteration(user, connection_creation_rate=1.0),
        alteration(ip, consumer_byte_rate=1.0),
        alteration(user, consumer_byte_rate=0.0),
        alteration(user, consumer_byte_rate=1.5),
        alteration(make_entity({"user": "a", "ip": "10.0.0.1"}), connection_creation_rate=1.0),
    )
    for request in wrong:
        assert refused(cluster, request) is ErrorCode.INVALID_REQUEST, request
