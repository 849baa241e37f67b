"""What every cluster tells of itself."""

import re
from datetime import UTC, datetime, timedelta
from typing import get_args

import pytest
from cluster_contract.contract import await_state, comparable, created

from kgitops.cluster.port import Cluster
from kgitops.model.clock import from_text
from kgitops.model.cluster_state import TopicUsage, Validator
from kgitops.model.requests import Request
from kgitops.model.resources.config_resources import ConfigResourceType
from kgitops.model.resources.topic_configs import ConfigType

pytestmark = pytest.mark.default_kafka

APIS = {kind.__name__.removesuffix("Request") for kind in get_args(Request)}


def test_a_new_cluster_is_empty_but_for_its_brokers(cluster: Cluster):
    state = cluster.read_state()
    assert [broker.id for broker in state.brokers] == [1, 2, 3]
    assert state.controller_id in (-1, 1, 2, 3)
    assert (state.topics, state.acls, state.quotas, state.registry) == ({}, set(), {}, None)


def test_the_cluster_id_is_a_uuid_that_does_not_change(cluster: Cluster):
    ids = {cluster.read_state().cluster_id for _ in range(2)}
    assert len(ids) == 1
    assert re.fullmatch("[A-Za-z0-9_-]{22}", ids.pop())


def test_the_state_says_when_it_was_read(cluster: Cluster):
    age = datetime.now(UTC) - from_text(cluster.read_state().captured_at)
    assert timedelta() <= age < timedelta(minutes=1)


def test_the_backend_is_told_alike(cluster: Cluster):
    assert cluster.read_state().backend == cluster.capabilities.backend


def test_every_api_has_a_grade(cluster: Cluster):
    capabilities = cluster.capabilities
    assert capabilities.validation.keys() <= APIS
    assert all(capabilities.supports(api) for api in APIS)


def test_acls_can_not_be_validated_anywhere(cluster: Cluster):
    """A4-96."""
    grades = cluster.capabilities.validation
    assert {grades["CreateAcl"], grades["DeleteAcl"]} <= {
        Validator.CLIENT,
        Validator.NOT_SUPPORTED,
    }


def test_reading_twice_gives_the_same(cluster: Cluster):
    created(cluster, "b")
    created(cluster, "a", retention_ms="1")
    first, second = cluster.read_state(), cluster.read_state()
    assert comparable(first) == comparable(second)
    assert list(first.topics) == ["a", "b"]
    assert list(first.topics) == list(second.topics)


def test_reading_can_be_narrowed_to_topics(cluster: Cluster):
    for name in ("a", "b", "c"):
        created(cluster, name)
    whole = cluster.read_state()
    part = cluster.read_state(frozenset({"a", "c", "none"}))
    assert part.topics == {name: whole.topics[name] for name in ("a", "c")}
    assert cluster.read_state(frozenset()).topics == {}
    assert part.brokers == whole.brokers


def test_an_empty_topic_holds_nothing(cluster: Cluster):
    """And no reading tells so unasked: usage costs as much as all the rest."""
    created(cluster, "orders")
    assert not cluster.read_state().usage

    def usage() -> TopicUsage:
        return cluster.read_usage(frozenset({"orders"})).topics["orders"]

    await_state(cluster, lambda _: usage().high_watermarks == (0, 0))
    assert usage().log_start_offsets == (0, 0)
    assert set(usage().size_bytes) <= {0, None}


def test_the_brokers_report_the_types_of_the_configs_that_they_know(cluster: Cluster):
    created(cluster, "a")
    asked = frozenset({"retention.ms", "cleanup.policy", "preallocate", "future.config"})
    await_state(cluster, lambda state: "a" in state.topics)
    assert cluster.read_config_types(None, "a", asked) == {
        "cleanup.policy": ConfigType.LIST,
        "preallocate": ConfigType.BOOLEAN,
        "retention.ms": ConfigType.LONG,
    }
    group = frozenset({"consumer.session.timeout.ms", "future.config"})
    assert cluster.read_config_types(ConfigResourceType.GROUP, "nobody", group) == {
        "consumer.session.timeout.ms": ConfigType.INT
    }
    metrics = frozenset({"match", "interval.ms", "future.config"})
    assert cluster.read_config_types(ConfigResourceType.CLIENT_METRICS, "nobody", metrics) == {
        "interval.ms": ConfigType.INT,
        "match": ConfigType.LIST,
    }
