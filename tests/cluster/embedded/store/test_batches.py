"""Record batches in a store: offsets in images, formats, and what follows from metadata records."""

import sqlite3
from contextlib import closing
from pathlib import Path

from cluster.clusters import a_new_topic
from serve.data.batches import batch

from kgitops.cluster.embedded.adapter import EmbeddedCluster
from kgitops.cluster.embedded.boot import boot
from kgitops.cluster.embedded.client.admin import EmbeddedAdmin


def append(cluster: EmbeddedCluster, *values: bytes) -> None:
    """Append a batch to the topic's first partition."""
    topic = cluster.controller.image().topics.by_name["orders"]
    with cluster.controller.writing_batches():
        cluster.controller.batches.append((topic.topic_id, 0), batch(*values))


def offsets(cluster: EmbeddedCluster) -> tuple[int, int]:
    """Of the topic's first partition, as plans see them."""
    usage = cluster.read_usage(frozenset({"orders"})).topics["orders"]
    return usage.log_start_offsets[0], usage.high_watermarks[0]


def snapshot(cluster: EmbeddedCluster) -> None:
    """Let the store have a snapshot of its newest image."""
    image, store = cluster.controller.image(), cluster.controller._store
    with store.writing():
        store._append_snapshot(image, cluster.controller._position.offset)


def version(path: Path) -> int:
    """The store's format version."""
    with closing(sqlite3.connect(path)) as connection:
        found: int = connection.execute("PRAGMA user_version").fetchone()[0]
        return found


def test_batches_are_the_usage_of_a_partition(tmp_path: Path) -> None:
    """In this process and another one, after a snapshot, beside what tests have simulated."""
    path = tmp_path / "local.db"
    cluster, other = boot(path, brokers=3), boot(path)
    admin = EmbeddedAdmin(cluster.controller)
    assert admin.create_topics([a_new_topic("orders")])["orders"].ok
    cluster.produce("orders", 0, 3, 10)
    assert version(path) == 1
    append(cluster, b"a", b"b")
    assert version(path) == 3
    assert offsets(cluster) == offsets(other) == (0, 5)
    other.produce("orders", 0, 1, 10)
    append(cluster, b"c")
    assert offsets(cluster) == offsets(other) == (0, 7)
    snapshot(cluster)
    with closing(boot(path)) as again:
        assert offsets(again) == (0, 7)
    for each in (cluster, other):
        each.close()


def test_deleted_records_and_topics_take_their_batches_along(tmp_path: Path) -> None:
    """Whichever process deletes them."""
    path = tmp_path / "local.db"
    cluster, other = boot(path, brokers=3), boot(path)
    admin = EmbeddedAdmin(other.controller)
    assert admin.create_topics([a_new_topic("orders")])["orders"].ok
    for value in (b"a", b"b", b"c"):
        append(cluster, value)
    assert admin.delete_records({("orders", 0): 2})["orders", 0].low_watermark == 2
    assert offsets(cluster) == offsets(other) == (2, 3)
    with closing(sqlite3.connect(path)) as connection:
        count = "SELECT count(*) FROM batch"
        assert connection.execute(count).fetchone() == (1,)
        assert admin.delete_topics(["orders"])["orders"].ok
        assert connection.execute(count).fetchone() == (0,)
    for each in (cluster, other):
        each.close()


def test_an_open_transaction_is_in_a_snapshot(tmp_path: Path) -> None:
    """And is the same in the image that is made of it."""
    path = tmp_path / "local.db"
    cluster = boot(path, brokers=3)
    admin = EmbeddedAdmin(cluster.controller)
    assert admin.create_topics([a_new_topic("orders")])["orders"].ok
    producer = admin.init_producer_id("t", timeout_ms=5_000)
    assert admin.add_partitions_to_txn("t", producer, [("orders", 0)])["orders", 0].ok
    assert admin.add_offsets_to_txn("t", producer, "g").ok
    assert admin.txn_offset_commit("t", producer, "g", {("orders", 1): 4})["orders", 1].ok
    before = cluster.controller.image().transactions.by_id["t"]
    snapshot(cluster)
    cluster.close()
    with closing(boot(path)) as again:
        assert again.controller.image().transactions.by_id["t"] == before
        assert before.contents.timeout_ms == 5_000
        assert len(before.contents.offsets) == len(before.contents.partitions) == 1
