"""A store's file: what is wrong with one is said in a sentence, and nothing is lost."""

import ast
import os
import random
import re
import shutil
import sqlite3
import stat
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from cluster.clusters import a_cluster, a_grant, a_new_topic, admin
from cluster.embedded.store.store_driver import __file__ as driver
from other_processes import running

import kgitops
from kgitops.cluster.embedded.boot import boot
from kgitops.cluster.embedded.draft import Draft
from kgitops.cluster.embedded.image.records import MarkTopicRecord
from kgitops.cluster.embedded.options import Options
from kgitops.model.errors import KgitopsError, LockedError, SafetyError, UnreachableError
from kgitops.model.resources.acls import Operation
from kgitops.model.verdict import ExitCode

QUICK = Options(busy_timeout_ms=200)


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """A store with topics, an ACL and a registry, closed."""
    path = tmp_path / "local.db"
    cluster = a_cluster(path)
    connection = admin(cluster)
    connection.create_topics([a_new_topic(f"topic-{n}", retention_ms="1") for n in range(50)])
    connection.create_acls([a_grant(Operation.READ)])
    cluster.registry.append([("project/p", {"schema_version": 1, "name": "payments"})])
    cluster.close()
    assert not Path(f"{path}-wal").exists()
    return path


def state_of(path: Path):
    """What is in a store, apart from when it was read."""
    with closing(a_cluster(path)) as cluster:
        return cluster.read_state()


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o077])
def test_others_of_the_machine_read_no_store(tmp_path: Path, umask: int):
    path = tmp_path / "local.db"
    before = os.umask(umask)
    try:
        with closing(a_cluster(path)) as cluster:
            admin(cluster).create_topics([a_new_topic("a")])
            modes = {file.name: stat.S_IMODE(file.stat().st_mode) for file in tmp_path.iterdir()}
    finally:
        os.umask(before)
    assert modes == dict.fromkeys(("local.db", "local.db-shm", "local.db-wal"), 0o600)


def test_a_draft_of_a_store_is_private_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Killed before it was renamed, it stays."""

    def killed(draft: str, _: object) -> None:
        raise KeyboardInterrupt(stat.S_IMODE(Path(draft).stat().st_mode))

    monkeypatch.setattr(os, "link", killed)
    with pytest.raises(KeyboardInterrupt) as stopped:
        a_cluster(tmp_path / "local.db")
    assert stopped.value.args == (0o600,)


@pytest.mark.parametrize("mode", [0o644, 0o640, 0o604, 0o660])
def test_a_store_that_others_may_use_is_reported(
    store: Path, mode: int, caplog: pytest.LogCaptureFixture
):
    store.chmod(mode)
    a_cluster(store).close()
    (record,) = caplog.records
    assert record.getMessage() == (
        f"{store}: other users of this machine can read the store (mode {mode:04o}) with the keys "
        f"of passwords and the records in it; run: chmod 600 {store}"
    )
    caplog.clear()
    store.chmod(0o600)
    a_cluster(store).close()
    assert not caplog.records


def test_a_store_comes_back_as_it_was(tmp_path: Path):
    path = tmp_path / "folder" / "that" / "is-new" / "local.db"
    with closing(a_cluster(path)) as cluster:
        admin(cluster).create_topics([a_new_topic("a")])
        before = cluster.read_state()
    assert state_of(path) == before


def test_two_connections_see_each_others_changes(tmp_path: Path):
    path = tmp_path / "local.db"
    with closing(boot(path)) as one, closing(boot(path)) as two:
        admin(one).create_topics([a_new_topic("a")])
        assert list(two.read_state().topics) == ["a"]
        admin(two).create_topics([a_new_topic("b")])
        assert not admin(one).create_topics([a_new_topic("b")])["b"].ok
        assert one.read_state().topics == two.read_state().topics


def test_two_writers_lose_nothing_of_each_other(store: Path):
    """A4-105: they take turns, and neither is refused for the other's sake."""

    def write(prefix: str, answers: list) -> None:
        with closing(boot(store)) as cluster:
            for number in range(25):
                topic = a_new_topic(f"{prefix}-{number}")
                answers.append(admin(cluster).create_topics([topic])[topic.name])
                cluster.registry.append([(f"project/{topic.name}", {"schema_version": 1})])

    answers: list = []
    writers = [threading.Thread(target=write, args=(name, answers)) for name in ("one", "two")]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert len(answers) == 50
    assert all(answer.ok for answer in answers)
    with closing(boot(store)) as cluster:
        entries = cluster.registry.read() or ()
    assert len(entries) == 52
    assert len({entry.offset for entry in entries}) == 52


@pytest.fixture
def eager_snapshots(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every append makes a snapshot."""
    monkeypatch.setattr("kgitops.cluster.embedded.store.store._SNAPSHOT_MIN_CHARS", 1)
    monkeypatch.setattr("kgitops.cluster.embedded.store.store._SNAPSHOT_SHARE", 1_000_000)


@pytest.mark.usefixtures("eager_snapshots")
def test_a_snapshot_changes_nothing(store: Path):
    with closing(a_cluster(store)) as cluster:
        cluster.produce("topic-1", 1, records=5, bytes_each=7)
        cluster.faults.hold_reassignments = True
        admin(cluster).alter_partition_reassignments({("topic-2", 0): [1, 2, 3]})
        admin(cluster).delete_topics(["topic-3"])
        image, state = cluster.controller.image(), cluster.read_state()
    with closing(sqlite3.connect(store)) as connection:
        rows = connection.execute(
            "SELECT snapshot.log_offset, (SELECT max(log_offset) FROM log) FROM snapshot"
        ).fetchall()
    assert len(rows) == 1
    assert rows[0][0] == rows[0][1]
    with closing(a_cluster(store)) as cluster:
        assert cluster.controller.image() == image
        assert cluster.read_state() == state


@pytest.mark.usefixtures("eager_snapshots")
def test_a_damaged_snapshot_costs_time_only(store: Path):
    with closing(a_cluster(store)) as cluster:
        cluster.produce("topic-1", 1, records=5, bytes_each=7)
        state = cluster.read_state()
    with closing(sqlite3.connect(store)) as connection, connection:
        connection.execute("UPDATE snapshot SET image = replace(image, 'topic-1', 'topic-x')")
    assert state_of(store) == state


def test_a_decision_that_breaks_off_leaves_nothing_behind(store: Path):
    with closing(a_cluster(store)) as cluster:
        before = cluster.controller.image()

        def break_off(draft: Draft) -> None:
            draft.write(MarkTopicRecord(topic_id=before.topics.by_name["topic-1"].topic_id))
            raise ZeroDivisionError

        with pytest.raises(ZeroDivisionError):
            cluster.controller.decide(break_off)
        assert cluster.controller.image() is before
    with closing(a_cluster(store)) as cluster:
        assert cluster.controller.image() == before


@pytest.mark.parametrize("share", [0, 1e-9, 0.001, 0.2, 0.5, 0.9, 0.999999])
def test_a_truncated_file(store: Path, share: float):
    """Also one that has become empty: it is never taken for a new cluster."""
    size = store.stat().st_size
    kept = 0 if not share else max(1, int(size * share))
    os.truncate(store, kept)
    error = refused(store, UnreachableError, ExitCode.UNREACHABLE)
    assert "damaged" in error or "not the store" in error
    assert ("is damaged (the file is empty)" in error) is (kept == 0)
    assert store.stat().st_size == kept


def test_damage_anywhere_is_noticed_or_harmless(store: Path):
    """A flipped byte never makes another cluster of it."""
    before, whole = state_of(store), store.read_bytes()
    noticed = 0
    dice = random.Random(7)  # noqa: S311
    for _ in range(60):
        data = bytearray(whole)
        place = dice.randrange(len(data))
        data[place] ^= 1 << dice.randrange(8)
        store.write_bytes(data)
        try:
            assert state_of(store) == before, f"byte {place}"
        except (UnreachableError, SafetyError, LockedError):
            noticed += 1
        for leftover in store.parent.glob("local.db-*"):
            leftover.unlink()
    assert noticed > 10


@pytest.mark.usefixtures("eager_snapshots")
def test_a_lost_page_is_noticed_even_where_a_snapshot_spares_reading_it(store: Path):
    with closing(a_cluster(store)) as cluster:
        cluster.produce("topic-1", 1, records=5, bytes_each=7)
    whole = store.read_bytes()
    size = int.from_bytes(whole[16:18], "big")
    pages = [start for start in range(size, len(whole), size) if whole[start] in (2, 5, 10, 13)]
    assert len(pages) >= 5
    for start in pages:
        store.write_bytes(whole[:start] + bytes(size) + whole[start + size :])
        assert "is damaged" in refused(store, UnreachableError, ExitCode.UNREACHABLE)


def test_a_missing_batch_is_noticed(store: Path):
    with closing(sqlite3.connect(store)) as connection, connection:
        connection.execute("DELETE FROM log WHERE log_offset = 1")
    assert "the log's batch 1 can't be read" in refused(
        store, UnreachableError, ExitCode.UNREACHABLE
    )


def test_a_missing_cluster_id_is_noticed(store: Path):
    with closing(sqlite3.connect(store)) as connection, connection:
        connection.execute("DELETE FROM meta WHERE key = 'cluster_id'")
    assert "is damaged (it has no cluster id)" in refused(
        store, UnreachableError, ExitCode.UNREACHABLE
    )


def test_a_damaged_registry_stops_planning(store: Path):
    """design.md: a registry that can't be read to its end is exit 5."""
    with closing(sqlite3.connect(store)) as connection, connection:
        connection.execute("UPDATE registry SET value = replace(value, 'payments', 'payment')")
    with closing(a_cluster(store)) as cluster, pytest.raises(SafetyError, match="project/p"):
        cluster.read_state()


@pytest.mark.parametrize(
    "content", [b"topics: []\n", b"\x89PNG\r\n\x1a\n" + bytes(5_000), b"SQLite format 3\0"]
)
def test_a_file_that_is_no_store(tmp_path: Path, content: bytes):
    path = tmp_path / "notes.txt"
    path.write_bytes(content)
    assert "not the store of an embedded cluster" in refused(
        path, UnreachableError, ExitCode.UNREACHABLE
    )
    assert path.read_bytes() == content


def test_another_programs_database(tmp_path: Path):
    path = tmp_path / "other.db"
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("CREATE TABLE notes (text)")
    assert "not the store of an embedded cluster" in refused(
        path, UnreachableError, ExitCode.UNREACHABLE
    )


def test_a_folder(tmp_path: Path):
    assert "it is a folder" in refused(tmp_path, UnreachableError, ExitCode.UNREACHABLE)


def test_a_folder_that_can_not_be_made(tmp_path: Path):
    (tmp_path / "file").write_text("")
    path = tmp_path / "file" / "local.db"
    with pytest.raises(UnreachableError) as error:
        boot(path)
    assert str(path) in str(error.value)


def test_a_newer_version(store: Path):
    with closing(sqlite3.connect(store)) as connection, connection:
        connection.execute("PRAGMA user_version = 4")
    before = store.read_bytes()
    error = refused(store, SafetyError, ExitCode.REFUSED)
    assert "has format version 4, this kgitops knows 3; use a newer kgitops" in error
    assert store.read_bytes() == before


def test_while_another_process_writes_reading_goes_on(store: Path):
    """The one that is locked out says so after the time it was given."""
    before = state_of(store)
    with driven("hold", store), closing(boot(store, options=QUICK)) as cluster:
        assert cluster.read_state().topics == before.topics
        with pytest.raises(LockedError) as error:
            admin(cluster).create_topics([a_new_topic("a")])
        with pytest.raises(LockedError):
            cluster.registry.append([("project/x", None)])
        assert_one_sentence(error.value, store, ExitCode.LOCKED)
        assert "locked by another process for 0.2 s" in str(error.value)
        assert admin(cluster).create_topics([a_new_topic("a")], validate_only=True)["a"].ok
    assert state_of(store) == before


def test_a_store_that_another_process_has_to_itself(store: Path):
    before = state_of(store)
    with driven("hold-exclusive", store), pytest.raises(LockedError) as error:
        boot(store, options=QUICK)
    assert_one_sentence(error.value, store, ExitCode.LOCKED)
    assert state_of(store) == before


@contextmanager
def readable_by_all(store: Path) -> Iterator[Path]:
    """A copy where other users can come: the test's own folder may be closed to them."""
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        path = Path(folder) / "local.db"
        shutil.copy(store, path)
        Path(folder).chmod(0o755)
        path.chmod(0o644)
        yield path
        Path(folder).chmod(0o755)


needs_users = pytest.mark.parametrize("folder_mode", [0o555, 0o777], ids=["closed", "open"])


@needs_users
def test_a_read_only_store_can_be_read_and_says_no_to_writing(store: Path, folder_mode: int):
    with readable_by_all(store) as path:
        path.chmod(stat.S_IRUSR | stat.S_IRGRP | stat.S_IROTH)
        path.parent.chmod(folder_mode)
        read, answer = run_as_nobody(path)
        path.parent.chmod(0o755)
        assert read == f"read {','.join(state_of(path).topics)}"
    assert answer == (
        f"UnreachableError 8 the embedded cluster's store {path} can't be used: "
        "it is read-only, nothing was changed; make it writable"
    )


def test_a_store_that_may_not_be_read(store: Path):
    with readable_by_all(store) as path:
        path.chmod(0)
        (answer,) = run_as_nobody(path)
    assert answer.startswith(f"UnreachableError 8 the embedded cluster's store {path} can't be")
    assert "permission denied" in answer


def test_a_store_in_a_folder_that_may_not_be_entered(store: Path):
    with readable_by_all(store) as path:
        path.parent.chmod(0)
        (answer,) = run_as_nobody(path)
    assert answer.startswith(f"UnreachableError 8 the embedded cluster's store {path} can't be")


def refused(path: Path, kind: type[KgitopsError], code: ExitCode) -> str:
    """The sentence with which opening ``path`` fails."""
    with pytest.raises(kind) as error:
        boot(path, options=QUICK)
    assert_one_sentence(error.value, path, code)
    return str(error.value)


def assert_one_sentence(error: KgitopsError, path: Path, code: ExitCode) -> None:
    """It names the file, says what to do, and has the contract's exit code."""
    assert error.exit is code
    assert str(path) in str(error)
    assert "; " in str(error) or ": " in str(error)
    assert not re.search(r"\n|Traceback|sqlite3\.", str(error))


@contextmanager
def driven(mode: str, path: Path) -> Iterator[subprocess.Popen[str]]:
    """A process in this mode that is ready, killed in the end."""
    with running(
        [sys.executable, driver, mode, path], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        try:
            yield process
        finally:
            process.kill()


def run_as_nobody(path: Path) -> list[str]:
    """What a process without rights of its own says."""
    done = subprocess.run(
        [sys.executable, driver, "as-nobody", path], capture_output=True, text=True, check=True
    )
    return done.stdout.splitlines()


def test_nothing_but_the_store_opens_its_file() -> None:
    """A4-01, A4-108: all else asks the cluster, as it would ask brokers."""
    package = Path(str(kgitops.__file__)).parent
    opens = {
        path.relative_to(package).as_posix()
        for path in package.glob("**/*.py")
        if "sqlite3" in (text := path.read_text(encoding="utf-8"))
        for node in ast.walk(ast.parse(text))
        if (isinstance(node, ast.Import) and "sqlite3" in {name.name for name in node.names})
        or (isinstance(node, ast.ImportFrom) and node.module == "sqlite3")
    }
    modules = ("batches", "errors", "file", "store")
    assert opens == {f"cluster/embedded/store/{name}.py" for name in modules}
