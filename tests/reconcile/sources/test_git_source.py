"""A git repository as a source: new revisions, the last good one, and all that may go wrong."""

import errno
import random
import shutil
import socket
import stat
import threading
from pathlib import Path

import psutil
import pytest
from reconcile.sources.repositories import PROJECT, Repository

from kgitops.model.errors import KgitopsError, UnreachableError, UsageError
from kgitops.reconcile.sources.git import GitOptions, GitSource


def text_of(folder: Path) -> str:
    return (folder / "kgitops.yaml").read_text()


def test_each_commit_is_a_revision_with_a_folder_of_its_own(repository, open_source):
    first = repository.commit(PROJECT)
    source = open_source(ref="main")
    one = source.refresh()
    assert (one.name, text_of(one.folder), one.problem, one.signed_by) == (
        first, PROJECT, None, None,
    )  # fmt: skip
    assert one.branch == f"{repository.folder} main"
    assert source.refresh() == one

    second = repository.commit(PROJECT + "# second\n")
    two = source.refresh()
    assert (two.name, two.notice) == (second, None)
    assert text_of(one.folder) == PROJECT, "a turn may still plan from it"
    assert text_of(two.folder).endswith("# second\n")
    assert not (two.folder / ".git").exists()

    source.retain(frozenset())
    assert not one.folder.exists()
    assert two.folder.exists()
    assert source.refresh() == two


def test_a_folder_of_the_repository_is_the_project(repository, open_source):
    repository.commit(PROJECT, file="projects/payments/kgitops.yaml")
    repository.commit("# shared\n", file="shared/topics.yaml")
    folder = open_source(path="projects/payments").refresh().folder
    assert text_of(folder) == PROJECT
    assert (folder / "../../shared/topics.yaml").read_text() == "# shared\n"
    with pytest.raises(KgitopsError, match="has no folder projects/sales; correct --path"):
        open_source(path="projects/sales", state=folder).refresh()


def test_a_ref_that_is_gone_leaves_the_last_good_revision(repository, open_source):
    repository.commit(PROJECT)
    source = open_source(ref="main")
    good = source.refresh()
    repository.git("branch", "-m", "main", "trunk")
    for failures in (1, 2):
        kept = source.refresh()
        assert (kept.name, kept.folder, kept.failures) == (good.name, good.folder, failures)
        assert kept.problem == (
            f"{repository.folder} has no branch or tag main; push it, or correct --ref"
        )
    repository.git("branch", "-m", "trunk", "main")
    assert source.refresh() == good


def test_a_branch_and_a_tag_of_one_name_are_told_apart(repository, open_source):
    commit = repository.commit(PROJECT)
    repository.git("tag", "main")
    with pytest.raises(KgitopsError, match="give --ref refs/heads/main or refs/tags/main"):
        open_source(ref="main").refresh()
    assert open_source(ref="refs/tags/main").refresh().name == commit
    assert open_source(ref=commit).refresh().name == commit


def test_a_source_that_is_gone_leaves_the_last_good_revision(repository, open_source, tmp_path):
    repository.commit(PROJECT)
    source = open_source()
    good = source.refresh()
    repository.folder.rename(tmp_path / "away")
    kept = source.refresh()
    assert (kept.name, kept.failures) == (good.name, 1)
    assert "can't be fetched from: git ls-remote failed" in kept.problem
    source.close()

    repository.folder.mkdir()  # an empty one, which a new process finds
    after = open_source().refresh()
    assert (after.name, text_of(after.folder), after.failures) == (good.name, PROJECT, 1)


def test_without_a_good_revision_there_is_an_error(repository, open_source):
    source = open_source()
    shutil.rmtree(repository.folder)
    with pytest.raises(UnreachableError, match="can't be fetched from"):
        source.refresh()


def test_a_rewritten_branch_is_told_or_refused(repository, open_source, tmp_path):
    first = repository.commit(PROJECT)
    repository.commit(PROJECT + "# second\n")
    told = open_source(ref="main")
    refused = open_source(ref="main", state=tmp_path / "other", refuse_rewrites=True)
    good = refused.refresh()
    told.refresh()
    repository.git("reset", "-q", "--hard", first)
    other = repository.commit(PROJECT + "# rewritten\n")
    sentence = f"main of {repository.folder} was rewritten: {other[:12]} does not come after"

    new = told.refresh()
    assert new.name == other
    assert new.notice.startswith(sentence)
    assert told.refresh().notice is None, "told once"

    for _ in range(2):
        kept = refused.refresh()
        assert (kept.name, text_of(kept.folder)) == (good.name, PROJECT + "# second\n")
        assert kept.problem.startswith(sentence)
    refused.close()
    again = open_source(ref="main", state=tmp_path / "other", refuse_rewrites=True)
    assert again.refresh().name == good.name, "a new process refuses it too"
    again.close()
    accepted = open_source(ref="main", state=tmp_path / "other")
    assert accepted.refresh().name == other


def test_a_branch_that_is_put_back_to_an_old_commit_is_a_rewrite(repository, open_source):
    long_ago = {"GIT_COMMITTER_DATE": "2001-01-01T00:00:00Z"}
    first = repository.commit(PROJECT, **long_ago)
    repository.commit(PROJECT + "# second\n")
    source = open_source(ref="main", refuse_rewrites=True)
    source.refresh()
    repository.git("reset", "-q", "--hard", first)
    assert "was rewritten" in source.refresh().problem


def test_a_merge_of_what_began_before_the_last_good_revision_is_no_rewrite(repository, open_source):
    for day in range(10, 20):
        date = f"2020-01-{day}T00:00:00Z"
        repository.commit(f"{PROJECT}# {day}\n", GIT_COMMITTER_DATE=date)
    repository.git("branch", "feature", "HEAD~8")
    source = open_source(ref="main", refuse_rewrites=True)
    source.refresh()
    repository.git("checkout", "-q", "feature")
    repository.commit("# new\n", file="new.yaml", GIT_COMMITTER_DATE="2020-01-15T12:00:00Z")
    repository.git("checkout", "-q", "main")
    repository.git("merge", "-q", "--no-ff", "-m", "merged", "feature")
    merged = source.refresh()
    assert (merged.name, merged.problem, merged.notice) == (repository.head(), None, None)


def test_links_out_of_the_repository_are_refused(repository, open_source):
    repository.commit(PROJECT)
    source = open_source()
    good = source.refresh()
    (repository.folder / "manifests").symlink_to("/etc")
    repository.commit(PROJECT + "# second\n")
    kept = source.refresh()
    assert kept.name == good.name
    assert kept.problem.startswith("manifests links to /etc, out of the repository")
    (repository.folder / "manifests").unlink()
    (repository.folder / "manifests").symlink_to("kgitops.yaml")
    inside = repository.commit(PROJECT + "# third\n")
    assert source.refresh().name == inside


def test_what_is_too_large_is_refused(repository, open_source, tmp_path):
    repository.commit(PROJECT)
    source = open_source(most_bytes=1 << 20)
    good = source.refresh()
    noise = random_bytes(3 << 20)
    (repository.folder / "noise").write_bytes(noise)
    repository.commit(PROJECT + "# large\n")
    kept = source.refresh()
    assert kept.name == good.name
    assert "a file would be larger than 1 MiB; raise --git-max-size" in kept.problem
    state = tmp_path / "state"
    assert sum(file.stat().st_size for file in state.rglob("*") if file.is_file()) < 1 << 20
    (repository.folder / "noise").write_bytes(b"0" * (3 << 20))  # small once it is packed
    repository.git("add", "--all")
    repository.git("commit", "-q", "--amend", "-m", "zeros")
    assert "has 2 files with 3 MiB, more than" in source.refresh().problem
    source.close()
    assert (
        "has 2 files with 3 MiB, more than 1 files" in open_source(most_files=1).refresh().problem
    )


def random_bytes(count: int) -> bytes:
    return random.Random(1).randbytes(count)  # noqa: S311 (what does not compress)


def test_a_full_disk_leaves_the_last_good_revision(repository, open_source, monkeypatch):
    repository.commit(PROJECT)
    source = open_source()
    good = source.refresh()
    second = repository.commit(PROJECT + "# second\n")

    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr("tempfile.TemporaryFile", full)
        kept = source.refresh()
    assert kept.name == good.name
    assert "No space left on device; make room, or correct --state" in kept.problem
    assert source.refresh().name == second


def test_a_checkout_that_fails_half_way_leaves_nothing(repository, open_source, monkeypatch):
    repository.commit(PROJECT)
    source = open_source()
    good = source.refresh()
    second = repository.commit(PROJECT + "# second\n")

    def broken(_: object, commit: str, folder: Path) -> None:
        (folder / "half").touch()
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr("kgitops.reconcile.sources.git_mirror.Mirror.write", broken)
        assert source.refresh().name == good.name
    assert [folder.name for folder in good.folder.parent.iterdir()] == [good.name]
    assert source.refresh().name == second


def test_a_disk_that_is_full_at_the_last_step_hides_no_newer_revision(
    repository, open_source, monkeypatch
):
    """The copy has the newer one already when its name can't be written."""
    repository.commit(PROJECT)
    source = open_source()
    good = source.refresh()
    second = repository.commit(PROJECT + "# second\n")
    write_text = Path.write_text

    def full(path: Path, *words: object, **named: object) -> int:
        if path.name == "ref":
            raise OSError(errno.ENOSPC, "No space left on device")
        return write_text(path, *words, **named)

    with monkeypatch.context() as patched:
        patched.setattr(Path, "write_text", full)
        kept = source.refresh()
    assert (kept.name, kept.failures) == (good.name, 1)
    assert source.refresh().name == second


def test_hooks_and_filters_of_a_repository_never_run(repository, open_source, tmp_path):
    ran = tmp_path / "ran"
    for hook in ("post-checkout", "post-index-change", "reference-transaction", "post-upload-pack"):
        file = repository.folder / ".git" / "hooks" / hook
        file.parent.mkdir(exist_ok=True)
        file.write_text(f"#!/bin/sh\ntouch {ran}\n")
        file.chmod(file.stat().st_mode | stat.S_IXUSR)
    (repository.folder / ".gitattributes").write_text("* filter=evil\n")
    commit = repository.commit(PROJECT)
    ran.unlink(missing_ok=True)
    home = tmp_path / "home"
    home.mkdir()
    (home / ".gitconfig").write_text(
        f'[filter "evil"]\n\tsmudge = touch {ran}; cat\n[alias]\n\tls-remote = !touch {ran}\n'
    )
    assert open_source(environ={"HOME": str(home)}).refresh().name == commit
    assert not ran.exists()


def test_submodules_stay_empty(repository, open_source, tmp_path):
    inner = Repository(tmp_path / "inner")
    inner.commit("# inner\n", file="inner.yaml")
    repository.commit(PROJECT)
    allow = ("-c", "protocol.file.allow=always")
    repository.git(*allow, "submodule", "--quiet", "add", str(inner.folder), "inner")
    repository.commit(PROJECT + "# second\n")
    revision = open_source().refresh()
    assert not list((revision.folder / "inner").iterdir())
    assert revision.notice.endswith("has submodules, which stay empty: inner")


def test_a_server_that_never_answers_is_left_in_time(open_source, repository, tmp_path):
    """The server is a fake: it takes connections and says nothing."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}/payments.git"
        source = open_source(url, timeout=1)
        with pytest.raises(UnreachableError, match=r"git ls-remote did not answer within 1 s"):
            source.refresh()
        assert not _processes_below(tmp_path)


def test_closing_ends_a_git_that_hangs(open_source, tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as silent:
        source = open_source(f"http://127.0.0.1:{silent.getsockname()[1]}/p.git", timeout=600)
        failed = []

        def refresh() -> None:
            try:
                source.refresh()
            except KgitopsError as error:
                failed.append(error)

        thread = threading.Thread(target=refresh)
        thread.start()
        connection, _ = silent.accept()
        source.close()
        thread.join(30)
        connection.close()
        assert failed
        assert not thread.is_alive()
        assert not _processes_below(tmp_path)
    with pytest.raises(KgitopsError, match="being stopped"):
        source.refresh()


def _processes_below(folder: Path) -> list[psutil.Process]:
    """Processes that work in the folder, as those of git do, and go on to."""
    found = []
    for process in psutil.process_iter():
        try:
            if process.status() != "zombie" and process.cwd().startswith(str(folder)):
                found.append(process)
        except psutil.Error:
            continue
    return psutil.wait_procs(found, timeout=20)[1]  # one that was killed takes a moment to end


def test_a_copy_is_for_one_process(repository, open_source):
    repository.commit(PROJECT)
    first = open_source()
    first.refresh()
    with pytest.raises(UsageError, match="in use by another kgitops"):
        open_source().refresh()
    first.close()
    assert open_source().refresh().problem is None


def test_the_copy_stays_small_over_many_revisions(repository, open_source, tmp_path, monkeypatch):
    monkeypatch.setattr("kgitops.reconcile.sources.git_mirror._MOST_PACKS", 3)
    repository.commit(PROJECT)
    source = open_source(ref="main")
    for number in range(9):
        repository.commit(f"{PROJECT}# {number}\n")
        name = source.refresh().name
        source.retain(frozenset({name}))
    packs = list((tmp_path / "state").rglob("*.pack"))
    assert len(packs) <= 4
    assert len(list((tmp_path / "state").glob("*/checkouts/*"))) == 1


def test_a_checkout_that_was_removed_comes_back(repository, open_source):
    repository.commit(PROJECT)
    source = open_source()
    folder = source.refresh().folder
    shutil.rmtree(folder)
    assert text_of(source.refresh().folder) == PROJECT


def test_git_that_is_not_installed_is_told(repository, tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(UsageError, match="git is not installed, and fetches from --git"):
        GitSource(GitOptions(url=str(repository.folder), state=tmp_path / "state"))
