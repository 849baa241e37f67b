"""The registry, as every cluster keeps it."""

import pytest
from builders import a_topic
from cluster_contract.contract import created

from kgitops.cluster.port import Cluster
from kgitops.cluster.registry import owner_record, project_record
from kgitops.model.json.declared import last_applied
from kgitops.model.registry import META_KEY, Owner
from kgitops.model.resources.names import REGISTRY_TOPIC

pytestmark = pytest.mark.default_kafka

OWNER = Owner(project="uid", topic_id="t", last_applied=last_applied(a_topic("orders")))


def latest(cluster: Cluster) -> dict:
    """What the newest entry of each key says."""
    return {entry.key: entry.value for entry in cluster.registry.read() or ()}


def test_it_is_made_by_the_first_append(cluster: Cluster):
    assert cluster.registry.read() is None
    created(cluster, "orders")
    assert cluster.registry.read() is None
    assert cluster.read_state().registry is None
    cluster.registry.append([project_record("uid", "payments")])
    assert latest(cluster).keys() == {META_KEY, "project/uid"}


def test_entries_are_in_order_and_their_time_never_goes_back(cluster: Cluster):
    for number in range(5):
        cluster.registry.append([(f"lock/{number}", {"schema_version": 1})])
    entries = cluster.registry.read()
    assert entries is not None
    offsets = [entry.offset for entry in entries]
    times = [entry.timestamp_ms for entry in entries]
    assert offsets == sorted(set(offsets))
    assert times == sorted(times)
    assert times[-1] <= cluster.registry.now_ms()


def test_append_answers_with_the_last_offset(cluster: Cluster):
    last = cluster.registry.append([("lock/a", {"schema_version": 1}), ("lock/b", None)])
    entries = cluster.registry.read()
    assert entries is not None
    assert entries[-1].offset == last
    assert (entries[-1].key, entries[-1].value) == ("lock/b", None)


def test_reading_can_begin_later(cluster: Cluster):
    first = cluster.registry.append([("lock/a", {"schema_version": 1})])
    last = cluster.registry.append([("lock/b", {"schema_version": 1})])
    assert [e.key for e in cluster.registry.read(first + 1) or ()] == ["lock/b"]
    assert list(cluster.registry.read(last + 1) or ()) == []


def test_the_newest_value_of_a_key_is_never_lost(cluster: Cluster):
    for number in range(3):
        cluster.registry.append([("run/1", {"schema_version": 1, "step": number})])
    assert latest(cluster)["run/1"] == {"schema_version": 1, "step": 2}


def test_the_state_says_who_owns_what(cluster: Cluster):
    cluster.registry.append(
        [project_record("uid", "payments"), owner_record("topic/a", OWNER),
         owner_record("topic/b", OWNER)]
    )  # fmt: skip
    last = cluster.registry.append([owner_record("topic/b", None)])
    state = cluster.read_state().registry
    assert state is not None
    assert (state.projects, state.owners) == ({"uid": "payments"}, {"topic/a": OWNER})
    assert state.offset == last


def test_its_topic_id_does_not_change(cluster: Cluster):
    ids = set()
    for name in ("a", "b"):
        cluster.registry.append([project_record("uid", name)])
        state = cluster.read_state().registry
        assert state is not None
        ids.add(state.topic_id)
    assert len(ids) == 1


def test_it_is_no_topic_of_the_users(cluster: Cluster):
    cluster.registry.append([project_record("uid", "payments")])
    topic = cluster.read_state().topics.get(REGISTRY_TOPIC)
    assert topic is None or topic.internal


def test_who_fences_writes_on(cluster: Cluster):
    cluster.registry.append([("lock/a", {"schema_version": 1})])
    cluster.registry.fence()
    pieces = [(f"run/1/plan/{n}", {"schema_version": 1, "text": "x" * 100_000}) for n in range(20)]
    last = cluster.registry.append([*pieces, ("run/1", {"schema_version": 1})])
    entries = cluster.registry.read()
    assert entries is not None
    assert (entries[-1].offset, entries[-1].key) == (last, "run/1")
    assert latest(cluster).keys() == {META_KEY, "lock/a", "run/1", *(key for key, _ in pieces)}
    cluster.registry.fence()
    cluster.registry.append([("run/1", None)])
    cluster.registry.unfence()
    cluster.registry.append([("lock/a", None)])
    assert [latest(cluster)[key] for key in ("run/1", "lock/a")] == [None, None]
