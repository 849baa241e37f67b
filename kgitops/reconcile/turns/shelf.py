"""The folder of one project on one cluster below ``--plans``: plans that wait, and a loop's memory.

A plan that waits stays the same file with the same digest as long as its changes do, however often
it is made again: what was reviewed can then be applied.
"""

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from urllib.parse import quote

from kgitops.model.errors import KgitopsError
from kgitops.plan.document.file import SealedPlan, check_usable, text_parts
from kgitops.plan.document.plan import Plan
from kgitops.plan.reading import read_plan
from kgitops.reconcile.status import PendingPlan
from kgitops.reconcile.turns.fights import HealHistory, history_from_text, history_to_text
from kgitops.reconcile.turns.identity import DAMAGED, KnownCluster, known_from_text, known_to_text
from kgitops.reconcile.turns.pending import changes_digest, pending_plan

_NAMED = 16
_HEALS = ".heals"
_CLUSTER = ".cluster"


class PlanShelf:
    """The folder ``DIR/PROJECT/CLUSTER``."""

    def __init__(self, folder: Path, project: str, cluster: str) -> None:
        self._folder = folder / _as_name(project) / _as_name(cluster)

    def find(self, plan: Plan, now: datetime) -> tuple[SealedPlan, Path] | None:
        """Find the plan that waits with the same changes, if half of its time is still to come."""
        wanted = changes_digest(plan)
        for path in self._files():
            try:
                sealed = read_plan(path.read_text(encoding="utf-8"), str(path))
                # The clock may have been ahead when it was made: nobody could apply it now.
                check_usable(sealed, now=now)
            except (OSError, ValueError, KgitopsError):
                continue
            fresh = now - sealed.created < (sealed.expires - sealed.created) / 2
            if fresh and changes_digest(sealed.plan) == wanted:
                return sealed, path
        return None

    def put(self, sealed: SealedPlan) -> Path:
        """Write a plan in the place of those that waited before.

        Raises:
            KgitopsError: it can't be written.
        """
        name = sealed.plan_digest.removeprefix("sha256:")[:_NAMED]
        path = self._folder / f"{name}.json"
        self._write(path, text_parts(sealed))
        self.clear(keep=path)
        return path

    def clear(self, keep: Path | None = None) -> None:
        """Remove the plans that no longer wait."""
        for path in self._files():
            if path != keep:
                with suppress(OSError):
                    path.unlink()

    def read_heals(self, now: datetime, ticks: float) -> HealHistory:
        """The heals that an earlier process kept; none where there is no such file to be read."""
        try:
            text = (self._folder / _HEALS).read_text(encoding="utf-8")
            return history_from_text(text, now, ticks)
        except (OSError, ValueError):
            return HealHistory()

    def write_heals(self, history: HealHistory, now: datetime, ticks: float) -> None:
        """Keep the heals for a later process.

        Raises:
            KgitopsError: they can't be written.
        """
        self._write(self._folder / _HEALS, [history_to_text(history, now, ticks)])

    def read_known(self) -> KnownCluster | None:
        """The cluster that an earlier process knew; None where none kept it.

        A memory that can't be read is damaged: the cluster then needs a confirmation.
        """
        try:
            return known_from_text((self._folder / _CLUSTER).read_text(encoding="utf-8"))
        except FileNotFoundError:
            return None
        except (OSError, ValueError):
            return DAMAGED

    def write_known(self, known: KnownCluster) -> None:
        """Keep the cluster for a later process.

        Raises:
            KgitopsError: it can't be written.
        """
        self._write(self._folder / _CLUSTER, [known_to_text(known)])

    def _write(self, path: Path, parts: Iterable[str]) -> None:
        """Write a file whole or not at all."""
        draft = path.with_name(f".{path.name}.{os.getpid()}.tmp")
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            try:
                draft.touch(mode=0o600)
                with draft.open("w", encoding="utf-8") as file:
                    file.writelines(parts)
                draft.replace(path)
            finally:
                draft.unlink(missing_ok=True)
        except OSError as error:
            raise KgitopsError(
                f"{path} can't be written: {(error.strerror or str(error)).lower()}; see that "
                "there is room in the folder of --plans, and that it may be written"
            ) from error

    def _files(self) -> Iterator[Path]:
        for path in sorted(self._folder.glob("*.json")):
            if len(path.stem) == _NAMED and path.is_file():
                yield path


def leave_plan(
    shelf: PlanShelf | None, plan: Plan, seal: Callable[[], SealedPlan], since: str, now: datetime
) -> PendingPlan:
    """Leave a plan on the shelf, or the one that waits there with the same changes already.

    Raises:
        KgitopsError: it can't be written.
    """
    if shelf is None:
        return pending_plan(seal(), None, since)
    found = shelf.find(plan, now)
    if found is None:
        sealed = seal()
        found = sealed, shelf.put(sealed)
    return pending_plan(*found, since)


def _as_name(text: str) -> str:
    """The text as the name of a folder, which leads nowhere else."""
    return quote(text, safe="").replace(".", "%2E")
