"""The registry's log in the store: order, compaction, time, all or nothing."""

from contextlib import closing
from datetime import timedelta
from pathlib import Path

import pytest
from builders import a_topic
from cluster.clusters import NOON, a_cluster

from kgitops.cluster.embedded.adapter import EmbeddedCluster
from kgitops.cluster.embedded.boot import boot
from kgitops.cluster.embedded.options import ClockAndIds
from kgitops.cluster.registry import meta_record, owner_record, project_record
from kgitops.model.errors import LockedError, SafetyError
from kgitops.model.json.declared import last_applied
from kgitops.model.registry import Owner

NOON_MS = int(NOON.timestamp() * 1000)


def entry(number: int) -> dict:
    return {"schema_version": 1, "number": number}


def contents(cluster: EmbeddedCluster, since: int = 0) -> list:
    return [(item.offset, item.key, item.value) for item in cluster.registry.read(since) or ()]


def test_the_first_append_creates_it_with_its_mark():
    cluster = a_cluster()
    assert cluster.registry.append([project_record("uid", "payments")]) == 1
    assert contents(cluster) == [(0, *meta_record()), (1, *project_record("uid", "payments"))]
    state = cluster.read_state().registry
    assert state is not None
    assert (state.topic_id, state.offset) == ("id-0001", 1)
    assert state.projects == {"uid": "payments"}


def test_a_mark_that_is_given_is_not_repeated():
    cluster = a_cluster()
    assert cluster.registry.append([meta_record(), ("lock/a", entry(1))]) == 1
    assert [key for _, key, _ in contents(cluster)] == ["meta", "lock/a"]


def test_appending_nothing_writes_nothing():
    cluster = a_cluster()
    cluster.registry.append([("lock/a", entry(1))])
    assert cluster.registry.append([]) == 1
    assert len(contents(cluster)) == 2


def test_of_each_key_the_newest_is_kept_at_its_offset():
    cluster = a_cluster()
    cluster.registry.append([("lock/a", entry(1)), ("lock/b", entry(2))])
    assert cluster.registry.append([("lock/a", entry(3)), ("lock/b", None)]) == 4
    assert contents(cluster) == [
        (0, *meta_record()),
        (3, "lock/a", entry(3)),
        (4, "lock/b", None),
    ]
    assert contents(cluster, since=4) == [(4, "lock/b", None)]
    assert contents(cluster, since=5) == []


def test_a_key_twice_in_one_append_keeps_the_last():
    cluster = a_cluster()
    cluster.registry.append([("lock/a", entry(1)), ("lock/a", entry(2))])
    assert contents(cluster)[1:] == [(2, "lock/a", entry(2))]


def test_metadata_and_registry_are_read_at_one_moment(tmp_path: Path):
    path = tmp_path / "local.db"
    with closing(boot(path)) as one, closing(boot(path)) as two:
        one.registry.append([project_record("uid", "payments")])
        assert two.read_state() == one.read_state()
        two.registry.append([project_record("uid", "renamed")])
        state = one.read_state().registry
        assert state is not None
        assert state.projects == {"uid": "renamed"}


def test_time_never_goes_back(tmp_path: Path):
    moments = [NOON]
    cluster = boot(None, clock_and_ids=ClockAndIds(now=lambda: moments[-1], new_id=lambda: "id"))
    cluster.registry.append([("lock/a", entry(1))])
    moments.append(NOON - timedelta(hours=1))
    assert cluster.registry.now_ms() == NOON_MS
    cluster.registry.append([("lock/b", entry(2))])
    moments.append(NOON + timedelta(milliseconds=5))
    assert cluster.registry.now_ms() == NOON_MS + 5
    cluster.registry.append([("lock/c", entry(3))])
    times = [item.timestamp_ms for item in cluster.registry.read() or ()]
    assert times == [NOON_MS, NOON_MS, NOON_MS, NOON_MS + 5]


def test_all_entries_are_appended_or_none():
    cluster = a_cluster()
    cluster.registry.append([("lock/a", entry(1))])
    before = contents(cluster)
    with pytest.raises(TypeError):
        cluster.registry.append([("lock/b", entry(2)), ("lock/c", {"value": object()})])
    assert contents(cluster) == before
    assert cluster.registry.append([("lock/d", entry(3))]) == 2


def test_half_a_surrogate_pair_is_not_written():
    """Kafka's registry could not hold it either, and readers refuse it."""
    cluster = a_cluster()
    cluster.registry.append([("lock/a", entry(1))])
    before = contents(cluster)
    with pytest.raises(ValueError, match="surrogates"):
        cluster.registry.append([("run/a", {"schema_version": 1, "holder": "\udcff"})])
    assert contents(cluster) == before


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        ("own/topic/a", {"schema_version": 3}, "schema version 3"),
        ("meta", None, "no meta record"),
        (
            "own/topic/a",
            {"schema_version": 1, "project": 7},
            "own/topic/a has no key 'topic_id'",
        ),
    ],
    ids=["of a newer kgitops", "lost mark", "damaged owner"],
)
def test_a_record_that_stops_planning(key: str, value: dict | None, said: str):
    """Nobody can tell whose the objects are, so nothing may be concluded."""
    cluster = a_cluster()
    cluster.registry.append([("lock/a", entry(1))])
    cluster.registry.append([(key, value)])
    with pytest.raises(SafetyError, match=said):
        cluster.read_state()


def test_it_survives_its_process(tmp_path: Path):
    path = tmp_path / "local.db"
    with closing(boot(path)) as cluster:
        cluster.registry.append([("lock/a", entry(1)), ("lock/a", None)])
        before = cluster.registry.read()
    with closing(boot(path)) as cluster:
        assert cluster.registry.read() == before
        assert cluster.registry.append([("lock/b", entry(2))]) == 3


def test_what_is_read_batch_by_batch_is_what_is_read_at_once(tmp_path: Path):
    """The state is carried on from what was known, deletions and new owners included."""
    cluster = a_cluster(tmp_path / "store.db")
    batches = [
        [owner_record("topic/a", an_owner_of("p")), owner_record("topic/b", an_owner_of("p"))],
        [project_record("p", "payments")],
        [owner_record("topic/a", None), owner_record("topic/b", an_owner_of("q"))],
        [("lock/x", {"schema_version": 1}), ("lock/x", None)],
    ]
    for batch in batches:
        cluster.registry.append(batch)
        fresh = a_cluster(tmp_path / "store.db")
        assert cluster.read_state().registry == fresh.read_state().registry
        fresh.close()


def an_owner_of(project: str) -> Owner:
    return Owner(project=project, last_applied=last_applied(a_topic("a")), topic_id="t")


def test_only_the_last_to_fence_may_write(tmp_path: Path):
    with closing(boot(tmp_path / "a.db")) as one, closing(boot(tmp_path / "a.db")) as two:
        one.registry.append([meta_record()])
        one.registry.fence()
        one.registry.append([("run/1", entry(1))])
        two.registry.append([("lock/contender", entry(2))])
        two.registry.fence()
        before = contents(two)
        with pytest.raises(LockedError, match="taken the registry over"):
            one.registry.append([("run/1", entry(3))])
        assert contents(two) == before
        two.registry.append([("run/2", entry(4))])
        one.registry.unfence()
        one.registry.append([("lock/one", entry(5))])
        one.registry.fence()
        with pytest.raises(LockedError):
            two.registry.append([("run/2", entry(6))])
