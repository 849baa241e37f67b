"""A git repository as the source of manifests: asked again and again, the last good one kept."""

import hashlib
import os
import threading
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from types import MappingProxyType

from filelock import FileLock, Timeout
from msgspec import Struct
from msgspec.structs import replace

from kgitops.model.errors import KgitopsError, SafetyError, UsageError
from kgitops.reconcile.revision import Revision
from kgitops.reconcile.sources.checkouts import Checkouts
from kgitops.reconcile.sources.git_address import checked_path, checked_ref, git_address, redacted
from kgitops.reconcile.sources.git_mirror import GOOD, Mirror, RemoteRef
from kgitops.reconcile.sources.git_process import GitRunner, stopped
from kgitops.reconcile.sources.git_settings import (
    SignatureKeys,
    config_text,
    environment,
    login_of,
    program,
)
from kgitops.reconcile.sources.git_signatures import Signatures

_DEPTHS = (16, 256, 4096)
"""Commits of history, until the last good revision is among them."""


class GitOptions(Struct, frozen=True, kw_only=True):
    """A repository and how much of it is trusted.

    ``state`` is the folder for the copy and the checkouts. ``refuse_rewrites`` keeps the last good
    revision when the ref does not continue from it. ``timeout`` is for each process of git, and
    ``most_bytes`` for a fetch and for the files of a revision.
    """

    url: str
    state: Path
    ref: str = "HEAD"
    path: str = "."
    keys: SignatureKeys = SignatureKeys()
    refuse_rewrites: bool = False
    timeout: float = 120
    most_bytes: int = 256 << 20
    most_files: int = 20_000


class GitSource:
    """The source behind ``--git``; see :class:`~kgitops.reconcile.revision.RevisionSource`."""

    def __init__(
        self, options: GitOptions, environ: Mapping[str, str] = MappingProxyType(os.environ)
    ) -> None:
        """Check the options; nothing is fetched yet.

        Raises:
            UsageError: an option can't be used, or git is not installed.
        """
        self._options = options
        self._address = git_address(options.url, signed=options.keys.asked_for)
        self._ref = checked_ref(options.ref)
        self._path = str(checked_path(options.path))
        self._shown = redacted(self._address.url)
        identity = hashlib.sha256("\0".join((self._address.url, self._ref)).encode()).hexdigest()
        self._folder = (options.state / f"git-{identity[:16]}").absolute()
        login = login_of(environ)
        config, home = self._folder / "config", self._folder / "home"
        mirror = self._folder / "mirror.git"
        self._config = config_text(self._address, mirror, options.keys, home / "gnupg", login)
        self._git = GitRunner(
            program("git", "fetches from --git"),
            environment(config, home, login, environ),
            self._folder,
            timeout=options.timeout,
            most_bytes=options.most_bytes,
            secrets=login.secrets,
        )
        self._mirror = Mirror(self._git, mirror, self._address, self._shown)
        self._signatures = Signatures(options.keys, home / "gnupg")
        self._checkouts = Checkouts(self._folder / "checkouts")
        self._one_process = FileLock(
            options.state / f"git-{identity[:16]}.lock", timeout=0, thread_local=False
        )
        self._lock = threading.Lock()
        self._prepared = False
        self._good: Revision | None = None
        self._failures = 0

    def refresh(self) -> Revision:
        """Ask the repository for its newest revision."""
        with self._lock:
            if self._git.stopped:
                raise stopped()
            try:
                self._prepare()
                revision = self._newest()
            except (KgitopsError, OSError) as error:
                self._failures += 1
                problem = self._sentence(error)
                if self._good is None:
                    kind = type(error) if isinstance(error, KgitopsError) else KgitopsError
                    raise kind(problem) from error
                return replace(self._good, problem=problem, failures=self._failures)
            self._failures = 0
            self._good = replace(revision, notice=None)
            return revision

    def retain(self, revisions: frozenset[str]) -> None:
        """Remove the checkouts of all other revisions but the last good one's."""
        with self._lock:
            if self._prepared:
                good = {self._good.name} if self._good else set()
                self._checkouts.retain(revisions | good)

    def close(self) -> None:
        """End git, and let another process have the copy."""
        self._git.stop()
        with self._lock:
            self._one_process.release()

    def _prepare(self) -> None:
        self._signatures_are_checkable()
        if self._prepared:
            return
        self._checkouts.prepare()
        self._mirror.prepare()
        self._prepared = True
        # Without a network the loop can begin with what an earlier process found good.
        if self._mirror.has(GOOD):
            with suppress(KgitopsError):  # else a newer one may be good
                self._good = self._checked(GOOD, self._ref_of_good())

    def _signatures_are_checkable(self) -> None:
        (self._folder / "home").mkdir(mode=0o700, parents=True, exist_ok=True)
        if not self._one_process.is_locked:
            try:
                self._one_process.acquire()
            except Timeout:
                raise UsageError(
                    f"{self._options.state} is in use by another kgitops that follows "
                    f"{self._shown}; give each its own --state"
                ) from None
        (self._folder / "config").write_text(self._config, "utf-8")
        self._signatures.prepare()

    def _newest(self) -> Revision:
        good = self._good
        if good is not None:
            try:
                # The keys may have changed since; a revision is good as long as they are.
                self._signer(GOOD, self._ref_of_good())
            except SafetyError:
                self._good = None
                raise
        remote = self._mirror.remote(self._ref)
        kept = good is not None and self._mirror.object(f"{GOOD}^{{commit}}") == good.name
        if good is not None and kept and self._mirror.object(GOOD) == remote.target:
            return good if good.folder.exists() else self._checked(GOOD, self._ref_of_good())
        # From here on the id, not the name: it could come to mean what was not checked.
        new = self._mirror.candidate()
        if new != remote.target:
            new = self._mirror.fetch(remote, depth=1)
        signer = self._signer(new, remote.name)
        notice = self._rewritten(new)
        revision = self._written(new, signer)
        told = [sentence for sentence in (notice, revision.notice) if sentence]
        revision = replace(revision, notice="; ".join(told) or None)
        self._mirror.keep(new)
        (self._folder / "ref").write_text(remote.name, "utf-8")
        return revision

    def _ref_of_good(self) -> str:
        """The full name of the ref that the last good revision was found at."""
        try:
            return (self._folder / "ref").read_text("utf-8")
        except FileNotFoundError:
            return self._ref

    def _signer(self, name: str, ref: str) -> str | None:
        return self._signatures.signer(self._mirror, name, ref, self._shown)

    def _checked(self, name: str, ref: str) -> Revision:
        """The revision called ``name`` as a folder; its signature is checked before anything."""
        return self._written(name, self._signer(name, ref))

    def _written(self, name: str, signer: str | None) -> Revision:
        commit = self._mirror.object(f"{name}^{{commit}}")
        if not self._mirror.is_folder(commit, self._path):
            raise KgitopsError(
                f"commit {commit[:12]} of {self._shown} has no folder {self._path}; correct --path"
            )
        size = self._mirror.size(commit)
        if size.size > self._options.most_bytes or size.files > self._options.most_files:
            raise KgitopsError(
                f"commit {commit[:12]} of {self._shown} has {size.files:,} files with "
                f"{size.size >> 20:,} MiB, more than {self._options.most_files:,} files with "
                f"{self._options.most_bytes >> 20:,} MiB; raise --git-max-size or "
                "--git-max-files, or give a smaller repository"
            )
        folder = self._checkouts.add(commit, lambda new: self._mirror.write(commit, new))
        return Revision(
            name=commit,
            folder=folder / self._path,
            branch=f"{self._shown} {self._options.ref}",
            signed_by=signer,
            notice=_about_submodules(commit, size.submodules),
        )

    def _rewritten(self, new: str) -> str | None:
        """The sentence that says that the ref does not continue from the last good revision.

        As much history is fetched as it takes to see that it does.

        Raises:
            SafetyError: it does not, and has to.
        """
        if not self._mirror.has(GOOD):
            return None
        old = self._mirror.object(f"{GOOD}^{{commit}}")
        for depth in _DEPTHS:
            if self._mirror.follows(new, old):
                return None
            self._mirror.fetch(RemoteRef(new, new), depth)
        if self._mirror.follows(new, old):
            return None
        told = (
            f"{self._options.ref} of {self._shown} was rewritten: {new[:12]} does not come after "
            f"{old[:12]}"
        )
        if self._options.refuse_rewrites:
            raise SafetyError(
                f"{told}; nothing of it is planned. Put the branch back, or accept it by one run "
                "without --refuse-rewrites"
            )
        return told

    def _sentence(self, error: Exception) -> str:
        if isinstance(error, OSError):
            return (
                f"{self._shown} can't be kept in {self._folder}: {error.strerror or error}; "
                "make room, or correct --state"
            )
        return str(error)


def _about_submodules(commit: str, submodules: tuple[str, ...]) -> str | None:
    if not submodules:
        return None
    return f"commit {commit[:12]} has submodules, which stay empty: {', '.join(submodules[:5])}"
