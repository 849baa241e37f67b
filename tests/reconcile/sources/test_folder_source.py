"""A folder as a source: its digest, and the links of a mounted ConfigMap."""

import io
import os
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from kgitops.model.errors import KgitopsError, UsageError
from kgitops.reconcile.sources import folder
from kgitops.reconcile.sources.folder import _STORE, FolderSource


def mounted(folder: Path, version: str, text: str) -> None:
    """Write a version as Kubernetes does: a new folder, and one link that is swapped."""
    data = folder / f"..{version}"
    data.mkdir(parents=True)
    (data / "kgitops.yaml").write_text(text)
    new = folder / "..data_tmp"
    new.symlink_to(data.name)
    new.rename(folder / "..data")
    if not (folder / "kgitops.yaml").is_symlink():
        (folder / "kgitops.yaml").symlink_to("..data/kgitops.yaml")


def test_the_name_follows_what_the_files_hold(tmp_path):
    (tmp_path / "a.yaml").write_text("1")
    source = FolderSource(tmp_path)
    first = source.refresh()
    assert first.folder == tmp_path
    assert source.refresh() == first
    os.utime(tmp_path / "a.yaml", (1, 1))
    assert source.refresh() == first, "the time is not content"
    (tmp_path / "a.yaml").write_text("2")
    second = source.refresh()
    assert second.name != first.name
    (tmp_path / "a.yaml").rename(tmp_path / "b.yaml")
    third = source.refresh()
    assert len({first.name, second.name, third.name}) == 3
    (tmp_path / "b.yaml").rename(tmp_path / "a.yaml")
    (tmp_path / "a.yaml").write_text("1")
    assert source.refresh() == first


def test_stores_histories_and_caches_are_no_content(tmp_path):
    (tmp_path / "a.yaml").write_text("1")
    source = FolderSource(tmp_path)
    name = source.refresh().name
    for left_out in (".git", ".kgitops", "__pycache__"):
        (tmp_path / left_out).mkdir()
        (tmp_path / left_out / "x").write_text("x")
    assert source.refresh().name == name


def test_a_swapped_mount_is_a_new_revision_and_the_same_content_is_not(tmp_path):
    mounted(tmp_path, "1", "one")
    source = FolderSource(tmp_path)
    first = source.refresh()
    mounted(tmp_path, "2", "two")
    second = source.refresh()
    mounted(tmp_path, "3", "one")
    assert (second.name != first.name, source.refresh()) == (True, first)


def test_files_that_change_while_they_are_read_are_no_revision(tmp_path, monkeypatch):
    (tmp_path / "a.yaml").write_text("0")
    numbers = iter(range(100))

    def changing(path: Path, mode: str) -> object:
        with open(path, "w") as file:  # noqa: PTH123 (what is replaced)
            file.write(str(next(numbers)))
        return open(path, mode)  # noqa: PTH123

    monkeypatch.setattr(Path, "open", changing)
    with pytest.raises(KgitopsError, match="changes while it is read; it is tried again"):
        FolderSource(tmp_path).refresh()


def test_stores_that_are_being_made_and_files_that_vanish_are_no_change(tmp_path, monkeypatch):
    """As where many clusters of one project get their stores at once, beside the manifests."""
    (tmp_path / "a.yaml").write_text("1")
    source = FolderSource(tmp_path)
    name = source.refresh().name
    (tmp_path / ".local.db.1.new").touch()
    assert source.refresh().name == name
    found = folder._files
    gone = [tmp_path / ".other.db.1.new"]
    monkeypatch.setattr(folder, "_files", lambda *words: found(*words) + gone)
    assert source.refresh().name == name


def test_a_store_that_is_written_while_it_is_read_is_no_change(tmp_path, monkeypatch):
    """Its file is empty at first; only the second of three readings finds it written meanwhile."""
    (tmp_path / "a.yaml").write_text("1")
    source = FolderSource(tmp_path)
    name = source.refresh().name
    store = tmp_path / "local.db.1.new"
    writer = os.open(store, os.O_CREAT | os.O_WRONLY | os.O_APPEND)

    class Written(io.FileIO):
        """Gets its content between two reads, as another process writes it."""

        def read(self, size: int = -1) -> bytes:
            found = super().read(size)
            if not found:
                os.truncate(store, 0)
                os.write(writer, _STORE + bytes(4096))
            return found

    opened = iter((None, Written, None))

    def open_store(path: Path, mode: str) -> object:
        if path != store:
            return open(path, mode)  # noqa: PTH123 (what is replaced)
        os.truncate(store, 0)
        kind = next(opened, None) or io.FileIO
        return kind(path, mode)

    monkeypatch.setattr(Path, "open", open_store)
    assert source.refresh().name == name
    os.close(writer)


def test_a_folder_that_holds_itself_is_read_once(tmp_path):
    (tmp_path / "a.yaml").write_text("1")
    (tmp_path / "again").symlink_to(tmp_path)
    (tmp_path / "nowhere").symlink_to(tmp_path / "gone")
    assert FolderSource(tmp_path).refresh().name.startswith("sha256:")


def test_bounds_and_absences_are_told(tmp_path):
    for name in ("a", "b"):
        (tmp_path / name).write_text("123")
    with pytest.raises(KgitopsError, match="has more than 1 files or"):
        FolderSource(tmp_path, most_files=1).refresh()
    with pytest.raises(KgitopsError, match="give the folder of the project alone"):
        FolderSource(tmp_path, most_bytes=5).refresh()
    source = FolderSource(tmp_path)
    (tmp_path / "a").unlink()
    (tmp_path / "b").unlink()
    tmp_path.rmdir()
    with pytest.raises(KgitopsError, match="can't be read: No such file or directory"):
        source.refresh()
    with pytest.raises(UsageError, match="is not a folder"):
        FolderSource(tmp_path)


def test_stores_and_plans_that_wait_are_no_revision(tmp_path: Path) -> None:
    """An apply on an embedded cluster beside the manifests, and what it leaves to a person."""
    (tmp_path / "topic.yaml").write_text("a")
    source = FolderSource(tmp_path, left_out=tmp_path / "plans")
    before = source.refresh().name
    with closing(sqlite3.connect(tmp_path / "local.db")) as store:
        store.execute("CREATE TABLE log (offset INTEGER)")
        store.commit()
    (tmp_path / "local.db-wal").write_bytes(b"1")
    (tmp_path / "plans" / "payments").mkdir(parents=True)
    (tmp_path / "plans" / "payments" / "plan.json").write_text("{}")
    assert source.refresh().name == before
    (tmp_path / "topic.yaml").write_text("b")
    assert source.refresh().name != before
