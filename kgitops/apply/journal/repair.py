"""Repairing a registry under its lock, with a record of the repair."""

from collections.abc import Sequence
from typing import Any, cast

from msgspec.structs import replace

from kgitops.apply.context import ApplyContext
from kgitops.apply.journal.damage import Damage, find_damage, repair_record
from kgitops.apply.lock import Lock, acquire
from kgitops.cluster.port import Cluster, RegistryEntry, RegistryLog
from kgitops.model import clock as moments
from kgitops.model.errors import LockedError, SafetyError


def check_registry(cluster: Cluster) -> tuple[int, tuple[Damage, ...]]:
    """Count the records of the registry and find the damaged ones; (0, ()) without a registry.

    Raises:
        SafetyError: the registry can't be read to its end, or records of it were lost.
    """
    entries = cluster.registry.scan()
    return (0, ()) if entries is None else (len(entries), find_damage(entries))


def repair_registry(
    context: ApplyContext, expected: Sequence[Damage], *, holder: str, name: str
) -> bool:
    """Repair all of ``expected`` or nothing; return False where it was interrupted before.

    Raises:
        LockedError: a process holds the lock, or may hold it by a claim that can't be read.
        SafetyError: something can't be repaired, or the damage is no longer as expected.
    """
    log = context.cluster.registry
    for damage in expected:
        _require_repairable(damage)
        _refuse_recent_claim(damage, context, log)
    lock = acquire_despite_damage(context, holder=holder)
    if lock is None:
        return False
    try:
        if find_damage(log.scan() or ()) != tuple(expected):
            raise SafetyError(
                "the registry changed meanwhile, so nothing was mended; look again with kgitops "
                "registry check"
            )
        moment = moments.to_text(context.clock.now())
        records = [damage.record for damage in expected if damage.record is not None]
        lock.append([*records, repair_record(name, holder, moment, expected)])
    finally:
        lock.release()
    return True


def acquire_despite_damage(context: ApplyContext, *, holder: str) -> Lock | None:
    """Acquire the lock on a registry that has unreadable records; None when interrupted.

    Raises:
        LockedError: another process holds it.
    """
    log = context.cluster.registry
    readable = cast(Cluster, _Override(context.cluster, registry=_ReadableEntries(log)))
    return acquire(replace(context, cluster=readable), holder=holder)


def _require_repairable(damage: Damage) -> None:
    if damage.record is None:
        raise SafetyError(
            f"the registry record at offset {damage.offset}, key {damage.key!r}, "
            f"{damage.problem}, so nothing was mended; {damage.remedy}"
        )


def _refuse_recent_claim(damage: Damage, context: ApplyContext, log: RegistryLog) -> None:
    """Refuse while the holder of an unreadable claim may still be at work."""
    settings = context.settings
    until = damage.since_ms + settings.lease_ms + settings.timeout_ms
    if damage.is_claim and log.now_ms() < until:
        raise LockedError(
            f"the claim on the lock at offset {damage.offset} can't be read, so its holder may be "
            "at work; see that no kgitops runs, and try again in two minutes"
        )


class _Override:
    """An object with some of its attributes replaced."""

    def __init__(self, target: object, **replaced: object) -> None:
        self._target = target
        self.__dict__.update(replaced)

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 (whatever it has)
        return getattr(self._target, name)


class _ReadableEntries(_Override):
    """A registry's log that returns only the readable entries."""

    def read(self, since: int = 0) -> Sequence[RegistryEntry] | None:
        """Read the readable entries, in order."""
        entries = self._target.scan(since)  # type: ignore[attr-defined]
        if entries is None:
            return None
        damaged = {damage.offset for damage in find_damage(entries)}
        return [e for e in entries if not e.problem and e.offset not in damaged]
