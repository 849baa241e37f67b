"""Dynamic configs of brokers, on every cluster."""

from collections.abc import Iterator, Mapping

import pytest
from cluster_contract.contract import judge, refused, send
from patience import eventually
from used import configs_of

from kgitops.cluster.port import Cluster
from kgitops.model import requests as req
from kgitops.model.resources.config_resources import ALL_BROKERS, ConfigResourceType
from kgitops.model.results import ErrorCode

pytestmark = pytest.mark.default_kafka

KEY = "background.threads"


def asked(name: str, configs: Mapping[str, str | None]) -> req.AlterConfigResourceRequest:
    return req.AlterConfigResourceRequest(
        resource_type=ConfigResourceType.BROKER, resource_name=name, configs=configs
    )


def held(cluster: Cluster, name: str) -> Mapping[str, str]:
    """Only what is set here: Kafka sets min.insync.replicas for all by itself (KIP-966)."""
    found = configs_of(cluster, ConfigResourceType.BROKER, frozenset({name})).get(name, {})
    return {key: value for key, value in found.items() if key == KEY}


def await_held(cluster: Cluster, name: str, configs: Mapping[str, str]) -> None:
    eventually(lambda: held(cluster, name), lambda found: found == configs, what=f"{name} has it")


@pytest.fixture
def one(cluster: Cluster) -> Iterator[str]:
    """The id of a broker; what a test sets on it, or on all, is removed afterwards."""
    name = str(min(broker.id for broker in cluster.read_state(frozenset()).brokers))
    yield name
    for each in (ALL_BROKERS, name):
        if found := held(cluster, each):
            assert send(cluster, asked(each, dict.fromkeys(found))).ok
            await_held(cluster, each, {})


def test_those_of_all_and_of_one_are_told_apart(cluster: Cluster, one: str):
    request = asked(ALL_BROKERS, {KEY: "11"})
    assert judge(cluster, request) is ErrorCode.NONE
    assert held(cluster, ALL_BROKERS) == {}
    assert send(cluster, request).ok
    assert send(cluster, asked(one, {KEY: "12"})).ok
    await_held(cluster, ALL_BROKERS, {KEY: "11"})
    await_held(cluster, one, {KEY: "12"})
    names = configs_of(cluster, ConfigResourceType.BROKER)
    assert {ALL_BROKERS, one} <= names.keys()
    assert send(cluster, asked(one, {KEY: None})).ok
    await_held(cluster, one, {})
    assert held(cluster, ALL_BROKERS) == {KEY: "11"}


def test_a_wrong_value_is_refused(cluster: Cluster, one: str):
    codes = {ErrorCode.INVALID_REQUEST, ErrorCode.INVALID_CONFIG}
    assert refused(cluster, asked(one, {"log.retention.ms": "many"})) in codes
    assert refused(cluster, asked(ALL_BROKERS, {"num.io.threads": "0"})) in codes


def test_the_types_of_what_brokers_take_while_they_run(cluster: Cluster, one: str):
    keys = frozenset({KEY, "log.dirs", "no.such.config"})
    types = cluster.read_config_types(ConfigResourceType.BROKER, one, keys)
    assert types == {KEY: "INT"}
