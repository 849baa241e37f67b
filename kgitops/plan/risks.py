"""Every kind of change that can be planned, with a code, a level and what to think of first."""

from dataclasses import dataclass
from enum import StrEnum


class Level(StrEnum):
    """How bad a change can be, worst first."""

    DATA_LOSS = "data-loss"
    ACCESS_LOSS = "access-loss"
    DISRUPTIVE = "disruptive"
    SAFE = "safe"


LEVELS = tuple(Level)


@dataclass(frozen=True, slots=True, order=True)
class Risk:
    """A risk code: stable, documented in ``docs/risk-codes.md``."""

    code: str
    name: str
    level: Level
    text: str


_ALL: dict[str, Risk] = {}


def _risk(code: str, name: str, level: Level, text: str) -> Risk:
    if code in _ALL:
        raise ValueError(f"risk code {code} is used twice")
    _ALL[code] = Risk(code, name, level, text)
    return _ALL[code]


def all_risks() -> tuple[Risk, ...]:
    """Every code, in order."""
    return tuple(_ALL[code] for code in sorted(_ALL))


def worst_first(risks: set[Risk]) -> tuple[Risk, ...]:
    """The risks by level, then code."""
    return tuple(sorted(risks, key=lambda risk: (LEVELS.index(risk.level), risk.code)))


# fmt: off
# ruff: noqa: E501 (a table: one code a line)
TOPIC_CREATE = _risk("KG100", "topic-create", Level.SAFE, "a new topic")
TOPIC_DELETE = _risk("KG101", "topic-delete", Level.DATA_LOSS, "every record of the topic is lost")
RECORDS_DELETE = _risk("KG102", "records-delete", Level.DATA_LOSS, "records below the offsets are lost")
TOPIC_ADOPT = _risk("KG103", "topic-adopt", Level.SAFE, "the project takes the topic over as it is")
TOPIC_FORGET = _risk("KG104", "topic-forget", Level.SAFE, "the topic stays, no longer managed")
CONFIG_CHANGE = _risk("KG110", "config-change", Level.SAFE, "a config value changes")
CONFIG_REMOVE = _risk("KG111", "config-remove", Level.SAFE, "a config falls back to its default")
RETENTION_SHRINK = _risk("KG112", "retention-shrink", Level.DATA_LOSS, "older or surplus records are deleted")
CLEANUP_TO_DELETE = _risk("KG113", "cleanup-adds-delete", Level.DATA_LOSS, "records past the retention are deleted")
CLEANUP_TO_COMPACT = _risk("KG114", "cleanup-adds-compact", Level.DATA_LOSS, "older records of each key are deleted")
COMPACTION_SOONER = _risk("KG115", "compaction-sooner", Level.DATA_LOSS, "tombstones or older values go sooner")
MAX_MESSAGE_SHRINK = _risk("KG116", "max-message-shrink", Level.DISRUPTIVE, "producers of larger batches are refused")
DURABILITY_WEAKER = _risk("KG117", "durability-weaker", Level.DISRUPTIVE, "fewer replicas confirm a write, or an unclean leader may win")
DURABILITY_STRICTER = _risk("KG118", "durability-stricter", Level.DISRUPTIVE, "producers are refused when fewer replicas are in sync")
TIMESTAMP_RULES = _risk("KG119", "timestamp-rules", Level.DISRUPTIVE, "timestamps are set or judged differently")
REMOTE_STORAGE = _risk("KG120", "remote-storage", Level.DISRUPTIVE, "where old segments are kept changes")
PARTITIONS_UP = _risk("KG121", "key-order-break", Level.DISRUPTIVE, "keys map to other partitions from now on")
REPLICAS_MOVE = _risk("KG122", "replicas-move", Level.DISRUPTIVE, "partition data is copied between brokers")
REPLICATION_DOWN = _risk("KG123", "replication-down", Level.DISRUPTIVE, "fewer copies of every record")
REPLICATION_UP = _risk("KG124", "replication-up", Level.DISRUPTIVE, "more copies: data is copied between brokers")
LEADER_ORDER = _risk("KG125", "leader-order", Level.SAFE, "only the preferred order of replicas changes")
MIN_ISR_UNREACHABLE = _risk("KG126", "min-insync-unreachable", Level.DISRUPTIVE, "min.insync.replicas leaves no broker to lose")
THROTTLE_CONFIG = _risk("KG127", "throttle-config", Level.DISRUPTIVE, "which replicas are throttled changes")
REMOTE_DISABLE = _risk("KG128", "remote-disable", Level.DATA_LOSS, "records in remote storage may be deleted")
REGISTRY_ONLY = _risk("KG130", "registry-only", Level.SAFE, "only what the registry remembers changes")
PROTECTION_LOWERED = _risk("KG131", "protection-lowered", Level.SAFE, "removing the document will no longer be refused")
OBJECT_TAKEN = _risk("KG132", "taken-over", Level.SAFE, "the object changes hands between projects")
ACL_GRANT = _risk("KG200", "acl-grant", Level.SAFE, "a principal may do more")
ACL_REVOKE = _risk("KG201", "acl-revoke", Level.ACCESS_LOSS, "an Allow is removed")
ACL_WIDE_GRANT = _risk("KG202", "acl-wide-grant", Level.DISRUPTIVE, "an Allow for everyone, on everything, or of everything")
ACL_DENY = _risk("KG203", "acl-deny", Level.ACCESS_LOSS, "a Deny wins over every Allow")
ACL_DENY_LIFTED = _risk("KG204", "acl-deny-lifted", Level.DISRUPTIVE, "a protection is removed")
ACL_ADOPT = _risk("KG205", "acl-adopt", Level.SAFE, "the project takes the binding over as it is")
ACL_FORGET = _risk("KG206", "acl-forget", Level.SAFE, "the binding stays, no longer managed")
ACL_FIRST = _risk("KG207", "acl-first-on-resource", Level.DISRUPTIVE, "where no ACL means everyone, everyone else is shut out")
QUOTA_CREATE = _risk("KG300", "quota-set", Level.DISRUPTIVE, "clients that were not limited are now")
QUOTA_LOWER = _risk("KG301", "quota-lower", Level.DISRUPTIVE, "clients above the new quota are throttled")
QUOTA_RAISE = _risk("KG302", "quota-raise", Level.SAFE, "clients may use more")
QUOTA_REMOVE = _risk("KG303", "quota-remove", Level.DISRUPTIVE, "a limit is removed; a broader one, or none, applies")
QUOTA_ADOPT = _risk("KG304", "quota-adopt", Level.SAFE, "the project takes the quota over as it is")
QUOTA_FORGET = _risk("KG305", "quota-forget", Level.SAFE, "the quota stays, no longer managed")
# fmt: on
