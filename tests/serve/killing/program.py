"""The writes of a client, one request each, in their order."""

from collections.abc import Sequence

from serve.killing.admin_steps import (
    alter_configs,
    alter_quotas,
    alter_scram,
    create_acls,
    create_partitions,
    create_topics,
    delete_acls,
    delete_topics,
    new_topic,
)
from serve.killing.record_steps import (
    TRANSACTION,
    commit_offsets,
    delete_records,
    init_producer,
    produce,
    transaction,
)
from serve.killing.step import Client, Step
from serve.raw_client import RawClient

COMMITTED, ABORTED = b"committed", b"aborted"
"""The values of the transactions' records."""


def steps() -> Sequence[Step]:
    """The program."""
    return (
        *(create_topics(), create_partitions(), alter_configs()),
        *(create_acls(), delete_acls(), alter_quotas()),
        *(alter_scram("alice", "bob"), alter_scram("carol", gone="alice")),
        produce({("orders", 0): b"1", ("orders", 1): b"2"}),
        *(produce({("table", 0): value}) for value in (b"old", b"older", b"new")),
        init_producer(None),
        *(produce({("orders", 0): b"once", ("audit", 1): b"once"}, sequence=n) for n in (0, 2)),
        commit_offsets(),
        init_producer(TRANSACTION),
        *transaction(COMMITTED, 0, committed=True),
        *transaction(ABORTED, 1, committed=False),
        *(delete_records(), delete_topics()),
    )


def after(raw: RawClient) -> None:
    """Write something else to the same store."""
    client = Client()
    create_topics(new_topic("after")).take(raw, client)
    produce({("after", 0): b"1"}).take(raw, client)


def abort(raw: RawClient) -> None:
    """End what a producer that died has left open, as the one that comes after it does."""
    init_producer(TRANSACTION).take(raw, Client())
