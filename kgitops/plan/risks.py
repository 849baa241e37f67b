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
    """A risk code: stable, documented in ``docs/risk-codes.md``; ``safer`` is what to do instead."""

    code: str
    name: str
    level: Level
    text: str
    safer: str


_ALL: dict[str, Risk] = {}


def _risk(code: str, name: str, level: Level, text: str, safer: str) -> Risk:
    if code in _ALL:
        raise ValueError(f"risk code {code} is used twice")
    _ALL[code] = Risk(code, name, level, text, safer)
    return _ALL[code]


def all_risks() -> tuple[Risk, ...]:
    """Every code, in order."""
    return tuple(_ALL[code] for code in sorted(_ALL))


def worst_first(risks: set[Risk]) -> tuple[Risk, ...]:
    """The risks by level, then code."""
    return tuple(sorted(risks, key=lambda risk: (LEVELS.index(risk.level), risk.code)))


# fmt: off
# ruff: noqa: E501 (a table: one code after the other, each with what to do instead)
TOPIC_CREATE = _risk("KG100", "topic-create", Level.SAFE, "a new topic",
    "nothing to weigh: the partition count can be raised later, never lowered")
TOPIC_DELETE = _risk("KG101", "topic-delete", Level.DATA_LOSS, "every record of the topic is lost",
    "set deletionPolicy: Orphan and remove the document: the topic stays and is only forgotten")
RECORDS_DELETE = _risk("KG102", "records-delete", Level.DATA_LOSS, "records below the offsets are lost",
    "let consumers catch up first, and compare the offsets with the groups' positions")
TOPIC_ADOPT = _risk("KG103", "topic-adopt", Level.SAFE, "the project takes the topic over as it is",
    "write deletionPolicy, so that it is plain what removing the document will do")
TOPIC_FORGET = _risk("KG104", "topic-forget", Level.SAFE, "the topic stays, no longer managed",
    "declare it in the project that should own it")
CONFIG_CHANGE = _risk("KG110", "config-change", Level.SAFE, "a config value changes",
    "nothing to weigh: no record, right or client is at stake")
CONFIG_REMOVE = _risk("KG111", "config-remove", Level.SAFE, "a config falls back to its default",
    "write the value out, if it should not move with the cluster's default")
RETENTION_SHRINK = _risk("KG112", "retention-shrink", Level.DATA_LOSS, "older or surplus records are deleted",
    "wait until every consumer has read what will go, or shrink in steps")
CLEANUP_TO_DELETE = _risk("KG113", "cleanup-adds-delete", Level.DATA_LOSS, "records past the retention are deleted",
    "set retention.ms and retention.bytes to what must be kept before adding delete")
CLEANUP_TO_COMPACT = _risk("KG114", "cleanup-adds-compact", Level.DATA_LOSS, "older records of each key are deleted",
    "make sure that every record has a key and that nobody needs the history; else use a new topic")
COMPACTION_SOONER = _risk("KG115", "compaction-sooner", Level.DATA_LOSS, "tombstones or older values go sooner",
    "keep the lag above the longest time that a consumer may be away")
MAX_MESSAGE_SHRINK = _risk("KG116", "max-message-shrink", Level.DISRUPTIVE, "producers of larger batches are refused",
    "lower max.request.size of the producers first")
DURABILITY_WEAKER = _risk("KG117", "durability-weaker", Level.DISRUPTIVE, "fewer replicas need to confirm a write",
    "keep min.insync.replicas at replicationFactor - 1, and at least 2")
DURABILITY_STRICTER = _risk("KG118", "durability-stricter", Level.DISRUPTIVE, "producers are refused when fewer replicas are in sync",
    "raise it once every partition has that many replicas in sync, and in no maintenance window")
TIMESTAMP_RULES = _risk("KG119", "timestamp-rules", Level.DISRUPTIVE, "timestamps are set or judged differently",
    "check which timestamps producers send: retention, compaction and consumers go by them")
REMOTE_STORAGE = _risk("KG120", "remote-storage", Level.DISRUPTIVE, "where old segments are kept changes",
    "change one topic first and watch its reads and the brokers' disks")
PARTITIONS_UP = _risk("KG121", "key-order-break", Level.DISRUPTIVE, "keys map to other partitions from now on",
    "where order by key matters, drain the topic first, or move to a new topic")
REPLICAS_MOVE = _risk("KG122", "replicas-move", Level.DISRUPTIVE, "partition data is copied between brokers",
    "apply off-peak, or throttle replication")
REPLICATION_DOWN = _risk("KG123", "replication-down", Level.DISRUPTIVE, "fewer copies of every record",
    "keep 3 copies of what can't be made again")
REPLICATION_UP = _risk("KG124", "replication-up", Level.DISRUPTIVE, "more copies: data is copied between brokers",
    "check the brokers' free disk, apply off-peak, or throttle replication")
LEADER_ORDER = _risk("KG125", "leader-order", Level.SAFE, "only the preferred order of replicas changes",
    "nothing to weigh: leaders move at the next preferred election")
MIN_ISR_UNREACHABLE = _risk("KG126", "min-insync-unreachable", Level.DISRUPTIVE, "min.insync.replicas leaves no broker to lose",
    "set min.insync.replicas below replicationFactor")
THROTTLE_CONFIG = _risk("KG127", "throttle-config", Level.DISRUPTIVE, "which replicas are throttled changes",
    "leave throttles to those who move replicas: kgitops touches none that is not declared")
REMOTE_DISABLE = _risk("KG128", "remote-disable", Level.DATA_LOSS, "records in remote storage may be deleted",
    "set remote.log.copy.disable: true, which keeps what is stored remotely readable")
UNCLEAN_ELECTION = _risk("KG129", "unclean-election", Level.DATA_LOSS, "a replica that lags behind may lead, and what it lacks is lost",
    "leave it off, and elect an unclean leader by hand for one partition when there is no other way")
REGISTRY_ONLY = _risk("KG130", "registry-only", Level.SAFE, "only what the registry remembers changes",
    "nothing to weigh: no request is sent for it")
PROTECTION_LOWERED = _risk("KG131", "protection-lowered", Level.SAFE, "removing the document will forget or delete what it did not before",
    "keep deletionPolicy, and use a Tombstone for the one object that should go")
OBJECT_TAKEN = _risk("KG132", "taken-over", Level.SAFE, "the object changes hands between projects",
    "agree with the project that had it: its next plan will refuse the object as foreign")
ACL_GRANT = _risk("KG200", "acl-grant", Level.SAFE, "a principal may do more",
    "grant the operation and the resource that are needed, and no prefix")
ACL_REVOKE = _risk("KG201", "acl-revoke", Level.ACCESS_LOSS, "an Allow is removed",
    "look at the access that the plan lists as lost, and add the narrower Allow first")
ACL_WIDE_GRANT = _risk("KG202", "acl-wide-grant", Level.DISRUPTIVE, "an Allow for everyone, on everything, or of everything",
    "name the principal, the resource and the operation")
ACL_DENY = _risk("KG203", "acl-deny", Level.ACCESS_LOSS, "a Deny wins over every Allow",
    "remove the Allow instead: a Deny also hits whoever is allowed later")
ACL_DENY_LIFTED = _risk("KG204", "acl-deny-lifted", Level.DISRUPTIVE, "a protection is removed",
    "look for the Allows that the Deny overruled: they take effect now")
ACL_ADOPT = _risk("KG205", "acl-adopt", Level.SAFE, "the project takes the binding over as it is",
    "write deletionPolicy, so that it is plain what removing the document will do")
ACL_FORGET = _risk("KG206", "acl-forget", Level.SAFE, "the binding stays, no longer managed",
    "use a Tombstone where the right should end as well")
ACL_FIRST = _risk("KG207", "acl-first-on-resource", Level.DISRUPTIVE, "where no ACL means everyone, everyone else is shut out",
    "declare the rights of everyone who uses it in the same plan, or check that allow.everyone.if.no.acl.found is false")
QUOTA_CREATE = _risk("KG300", "quota-set", Level.DISRUPTIVE, "clients that were not limited are now",
    "start above what the clients use today")
QUOTA_LOWER = _risk("KG301", "quota-lower", Level.DISRUPTIVE, "clients above the new quota are throttled",
    "lower in steps and watch the throttle times")
QUOTA_RAISE = _risk("KG302", "quota-raise", Level.SAFE, "clients may use more",
    "check that the brokers have that much to give")
QUOTA_REMOVE = _risk("KG303", "quota-remove", Level.DISRUPTIVE, "a limit is removed; a broader one, or none, applies",
    "look up which default applies then, and raise the quota instead")
QUOTA_ADOPT = _risk("KG304", "quota-adopt", Level.SAFE, "the project takes the quota over as it is",
    "write deletionPolicy, so that it is plain what removing the document will do")
QUOTA_FORGET = _risk("KG305", "quota-forget", Level.SAFE, "the quota stays, no longer managed",
    "use a Tombstone where the limit should end as well")
REPLICATION_THROTTLE = _risk("KG400", "replication-throttle", Level.SAFE, "a broker copies replicas no faster than this, until they have moved",
    "nothing to weigh, as long as producers write less than that: else the copies never catch up")
# fmt: on
