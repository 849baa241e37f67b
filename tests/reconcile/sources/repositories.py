"""Real git repositories with real signatures, for tests of the sources."""

import os
import subprocess
from pathlib import Path

_ENV = {
    "PATH": os.environ["PATH"],
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_AUTHOR_NAME": "Alice",
    "GIT_AUTHOR_EMAIL": "alice@example.com",
    "GIT_COMMITTER_NAME": "Alice",
    "GIT_COMMITTER_EMAIL": "alice@example.com",
}
PROJECT = "apiVersion: kgitops/v1\nkind: Project\nmetadata: {name: payments}\n"


def run(*command: str | Path, cwd: Path, **env: str) -> str:
    """The output of a program that succeeds."""
    done = subprocess.run(
        [str(word) for word in command],
        cwd=cwd,
        env={**_ENV, "HOME": str(cwd), **env},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def ssh_key(folder: Path, name: str) -> Path:
    key = folder / name
    run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", name, "-f", key, cwd=folder)
    return key


def allowed_signers(file: Path, **keys: Path) -> Path:
    """A file of allowed signers with the public keys of these people."""
    file.write_text(
        "".join(
            f'{name}@example.com namespaces="git" {key.with_suffix(".pub").read_text()}'
            for name, key in keys.items()
        )
    )
    return file


class Repository:
    """A repository with a project, and a commit each time one is asked for."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir()
        self.git("init", "-q", "-b", "main")

    def git(self, *arguments: str | Path, **env: str) -> str:
        return run("git", *arguments, cwd=self.folder, **env)

    def commit(
        self, text: str, key: Path | None = None, *, file: str = "kgitops.yaml", **env: str
    ) -> str:
        """The commit that puts ``text`` into the file, signed with the SSH ``key`` if given."""
        path = self.folder / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        self.git("add", "--all")
        return self.sign_commit(key, **env)

    def sign_commit(self, key: Path | None = None, **env: str) -> str:
        self.git(*_with(key), "commit", "-q", "--allow-empty", "-m", "a change", *_sign(key), **env)
        return self.head()

    def tag(self, name: str, key: Path | None = None) -> None:
        self.git(*_with(key), "tag", "-m", name, *(("-s",) if key else ("-a",)), name)

    def head(self) -> str:
        return self.git("rev-parse", "HEAD")


def _with(key: Path | None) -> tuple[str, ...]:
    return ("-c", "gpg.format=ssh", "-c", f"user.signingKey={key}") if key else ()


def _sign(key: Path | None) -> tuple[str, ...]:
    return ("-S",) if key else ("--no-gpg-sign",)
