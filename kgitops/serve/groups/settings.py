"""The brokers' configs that groups depend on."""

from collections.abc import Mapping
from typing import Self

from msgspec import Struct


class GroupSettings(Struct, frozen=True, kw_only=True):
    """Limits and times of classic groups."""

    initial_delay_ms: int = 0
    """The wait of a new group for more members. Kafka's default is 3 s; tests want none."""
    min_session_timeout_ms: int = 6_000
    max_session_timeout_ms: int = 1_800_000
    max_size: int = 2**31 - 1

    @classmethod
    def of(cls, configs: Mapping[str, str]) -> Self:
        """The settings in a broker's properties file, with defaults for what it leaves out."""
        return cls(
            **{
                field: int(configs[key])
                for field, key in _KEYS.items()
                if configs.get(key, "").strip().isdecimal()
            }
        )


_KEYS = {
    "initial_delay_ms": "group.initial.rebalance.delay.ms",
    "min_session_timeout_ms": "group.min.session.timeout.ms",
    "max_session_timeout_ms": "group.max.session.timeout.ms",
    "max_size": "group.max.size",
}
