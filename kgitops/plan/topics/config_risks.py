"""What a change of one topic config risks, by key and direction."""

from collections.abc import Callable

from kgitops.model.topic_configs import is_throttle
from kgitops.plan.document import risks
from kgitops.plan.document.risks import Risk


def config_risk(key: str, before: str | None, after: str | None, *, removed: bool) -> Risk:
    """The risk of a config going from one effective value to another.

    ``before`` and ``after`` are effective values, defaults included; None where unknown.
    """
    if is_throttle(key):
        return risks.THROTTLE_CONFIG
    rule = _RULES.get(key)
    if rule is not None and before != after:
        found = rule(before or "", after or "")
        if found is not None:
            return found
    return risks.CONFIG_REMOVE if removed else risks.CONFIG_CHANGE


def _number(text: str) -> float:
    """A limit as a number; below zero Kafka means "no limit"."""
    try:
        value = int(text)
    except ValueError:
        return float("nan")
    return float("inf") if value < 0 else value


def _shrinks(risk: Risk) -> Callable[[str, str], Risk | None]:
    # A value that is no number compares as unknown: then the risk is assumed, not ruled out.
    return lambda before, after: None if _number(after) >= _number(before) else risk


def _keeps(before: str, after: str) -> Risk | None:
    # A value that is no number compares as unknown: then the worse is assumed.
    if _number(after) > _number(before):
        return risks.DISK_GROWTH
    return None if _number(after) == _number(before) else risks.RETENTION_SHRINK


def _grows_or_shrinks(up: Risk, down: Risk) -> Callable[[str, str], Risk | None]:
    return lambda before, after: up if _number(after) > _number(before) else down


def _cleanup_policy(before: str, after: str) -> Risk | None:
    old, new = set(before.split(",")), set(after.split(","))
    added = new - old
    if "delete" in added:
        return risks.CLEANUP_TO_DELETE
    if "compact" in added:
        return risks.CLEANUP_TO_COMPACT
    return risks.DISK_GROWTH if old - new else None


def _becomes(value: str, risk: Risk, otherwise: Risk | None) -> Callable[[str, str], Risk | None]:
    return lambda _, after: risk if after == value else otherwise


def _always(risk: Risk) -> Callable[[str, str], Risk | None]:
    return lambda _before, _after: risk


_RULES: dict[str, Callable[[str, str], Risk | None]] = {
    "retention.ms": _keeps,
    "retention.bytes": _keeps,
    "cleanup.policy": _cleanup_policy,
    "delete.retention.ms": _shrinks(risks.COMPACTION_SOONER),
    "max.compaction.lag.ms": _shrinks(risks.COMPACTION_SOONER),
    "min.compaction.lag.ms": _shrinks(risks.COMPACTION_SOONER),
    "max.message.bytes": _shrinks(risks.MAX_MESSAGE_SHRINK),
    "max.decompressed.message.bytes": _shrinks(risks.MAX_MESSAGE_SHRINK),
    "min.insync.replicas": _grows_or_shrinks(risks.DURABILITY_STRICTER, risks.DURABILITY_WEAKER),
    "unclean.leader.election.enable": _becomes("true", risks.UNCLEAN_ELECTION, None),
    "message.timestamp.type": _always(risks.TIMESTAMP_RULES),
    "message.timestamp.before.max.ms": _always(risks.TIMESTAMP_RULES),
    "message.timestamp.after.max.ms": _always(risks.TIMESTAMP_RULES),
    "local.retention.ms": _always(risks.REMOTE_STORAGE),
    "local.retention.bytes": _always(risks.REMOTE_STORAGE),
    "remote.copy.lag.ms": _always(risks.REMOTE_STORAGE),
    "remote.copy.lag.bytes": _always(risks.REMOTE_STORAGE),
    "remote.log.copy.disable": _always(risks.REMOTE_STORAGE),
    "remote.storage.enable": _becomes("false", risks.REMOTE_DISABLE, risks.REMOTE_STORAGE),
    "remote.log.delete.on.disable": _becomes("true", risks.REMOTE_DISABLE, risks.REMOTE_STORAGE),
}
