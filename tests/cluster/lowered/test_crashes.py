"""A process that dies in the middle of lowering leaves a state that another can finish (VC-329)."""

from collections.abc import Callable, Iterator, Mapping
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from cluster.lowered.interrupted import DiedError, DyingCluster
from cluster_contract.contract import await_state, creation, send
from cluster_contract.tenant_requests import (
    GROUP,
    TOPIC,
    USER,
    acl_in,
    add,
    creation_in,
    deletion,
    drop,
    make,
    quota_in,
    remove,
)
from msgspec.structs import replace

from kgitops.cluster.connect import connect
from kgitops.cluster.lowered.adapter import LoweredCluster
from kgitops.cluster.port import Cluster
from kgitops.model.cluster_state import ClusterState
from kgitops.model.requests import CreateAclRequest, DeleteAclRequest, Request
from kgitops.model.resources.acls import Operation, PatternType, ResourceType
from kgitops.model.resources.virtual_clusters import LocalName, generated_parts

APP = "User:sales-app"
EVERYTHING = acl_in("a", ResourceType.TOPIC, "", Operation.READ, pattern=PatternType.PREFIXED)
EVERYTHING = replace(EVERYTHING, resource_name="*", pattern_type=PatternType.LITERAL)
ORDERS = acl_in("a", ResourceType.TOPIC, "Orders", Operation.WRITE)
ETL = acl_in("a", ResourceType.GROUP, "etl", Operation.READ)
RATE = {"producer_byte_rate": 1024.0}
OWN = {"virtual-cluster": "a", "user": "sales-app"}
CAP = {"virtual-cluster": "a"}

Ask = Request | Callable[[ClusterState], Request]
SCRIPT: Mapping[str, Ask] = {
    "a global topic": creation("stream"),
    "a global quota": quota_in({"user": "sales-app"}, {"producer_byte_rate": 9999.0}),
    "make a": make("a"),
    "make b": make("b"),
    "make a topic": creation_in("a", "Orders"),
    "link": add("a", TOPIC, "stream", topic="stream"),
    "link what was made": add("b", TOPIC, "theirs", target=LocalName("a", "Orders")),
    "add a group": add("a", GROUP, "etl", adopts="old"),
    "allow everything": CreateAclRequest(binding=EVERYTHING),
    "allow a topic": CreateAclRequest(binding=ORDERS),
    "allow a group": CreateAclRequest(binding=ETL),
    "a quota": quota_in(OWN, RATE),
    "bind": add("a", USER, APP),
    "a cap": quota_in(CAP, {"consumer_byte_rate": 2048.0}),
    "another link": add("a", TOPIC, "again", topic="stream"),
    "another value": quota_in(OWN, {"producer_byte_rate": 4096.0}),
    "another topic": creation_in("a", "Own"),
    "lead elsewhere": add("a", TOPIC, "again", target=LocalName("a", "Own"), replaces="stream"),
    "forbid a topic": DeleteAclRequest(binding=ORDERS),
    "unlink": remove("a", TOPIC, "stream"),
    "move": add("b", USER, APP, moved_from="a"),
    "and back": add("a", USER, APP, moved_from="b"),
    "no cap": quota_in(CAP, {"consumer_byte_rate": None}),
    "unbind": remove("a", USER, APP),
    "forbid everything": DeleteAclRequest(binding=EVERYTHING),
    "no quota": quota_in(OWN, {"producer_byte_rate": None}),
    "unlink Own": remove("a", TOPIC, "Own"),
    "unlink again": remove("a", TOPIC, "again"),
    "delete Own": lambda state: deletion(state, made(state, "Own"), LocalName("a", "Own")),
    "unlink theirs": remove("b", TOPIC, "theirs"),
    "delete b": drop("b"),
}
_MOST_BOUNDARIES = 12


def made(state: ClusterState, name: str) -> str:
    """The physical name of the only topic that was created as ``name``."""
    (found,) = (topic for topic in state.topics if (generated_parts(topic) or ("", ""))[1] == name)
    return found


def minting(first: int) -> Callable[[], str]:
    numbers = count(first)
    return lambda: f"{next(numbers):08x}-0000-4000-8000-000000000000"


def ask(cluster: Cluster, step: Ask) -> None:
    request = step(cluster.read_state()) if callable(step) else step
    result = send(cluster, request)
    assert result.ok, (request, result)


def physical() -> Cluster:
    return connect("embedded:?brokers=3&virtual.clusters=0", base=Path())


def undisturbed() -> Iterator[tuple[str, Any]]:
    """The logical and the physical state after each step of the script."""
    brokers = physical()
    cluster = LoweredCluster(brokers, minting(0))
    for name, step in SCRIPT.items():
        ask(cluster, step)
        yield name, seen(brokers)
    cluster.close()


@pytest.fixture(scope="module")
def expected() -> Mapping[str, Any]:
    return dict(undisturbed())


def seen(brokers: Cluster) -> Any:  # noqa: ANN401 (a text to be compared)
    """The whole state, under names that do not depend on uuids or topic ids."""
    state, raw = LoweredCluster(brokers).read_state(), brokers.read_state()
    uuids = {parts[0]: f"<{parts[1]}>" for topic in raw.topics if (parts := generated_parts(topic))}
    ids = {topic.topic_id: f"<id of {name}>" for name, topic in raw.topics.items()}
    assert len(uuids) == len(set(uuids.values())), "a topic was made twice"
    records = raw.registry.virtual_clusters if raw.registry else {}
    hashed = ("acl", "vcacl")
    texts = {
        "virtual clusters": state.virtual_clusters,
        "acls": sorted(state.acls),
        "quotas": state.quotas,
        "brokers' acls": sorted(raw.acls),
        "brokers' quotas": raw.quotas,
        "topics": sorted(raw.topics),
        "records": sorted(
            (key.partition("/")[0] if key.partition("/")[0] in hashed else key, str(value))
            for key, value in records.items()
        ),
    }
    found = {}
    for what, value in texts.items():
        text = repr(value)
        for known, name in {**ids, **uuids}.items():
            text = text.replace(known or "-", name)
        found[what] = sorted(text.split("AclBinding")) if "acls" in what else text
    return found


@pytest.mark.parametrize("name", [*SCRIPT][2:])
def test_death_at_every_boundary_of_each_step(name: str, expected: Mapping[str, Any]) -> None:
    """VC-063, VC-168, VC-220, VC-329: the same request goes on, and ends where it would have."""
    boundaries = 0
    for boundary in range(_MOST_BOUNDARIES):
        brokers = physical()
        cluster = LoweredCluster(brokers, minting(0))
        for earlier, step in SCRIPT.items():
            if earlier == name:
                break
            ask(cluster, step)
        dying = DyingCluster(brokers, boundary)
        request = SCRIPT[name]
        try:
            ask(LoweredCluster(dying, minting(50)), request)  # type: ignore[arg-type]
        except DiedError:
            boundaries += 1
        else:
            assert seen(brokers) == expected[name]
            cluster.close()
            break
        if seen(brokers) != expected[name]:
            ask(LoweredCluster(brokers, minting(99)), request)
        assert seen(brokers) == expected[name], f"died at boundary {boundary}"
        cluster.close()
    else:
        pytest.fail("it never ends")
    assert boundaries >= 2


def test_a_name_that_was_written_down_is_the_one_that_is_used() -> None:
    """VC-063, golden (g): with another request in between, and by another process."""
    brokers = physical()
    ask(LoweredCluster(brokers), make("a"))
    with pytest.raises(DiedError):
        ask(LoweredCluster(DyingCluster(brokers, 3), minting(1)), creation_in("a", "Orders"))  # type: ignore[arg-type]
    (topic,) = brokers.read_state().topics
    assert LoweredCluster(brokers).read_state().virtual_clusters["a"].links == {}
    ask(LoweredCluster(brokers), add("a", USER, APP))
    ask(LoweredCluster(brokers, minting(7)), creation_in("a", "Orders"))
    link = LoweredCluster(brokers).read_state().virtual_clusters["a"].links["Orders"]
    (there,) = brokers.read_state().topics.values()
    assert (link.topic, link.topic_id) == (topic, there.topic_id) == (there.name, link.topic_id)
    brokers.close()


class Behind(DyingCluster):
    """A fake that does not die, but whose brokers have not heard of new topics until it asks one.

    ``hidden`` counts the readings that showed too little.
    """

    hidden = 0

    def read_state(self, *words: Any) -> ClusterState:  # noqa: ANN401
        state = self.real.read_state(*words)
        if self.left < _ALIVE or not state.topics:
            return state
        self.hidden += 1
        return replace(state, topics={})


_ALIVE = 1_000


def test_a_topic_that_does_not_show_yet_is_taken_for_the_one_that_was_made() -> None:
    """VC-063: brokers report that it exists, and no other topic can have that name."""
    brokers = physical()
    ask(LoweredCluster(brokers), make("a"))
    with pytest.raises(DiedError):
        ask(LoweredCluster(DyingCluster(brokers, 3)), creation_in("a", "Orders"))  # type: ignore[arg-type]
    behind = Behind(brokers, _ALIVE)
    result = send(LoweredCluster(behind, minting(7)), creation_in("a", "Orders"))  # type: ignore[arg-type]
    assert behind.hidden
    (there,) = brokers.read_state().topics.values()
    assert (result.ok, result.topic_id) == (True, there.topic_id)
    link = LoweredCluster(brokers).read_state().virtual_clusters["a"].links["Orders"]
    assert (link.topic, link.topic_id) == (there.name, there.topic_id)
    brokers.close()


@pytest.mark.kafka
def test_death_on_real_brokers(kafka_cluster: Cluster) -> None:
    """VC-063, VC-329: at each boundary of making a topic, and another process goes on."""
    ask(LoweredCluster(kafka_cluster), make("a"))
    for boundary in range(6):  # two appends and one wire batch
        name = f"Orders-{boundary}"
        dying = LoweredCluster(DyingCluster(kafka_cluster, boundary))  # type: ignore[arg-type]
        with pytest.raises(DiedError):
            ask(dying, creation_in("a", name))
        state = LoweredCluster(kafka_cluster).read_state()
        if name not in state.virtual_clusters["a"].links:
            ask(LoweredCluster(kafka_cluster), creation_in("a", name))
        link = LoweredCluster(kafka_cluster).read_state().virtual_clusters["a"].links[name]
        there = await_state(kafka_cluster, lambda state, topic=link.topic: topic in state.topics)
        found = [topic for topic in there.topics if (generated_parts(topic) or ("", ""))[1] == name]
        assert found == [link.topic]
        assert there.topics[link.topic].topic_id == link.topic_id
