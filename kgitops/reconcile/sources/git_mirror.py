"""A bare, shallow copy of a repository, with the last good revision and the newest one."""

from pathlib import Path

from msgspec import Struct

from kgitops.model.errors import KgitopsError, UnreachableError
from kgitops.reconcile.sources.git_address import GitAddress, is_commit
from kgitops.reconcile.sources.git_process import GitError, GitRunner

GOOD = "refs/kgitops/good"
CANDIDATE = "refs/kgitops/candidate"
_MOST_PACKS = 20


class RemoteRef(Struct, frozen=True):
    """A ref of the repository, and the object that it names now: a commit or a tag's object."""

    name: str
    target: str


class TreeSize(Struct, frozen=True):
    """The number and bytes of a tree's files, and the paths of its submodules."""

    files: int
    size: int
    submodules: tuple[str, ...]


class Mirror:
    """The copy in ``folder``; it is never asked for more than one ref of the repository."""

    def __init__(self, git: GitRunner, folder: Path, address: GitAddress, shown: str) -> None:
        """Keep where it lies; ``shown`` is the address in sentences."""
        self._git = git
        self._folder = folder
        self._address = address
        self._shown = shown

    def prepare(self) -> None:
        """Make the copy or what is missing of it, and remove what an earlier crash left."""
        self._folder.mkdir(exist_ok=True)
        self._remove_leftovers()
        self._run("init", "--bare", "--quiet", "--template=", bare=False)

    def remote(self, ref: str) -> RemoteRef:
        """The ref of the repository that is called so.

        Raises:
            UnreachableError: the repository does not answer.
            KgitopsError: it has no such ref, or a branch and a tag of that name.
        """
        if is_commit(ref):
            return RemoteRef(ref, ref)
        full = ref == "HEAD" or ref.startswith("refs/")
        wanted = (ref,) if full else (f"refs/heads/{ref}", f"refs/tags/{ref}")
        listed = self._ask_remote("ls-remote", "--quiet", "--", self._address.url, *wanted)
        found = [line.split("\t", 1) for line in listed.decode(errors="replace").splitlines()]
        refs = [RemoteRef(name, target) for target, name in found if name in wanted]
        if len(refs) > 1:
            raise KgitopsError(
                f"{self._shown} has a branch and a tag {ref}; give --ref {refs[0].name} or "
                f"{refs[1].name}"
            )
        if not refs:
            raise KgitopsError(
                f"{self._shown} has no branch or tag {ref}; push it, or correct --ref"
            )
        return refs[0]

    def candidate(self) -> str | None:
        """The object that was fetched last."""
        return self.object(CANDIDATE) if self.has(CANDIDATE) else None

    def fetch(self, ref: RemoteRef, depth: int) -> str:
        """Get ``ref`` as the candidate, with this many commits of its history; its object.

        Raises:
            UnreachableError: the repository does not answer, or what it sends is broken or too
                large.
        """
        try:
            self._ask_remote(
                "fetch", "--quiet", "--force", "--no-tags", "--no-write-fetch-head",
                "--no-recurse-submodules", "--no-auto-maintenance", f"--depth={depth}",
                "--", self._address.url, f"+{ref.name}:{CANDIDATE}",
            )  # fmt: skip
        finally:
            self._remove_leftovers()
        return self.object(CANDIDATE)

    def object(self, name: str) -> str:
        """The id of the object that ``name`` stands for."""
        return self._run("rev-parse", "--verify", "--quiet", "--end-of-options", name).decode()[:-1]

    def has(self, name: str) -> bool:
        """True if the copy holds that object."""
        return self._git.ask(*self._at(), "cat-file", "-e", name).code == 0

    def kind(self, name: str) -> str:
        """``commit``, ``tag`` or another kind of object."""
        return self._run("cat-file", "-t", name).decode().strip()

    def content(self, kind: str, name: str) -> str:
        """A commit or a tag as it is stored, headers first."""
        return self._run("cat-file", kind, name).decode(errors="replace")

    def verify(self, command: str, name: str) -> tuple[bool, str]:
        """True if git finds the signature good, and what it said."""
        result = self._git.ask(*self._at(), command, "--raw", name)
        return result.code == 0, result.error

    def follows(self, new: str, old: str) -> bool:
        """True if the commit ``new`` is ``old`` or comes after it."""
        result = self._git.ask(*self._at(), "merge-base", "--is-ancestor", old, new)
        return result.code == 0

    def size(self, commit: str) -> TreeSize:
        """The size of all files of a commit."""
        files = size = 0
        submodules = []
        for entry in self._run("ls-tree", "-r", "-l", "-z", commit).split(b"\0"):
            head, _, path = entry.partition(b"\t")
            fields = head.split()
            if len(fields) != 4:
                continue
            if fields[1] == b"commit":
                submodules.append(path.decode(errors="replace"))
                continue
            files += 1
            size += int(fields[3])
        return TreeSize(files, size, tuple(submodules))

    def is_folder(self, commit: str, path: str) -> bool:
        """True if the commit has such a folder, not behind a link."""
        if path == ".":
            return True
        result = self._git.ask(*self._at(), "cat-file", "-t", f"{commit}:{path}")
        return result.code == 0 and result.output.strip() == b"tree"

    def write(self, commit: str, folder: Path) -> None:
        """Write the files of a commit into an empty folder."""
        index = {"GIT_INDEX_FILE": str(folder.with_name(f"{folder.name}.index"))}
        try:
            self._run("read-tree", commit, extra=index)
            tree = ("--work-tree", str(folder))
            self._git.run(*self._at(), *tree, "checkout-index", "--all", "--quiet", extra=index)
        finally:
            Path(index["GIT_INDEX_FILE"]).unlink(missing_ok=True)

    def keep(self, name: str) -> None:
        """Let ``name`` be the last good revision, and drop what nothing needs any more."""
        self._run("update-ref", GOOD, name)
        if len(list((self._folder / "objects" / "pack").glob("*.pack"))) > _MOST_PACKS:
            self._run("gc", "--quiet", "--prune=now")

    def _ask_remote(self, *arguments: str) -> bytes:
        try:
            return self._run(*arguments)
        except GitError as error:
            # Broken objects and a full disk are no matter of the network; try again all the same.
            raise UnreachableError(f"{self._shown} can't be fetched from: {error}") from error

    def _run(self, *arguments: str, bare: bool = True, **extra: dict[str, str]) -> bytes:
        if bare:
            return self._git.run(*self._at(), *arguments, **extra)
        return self._git.run(*arguments, str(self._folder))

    def _at(self) -> tuple[str, ...]:
        return (f"--git-dir={self._folder}",)

    def _remove_leftovers(self) -> None:
        """Remove what a fetch that was ended left; git itself would keep it for two weeks."""
        for pattern in ("objects/pack/tmp_*", "objects/tmp_*", "**/*.lock"):
            for file in self._folder.glob(pattern):
                file.unlink(missing_ok=True)
