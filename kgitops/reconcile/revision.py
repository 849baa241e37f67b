"""The source of what is declared, and a revision of it, as values."""

from pathlib import Path
from typing import Protocol

from msgspec import Struct


class Revision(Struct, frozen=True, kw_only=True):
    """One revision of the manifests; ``folder`` is the project's folder with just its files.

    ``name`` is the same for the same content: a commit, or a digest of the files. ``branch`` says
    where it was found, such as ``https://example.com/org/repo main``. ``signed_by`` is who signed
    it, None where signatures are not asked for. ``problem`` is the sentence that says why there is
    no newer revision, None if this is the newest: then this is the last good one, and ``failures``
    counts the attempts in a row that failed since. ``notice`` is what else somebody should know of
    this revision, once, such as that its branch was rewritten.
    """

    name: str
    folder: Path
    branch: str = ""
    signed_by: str | None = None
    problem: str | None = None
    failures: int = 0
    notice: str | None = None


class RevisionSource(Protocol):
    """A place that manifests come from; its methods may be called from several threads."""

    def refresh(self) -> Revision:
        """Look for the newest revision, and return it, or the last good one with its problem.

        The folder of a revision stays as it is until :meth:`retain` leaves it out.

        Raises:
            KgitopsError: there is no good revision yet.
        """
        ...

    def retain(self, revisions: frozenset[str]) -> None:
        """Keep these revisions' folders and the last good one's; others may be removed."""
        ...

    def close(self) -> None:
        """Stop what is under way, and remove what is temporary."""
        ...
