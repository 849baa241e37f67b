"""Logins at a repository: used, and neither shown nor written down."""

import subprocess
from pathlib import Path

import pytest
from reconcile.sources.http_server import git_over_http
from reconcile.sources.repositories import PROJECT, Repository

from kgitops.model.errors import UnreachableError, UsageError
from kgitops.reconcile.sources.git import GitOptions, GitSource

SECRET = "tok-5f1e'\"$(touch x)"  # noqa: S105 (made up)
ENV = {"PATH": "/usr/local/bin:/usr/bin:/bin", "KAFKA_PASSWORD": "kafka-secret"}


def written(folder: Path) -> bytes:
    return b"".join(file.read_bytes() for file in folder.rglob("*") if file.is_file())


def test_a_token_from_the_environment_logs_in_and_is_written_nowhere(tmp_path, monkeypatch):
    commit = Repository(tmp_path / "payments").commit(PROJECT)
    seen = []
    started = subprocess.Popen

    def recording(command: list[str], **named: object) -> object:
        seen.append((command, named["env"]))
        return started(command, **named)

    with git_over_http(tmp_path, "robot", SECRET) as root:
        options = GitOptions(url=f"{root}/payments/.git", state=tmp_path / "state")
        login = {"KGITOPS_GIT_USERNAME": "robot", "KGITOPS_GIT_PASSWORD": SECRET}
        monkeypatch.setattr("kgitops.reconcile.sources.git_process.subprocess.Popen", recording)
        source = GitSource(options, {**ENV, **login})
        assert source.refresh().name == commit
        source.close()
        monkeypatch.undo()
        wrong = GitSource(options, {**ENV, **login, "KGITOPS_GIT_PASSWORD": "wrong-secret"})
        kept = wrong.refresh()
        assert (kept.name, kept.failures) == (commit, 1)
        assert "Authentication failed" in kept.problem
        assert "wrong-secret" not in kept.problem
        wrong.close()
        without = GitSource(GitOptions(url=options.url, state=tmp_path / "other", timeout=30), ENV)
        with pytest.raises(UnreachableError, match="terminal prompts disabled"):
            without.refresh()
        without.close()
    assert SECRET.encode() not in written(tmp_path / "state")
    assert b"wrong-secret" not in written(tmp_path / "state")
    assert all(SECRET not in " ".join(command) for command, _ in seen)
    assert all("KAFKA_PASSWORD" not in env for _, env in seen), "git is told nothing else"


def test_a_path_that_a_shell_would_read_is_refused(tmp_path):
    Repository(tmp_path / "payments").commit(PROJECT)
    options = GitOptions(url=str(tmp_path / "payments"), state=tmp_path / "state")
    for name in ("KGITOPS_GIT_SSH_KEY", "KGITOPS_GIT_KNOWN_HOSTS"):
        with pytest.raises(UsageError, match=f"{name} is no path that ssh can be given"):
            GitSource(options, {**ENV, name: "key' -o ProxyCommand='touch x"})


def test_ssh_is_asked_with_the_key_and_the_known_hosts(tmp_path):
    """The ssh here is a fake, which writes down how it is called."""
    fake = tmp_path / "bin" / "ssh"
    fake.parent.mkdir()
    fake.write_text(f'#!/bin/sh\nprintf "%s\\n" "$@" > {tmp_path}/called\nexit 255\n')
    fake.chmod(0o755)
    environ = {
        "PATH": f"{fake.parent}:{ENV['PATH']}",
        "KGITOPS_GIT_SSH_KEY": "/etc/keys/id 1",
        "KGITOPS_GIT_KNOWN_HOSTS": "/etc/keys/known_hosts",
    }
    source = GitSource(
        GitOptions(url="git@git.example.com:org/repo.git", state=tmp_path / "state"), environ
    )
    with pytest.raises(UnreachableError, match="can't be fetched from"):
        source.refresh()
    source.close()
    called = (tmp_path / "called").read_text().splitlines()
    assert called[called.index("-i") + 1] == "/etc/keys/id 1"
    assert {"BatchMode=yes", "StrictHostKeyChecking=yes"} <= set(called)
    assert "UserKnownHostsFile=/etc/keys/known_hosts" in called
    assert "git@git.example.com" in called
