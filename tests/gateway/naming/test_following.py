"""The follower has the newest tables, and goes on with the last ones when it can't read."""

import threading
from collections.abc import Iterator

import pytest
from gateway.naming.logs import OTHER_ID, Broken, Connection, Log, a_link, a_user, a_virtual_cluster

from kgitops.cluster.registry import meta_record
from kgitops.gateway.naming.name_table import NameTables
from kgitops.gateway.naming.registry_watcher import RegistryWatcher
from kgitops.lowering.records import RecordStatus, removal
from kgitops.model.errors import SafetyError

DAY_S = 24 * 3600.0


class Follower(RegistryWatcher):
    """One that is asked to read, and keeps what it tells."""

    def __init__(self, log: Log, now: list[float] | None = None) -> None:
        self.told: list[str] = []
        self.given: list[NameTables] = []
        self.time = now if now is not None else [0.0]
        super().__init__(
            log.connect,
            interval_s=1e6,
            tell=self.told.append,
            on_tables=self.given.append,
            clock=lambda: self.time[0],
        )


@pytest.fixture
def log() -> Log:
    return Log(
        a_virtual_cluster(),
        a_virtual_cluster("w"),
        a_link("a", "t"),
        a_link("x", "u", of="w", topic_id=OTHER_ID),
        a_user("User:jane"),
    )


@pytest.fixture
def follower(log: Log) -> Iterator[Follower]:
    followed = Follower(log)
    followed.start()
    yield followed
    followed.close()


def test_a_reading_without_a_change_leaves_the_very_same_tables(
    log: Log, follower: Follower
) -> None:
    """The end of the log moves; names and members do not."""
    before = follower.tables
    assert (before.version, before.offset) == (1, 10)
    log.append(("own/topic/t", {"schema_version": 1, "anything": "else"}))
    follower.read_again()
    assert follower.tables is before
    assert follower.now.offset == 12
    assert follower.given == []
    assert log.reads == [0, 11]


def test_a_renamed_link_makes_new_tables_and_leaves_others_alone(
    log: Log, follower: Follower
) -> None:
    """The table of the other virtual cluster is the same object."""
    before = follower.tables
    log.append(removal(a_link("a", "t")), a_link("b", "t"))
    follower.read_again()
    after = follower.tables
    assert follower.given == [after]
    assert after.version == 2
    assert after.by_virtual_cluster["v"].links == {b"b": b"t"}
    assert after.by_virtual_cluster["v"].version == 2
    assert after.by_virtual_cluster["w"] is before.by_virtual_cluster["w"]
    assert before.by_virtual_cluster["v"].links == {b"a": b"t"}


def test_a_member_that_moves_is_in_the_other_one_at_once(log: Log, follower: Follower) -> None:
    """Its record has one virtual cluster; no table changes, but who is bound does."""
    before = follower.tables
    log.append(a_user("User:jane", of="w"))
    follower.read_again()
    after = follower.tables
    assert (before.version, after.version) == (1, 2)
    bound = [tables.bind("User:jane", None) for tables in (before, after)]
    assert bound == [before.by_virtual_cluster["v"], before.by_virtual_cluster["w"]]


def test_a_link_that_was_begun_shows_when_it_is_finished(log: Log, follower: Follower) -> None:
    """A reader sees every state of an apply."""
    begun = a_link("b", "u", topic_id=None, status=RecordStatus.PENDING)
    log.append(begun)
    follower.read_again()
    assert follower.given == []
    log.append(a_link("b", "u", topic_id=OTHER_ID))
    follower.read_again()
    assert follower.tables.by_virtual_cluster["v"].links == {b"a": b"t", b"b": b"u"}


def test_while_the_registry_is_away_the_last_tables_grow_old(log: Log, follower: Follower) -> None:
    """Told once when it begins and once when it ends; each attempt connects anew."""
    before = follower.tables
    log.failure = Broken("no server answers")
    for second in (10.0, 20.0, 30.0):
        follower.time[0] = second
        follower.read_again()
    assert follower.tables is before
    assert follower.now.error == "no server answers"
    assert follower.age_s == 30.0
    assert follower.is_fresh(30.0)
    assert not follower.is_fresh(29.9)
    assert follower.told == [
        "the names of virtual clusters stay as they were last read: no server answers"
    ]
    assert (log.opened, log.closed) == (1, 1)
    log.failure = None
    log.append(a_link("b", "u", topic_id=OTHER_ID))
    follower.read_again()
    assert follower.now.error is None
    assert follower.age_s == 0.0
    assert follower.told[1:] == [
        "the registry is read again; the names of virtual clusters are up to date"
    ]
    assert b"b" in follower.tables.by_virtual_cluster["v"].links
    assert log.opened == 2


def test_a_damaged_record_stops_at_the_last_table_until_it_is_mended(
    log: Log, follower: Follower
) -> None:
    """No part of that reading counts, the other virtual cluster's included."""
    before = follower.tables
    log.append(a_link("y", "u", of="w", topic_id=OTHER_ID), a_link("b", "u", topic_id="damaged"))
    follower.read_again()
    assert follower.tables is before
    assert "vcs/link/v/b is damaged" in str(follower.now.error)
    follower.read_again()
    assert len(follower.told) == 1
    log.append(removal(a_link("b", "u")))
    follower.read_again()
    assert follower.now.error is None
    assert b"y" in follower.tables.by_virtual_cluster["w"].links


@pytest.mark.parametrize("topic", ["two", None])
def test_a_registry_made_again_or_gone_is_not_believed(
    log: Log, follower: Follower, topic: str | None
) -> None:
    """It would release every member; a restart says that this was meant."""
    before = follower.tables
    log.topic = topic
    log.entries = []
    log.append(meta_record())
    for _ in range(3):
        follower.read_again()
        assert follower.now.error is not None
        assert follower.tables is before
    assert follower.given == []


def test_a_registry_that_is_being_imported_is_not_believed_until_that_is_done(
    log: Log, follower: Follower
) -> None:
    before = follower.tables
    key, meta = meta_record()
    log.append((key, {**(meta or {}), "importing": "sha256:0"}), ("vcs/link/v/a", None))
    follower.read_again()
    assert "the import did not finish" in str(follower.now.error)
    assert follower.tables is before
    log.append(a_link("b", "u", topic_id=OTHER_ID), meta_record())
    follower.read_again()
    assert follower.now.error is None
    assert b"b" in follower.tables.by_virtual_cluster["v"].links
    assert b"a" not in follower.tables.by_virtual_cluster["v"].links


def test_a_registry_made_again_in_the_middle_of_a_reading_is_not_believed(
    log: Log, follower: Follower, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was read may be of either."""
    before = follower.tables
    log.append(a_link("b", "u", topic_id=OTHER_ID))
    answers = iter(["one", "two"])
    monkeypatch.setattr(Connection, "topic_id", lambda _: next(answers))
    follower.read_again()
    assert "deleted and made again" in str(follower.now.error)
    assert follower.tables is before


def test_after_a_long_time_everything_is_read_again(log: Log, follower: Follower) -> None:
    """Kafka keeps a removal for some days: one that nobody read in time is not missed."""
    log.append(removal(a_link("a", "t")))
    log.forget(["vcs/link/v/a"])
    follower.time[0] = DAY_S
    follower.read_again()
    assert b"a" in follower.tables.by_virtual_cluster["v"].links
    follower.time[0] = 2 * DAY_S + 1
    follower.read_again()
    assert follower.tables.by_virtual_cluster["v"].links == {}
    assert log.reads[-2:] == [11, 0]


def test_without_a_registry_nothing_is_followed(log: Log) -> None:
    """Nobody would be bound, and clients would see what is not theirs by names not theirs."""
    log.topic = None
    follower = Follower(log)
    with pytest.raises(SafetyError, match="has no registry __kgitops"):
        follower.start()
    assert (log.opened, log.closed) == (1, 1)
    with pytest.raises(RuntimeError):
        _ = follower.now


def test_a_damaged_registry_is_not_started_with(log: Log) -> None:
    """There are no last tables to go on with."""
    log.append(a_link("b", "t", topic_id=None))
    with pytest.raises(SafetyError, match="damaged"):
        Follower(log).start()


def test_an_error_that_nobody_thought_of_is_told_and_ends_nothing(
    log: Log, follower: Follower
) -> None:
    """A thread that died would let the names grow old in silence."""
    log.failure = ZeroDivisionError("by nothing")
    follower.read_again()
    assert follower.now.error == "unexpected ZeroDivisionError: by nothing"
    log.failure = None
    follower.read_again()
    assert follower.now.error is None


def test_it_follows_by_itself_until_it_is_closed(log: Log) -> None:
    """In a thread of its own."""
    changed = threading.Event()
    follower = RegistryWatcher(log.connect, interval_s=0.001, on_tables=lambda _: changed.set())
    follower.start()
    log.append(a_link("b", "u", topic_id=OTHER_ID))
    assert changed.wait(30)
    assert b"b" in follower.tables.by_virtual_cluster["v"].links
    follower.close()
    assert (log.opened, log.closed) == (1, 1)
    assert not any(thread.name == "kgitops-names" for thread in threading.enumerate())
