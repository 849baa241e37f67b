"""The brokers' configs that groups depend on."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Self

from msgspec import Struct


class MigrationPolicy(StrEnum):
    """``group.consumer.migration.policy``."""

    BIDIRECTIONAL = "bidirectional"
    UPGRADE = "upgrade"
    DOWNGRADE = "downgrade"
    DISABLED = "disabled"

    @property
    def upgrades(self) -> bool:
        """Return True if a member of KIP-848 may take over a classic group."""
        return self in {MigrationPolicy.BIDIRECTIONAL, MigrationPolicy.UPGRADE}

    @property
    def downgrades(self) -> bool:
        """Return True if a group becomes classic when its last member of KIP-848 goes."""
        return self in {MigrationPolicy.BIDIRECTIONAL, MigrationPolicy.DOWNGRADE}


class GroupSettings(Struct, frozen=True, kw_only=True):
    """Limits and times of groups: ``consumer_`` for KIP-848, ``share_`` for KIP-932."""

    initial_delay_ms: int = 0
    """The wait of a new group for more members. Kafka's default is 3 s; tests want none."""
    min_session_timeout_ms: int = 6_000
    max_session_timeout_ms: int = 1_800_000
    max_size: int = 2**31 - 1
    consumer_session_timeout_ms: int = 45_000
    consumer_heartbeat_interval_ms: int = 5_000
    consumer_max_size: int = 2**31 - 1
    share_max_size: int = 200
    share_max_sessions: int = 2000
    migration_policy: MigrationPolicy = MigrationPolicy.BIDIRECTIONAL

    @classmethod
    def of(cls, configs: Mapping[str, str]) -> Self:
        """The settings in a broker's properties file, with defaults for what it leaves out."""
        policy = configs.get(_MIGRATION_POLICY, MigrationPolicy.BIDIRECTIONAL).strip().lower()
        return cls(
            migration_policy=MigrationPolicy(policy),
            **{
                field: int(configs[key])
                for field, key in _KEYS.items()
                if configs.get(key, "").strip().isdecimal()
            },
        )


_MIGRATION_POLICY = "group.consumer.migration.policy"
_KEYS = {
    "initial_delay_ms": "group.initial.rebalance.delay.ms",
    "min_session_timeout_ms": "group.min.session.timeout.ms",
    "max_session_timeout_ms": "group.max.session.timeout.ms",
    "max_size": "group.max.size",
    "consumer_session_timeout_ms": "group.consumer.session.timeout.ms",
    "consumer_heartbeat_interval_ms": "group.consumer.heartbeat.interval.ms",
    "consumer_max_size": "group.consumer.max.size",
    "share_max_size": "group.share.max.size",
    "share_max_sessions": "group.share.max.share.sessions",
}
