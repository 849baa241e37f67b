"""The blast radius of a plan: the data of its topics, now and as estimated, and the groups."""

from collections.abc import Iterable, Mapping

from kgitops.model.cluster_state import NotChecked, TopicUsage
from kgitops.model.registry import Json
from kgitops.model.requests import AlterTopicRequest, DeleteRecordsRequest, DeleteTopicRequest
from kgitops.model.resources.kinds import Kind
from kgitops.model.resources.topic_configs import effective_default, normal_value
from kgitops.model.source import Finding, Severity
from kgitops.plan.document.plan import Change, FieldChange, Measured
from kgitops.plan.document.risks import RiskLevel

_AT_STAKE = (DeleteTopicRequest, AlterTopicRequest, DeleteRecordsRequest)
_REMOTE = "remote.storage.enable"
_LIMIT, _TIME, _SEGMENT = "retention.bytes", "retention.ms", "segment.bytes"
WITHOUT_RECORDS: Mapping[str, str] = {"records": "0", "bytes": "0"}
"""The fields that a topic without any record has, by the paths of preconditions.

Offsets alone don't tell: they end at the high watermark, which records with ``acks=1`` may be past.
"""
SIZING = frozenset({f"configs.{_LIMIT}", f"configs.{_TIME}", "partitions", "replicationFactor"})
"""The fields that decide how much a topic will hold."""


def not_checked(items: Iterable[NotChecked]) -> list[Finding]:
    """Warn of facts that could not be read and that the diff does not need."""
    return [
        Finding(source=None, problem=item.problem, advice=item.advice, severity=Severity.WARNING)
        for item in items
    ]


def topic_at_stake(change: Change) -> str | None:
    """Return the topic whose records or clients the change may harm, or whose size it decides."""
    if change.kind is not Kind.TOPIC or not is_at_stake(change.level, change.fields):
        return None
    requests = (planned.request for planned in change.requests)
    return next((it.topic for it in requests if isinstance(it, _AT_STAKE)), None)


def is_at_stake(level: RiskLevel, fields: Iterable[FieldChange]) -> bool:
    """True if a change of a topic with this level and these fields may harm it or decides size."""
    return level is not RiskLevel.SAFE or any(field.path in SIZING for field in fields)


def measured(usage: TopicUsage | None) -> Measured | None:
    """Return the usage of a topic as a plan holds it."""
    if usage is None:
        return None
    return Measured(
        log_start_offsets=_texts(usage.log_start_offsets),
        high_watermarks=_texts(usage.high_watermarks),
        size_bytes=_texts(usage.size_bytes),
        active_groups=usage.active_groups,
    )


def _texts(values: Iterable[int | None]) -> tuple[str | None, ...]:
    return tuple(None if value is None else str(value) for value in values)


def _numbers(texts: Iterable[str | None]) -> tuple[int | None, ...]:
    return tuple(None if text is None else int(text) for text in texts)


def topic_impact(
    partitions: int, usage: Measured | None, records: Mapping[int, int] | None = None
) -> dict[str, Json]:
    """Return the topic's partitions, bytes, records and active groups, and the deleted records.

    A number is omitted if any partition's share is unknown: a part would read as the whole.
    """
    impact: dict[str, Json] = {"partitions": partitions}
    if usage is None:
        return impact
    size = _total(_numbers(usage.size_bytes), partitions)
    if size is not None:
        impact["bytes"] = str(size)
    starts, ends = _numbers(usage.log_start_offsets), _numbers(usage.high_watermarks)
    held = _total(
        tuple(
            None if start is None or end is None or end < start else end - start
            for start, end in zip(starts, ends, strict=False)
        ),
        partitions,
    )
    if held is not None:
        impact["records"] = str(held)
    if usage.active_groups is not None:
        impact["active_groups"] = list(usage.active_groups)
    if records:
        lost = _total(
            tuple(
                None
                if partition >= len(starts) or (start := starts[partition]) is None
                else offset - start
                for partition, offset in records.items()
            ),
            len(records),
        )
        if lost is not None:
            impact["records_deleted"] = str(lost)
    return impact


def held_fields(partitions: int, usage: TopicUsage | None) -> Mapping[str, str]:
    """Return the fields of ``WITHOUT_RECORDS`` of a topic, those that are known."""
    impact = topic_impact(partitions, measured(usage)) if partitions else {}
    return {path: impact[path] for path in WITHOUT_RECORDS if path in impact}


def _total(values: tuple[int | None, ...], expected: int) -> int | None:
    if len(values) != expected or None in values:
        return None
    return sum(value for value in values if value is not None)


def disk_estimate(
    before: Mapping[str, Json] | None,
    after: Mapping[str, Json] | None,
    defaults: Mapping[str, str],
    held: int | None = None,
) -> dict[str, Json]:
    """``bytes_at_most`` and ``bytes_expected`` of all replicas, as text; nothing if unknown.

    At most: what ``retention.bytes`` leaves, with the segment that is being written. Expected:
    ``held`` bytes of one replica, as much more or less as ``retention.ms`` becomes longer or
    shorter, if the topic holds all of its retention now.
    """
    if after is None or not isinstance(after.get("replicationFactor"), int):
        return {}
    wanted = _Effective(after, defaults)
    if (
        "delete" not in wanted.text("cleanup.policy")
        or wanted.text("remote.storage.enable") == "true"
    ):
        return {}
    replicas = after["replicationFactor"]
    estimate: dict[str, Json] = {}
    at_most = None
    if (limit := wanted.number(_LIMIT)) > 0:
        one = limit + max(wanted.number(_SEGMENT), 0)
        at_most = one * after["partitions"] * replicas
        estimate["bytes_at_most"] = str(at_most)
    if before is None or not held:
        return estimate
    old, new = _Effective(before, defaults).number(_TIME), wanted.number(_TIME)
    if old > 0 and new > 0 and old != new:
        expected = held * new // old * replicas
        capped = expected if at_most is None else min(expected, at_most)
        estimate["bytes_expected"] = str(capped)
    return estimate


class _Effective:
    """The configs of a topic's view, with the values of what it does not set."""

    def __init__(self, view: Mapping[str, Json], defaults: Mapping[str, str]) -> None:
        self._configs = view.get("configs") or {}
        self._defaults = defaults

    def text(self, key: str) -> str:
        value = self._configs.get(key)
        return str(value) if value is not None else effective_default(key, self._defaults)[0] or ""

    def number(self, key: str) -> int:
        """The number; -1, Kafka's word for no limit, if it is none."""
        try:
            return int(self.text(key))
        except ValueError:
            return -1


def deletes_empty(change: Change) -> bool:
    """Return whether the change deletes a topic that certainly had no records when planned.

    Remote storage may hold records that the brokers' logs do not.
    """
    before, basis = change.before, change.basis
    if before is None or basis is None or basis.measured is None:
        return False
    if not any(isinstance(planned.request, DeleteTopicRequest) for planned in change.requests):
        return False
    impact = topic_impact(before["partitions"], basis.measured)
    is_remote = normal_value(_REMOTE, before["configs"].get(_REMOTE) or "false") != "false"
    return not is_remote and WITHOUT_RECORDS.items() <= impact.items()
