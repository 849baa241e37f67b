"""Pending plans: sealed plans in files, which wait until somebody applies them.

A plan that waits stays the same file with the same digest as long as its changes do, however often
it is made again: what was reviewed can then be applied.
"""

import os
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from urllib.parse import quote

from msgspec.structs import replace

from kgitops.model import clock as moments
from kgitops.model.errors import KgitopsError
from kgitops.plan.document.file import SealedPlan, plan_digest, read_plan, text_parts
from kgitops.plan.document.plan import Base, Change, Plan
from kgitops.reconcile.status import PendingPlan

_NAMED = 16


def changes_digest(plan: Plan) -> str:
    """The digest of a plan's changes and verdict, whatever else is on the cluster.

    Nor does it matter in which lines the objects are declared.
    """
    desired = replace(plan.desired, digest="", git_sha=None, dirty=False)
    return plan_digest(
        replace(
            plan,
            changes=tuple(map(_without_places, plan.changes)),
            base=Base(digest=""),
            desired=desired,
            drift=(),
            kept=(),
            warnings=(),
            managed_counts={},
        )
    )


def _without_places(change: Change) -> Change:
    policies = tuple(replace(result, source=None) for result in change.policies)
    return replace(change, source=None, policies=policies)


def pending_plan(sealed: SealedPlan, path: Path | None, since: str) -> PendingPlan:
    """Describe a plan that waits."""
    plan = sealed.plan
    return PendingPlan(
        digest=sealed.plan_digest,
        path=None if path is None else str(path),
        since=since,
        expires=moments.to_text(sealed.expires),
        exit=plan.verdict.exit,
        actions=count_actions(plan),
        levels=count_levels(plan),
        changes=_count_both(plan),
    )


def _count_both(plan: Plan) -> dict[str, dict[str, int]]:
    """Count the changes by their last action, which says the most, and by level."""
    counts: dict[str, dict[str, int]] = {}
    for change in plan.changes:
        levels = counts.setdefault(str(change.actions[-1]), {})
        levels[str(change.level)] = levels.get(str(change.level), 0) + 1
    return counts


def count_actions(plan: Plan) -> dict[str, int]:
    """Count the changes of a plan by their actions."""
    return dict(Counter(str(action) for change in plan.changes for action in change.actions))


def count_levels(plan: Plan) -> dict[str, int]:
    """Count the changes of a plan by the level of their worst risk."""
    return dict(Counter(str(change.level) for change in plan.changes))


class PlanShelf:
    """The folder of pending plans of one project on one cluster: ``DIR/PROJECT/CLUSTER``."""

    def __init__(self, folder: Path, project: str, cluster: str) -> None:
        self._folder = folder / _as_name(project) / _as_name(cluster)

    def find(self, plan: Plan, now: datetime) -> tuple[SealedPlan, Path] | None:
        """Find the plan that waits with the same changes, if half of its time is still to come."""
        wanted = changes_digest(plan)
        for path in self._files():
            try:
                sealed = read_plan(path.read_text(encoding="utf-8"), str(path))
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
        draft = path.with_name(f".{path.name}.{os.getpid()}.tmp")
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            try:
                draft.touch(mode=0o600)
                with draft.open("w", encoding="utf-8") as file:
                    file.writelines(text_parts(sealed))
                draft.replace(path)
            finally:
                draft.unlink(missing_ok=True)
        except OSError as error:
            raise KgitopsError(
                f"{path} can't be written: {(error.strerror or str(error)).lower()}; see that "
                "there is room in the folder of --plans, and that it may be written"
            ) from error
        self.clear(keep=path)
        return path

    def clear(self, keep: Path | None = None) -> None:
        """Remove the plans that no longer wait."""
        for path in self._files():
            if path != keep:
                with suppress(OSError):
                    path.unlink()

    def _files(self) -> Iterator[Path]:
        for path in sorted(self._folder.glob("*.json")):
            if len(path.stem) == _NAMED and path.is_file():
                yield path


def _as_name(text: str) -> str:
    """The text as the name of a folder, which leads nowhere else."""
    return quote(text, safe="").replace(".", "%2E")
