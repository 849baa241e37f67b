"""An estimate of the disk that a topic will take, as far as its retention and its size tell."""

from collections.abc import Mapping

from kgitops.model.registry import Json
from kgitops.model.resources.topic_configs import effective_default

_LIMIT, _TIME, _SEGMENT = "retention.bytes", "retention.ms", "segment.bytes"
SIZING = frozenset({f"configs.{_LIMIT}", f"configs.{_TIME}", "partitions", "replicationFactor"})
"""The fields that decide how much a topic will hold."""


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
