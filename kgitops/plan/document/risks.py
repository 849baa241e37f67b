"""The risk codes: one for each kind of change, with a level and a safer alternative."""

from enum import StrEnum

from kgitops.model.json.codec import special
from kgitops.model.registry import Json


class RiskLevel(StrEnum):
    """Severity of a risk, worst first."""

    DATA_LOSS = "data-loss"
    ACCESS_LOSS = "access-loss"
    DISRUPTIVE = "disruptive"
    SAFE = "safe"


RISK_LEVELS = tuple(RiskLevel)


class Risk:
    """A stable risk code, see ``docs/reference/risk-codes.md``; ``safer`` is a safer alternative.

    There is one object for each code, and in JSON a risk is its code.
    """

    __slots__ = ("code", "level", "name", "safer", "text")

    def __init__(self, code: str, name: str, level: RiskLevel, text: str, safer: str) -> None:
        self.code, self.name, self.level, self.text, self.safer = code, name, level, text, safer

    def __repr__(self) -> str:
        return f"Risk({self.code})"

    def __reduce__(self) -> tuple[object, ...]:
        return risk_of, (self.code,)


_ALL: dict[str, Risk] = {}


def _risk(code: str, name: str, level: RiskLevel, text: str, safer: str) -> Risk:
    if code in _ALL:
        raise ValueError(f"risk code {code} is used twice")
    _ALL[code] = Risk(code, name, level, text, safer)
    return _ALL[code]


def risk_of(code: Json) -> Risk:
    """Return the risk with this code.

    Raises:
        ValueError: there is none.
    """
    risk = _ALL.get(code) if isinstance(code, str) else None
    if risk is None:
        raise ValueError(f"is the unknown risk code {code!r}")
    return risk


special(Risk, lambda risk: risk.code, risk_of)


def all_risks() -> tuple[Risk, ...]:
    """Return all risks, in the order of their codes."""
    return tuple(_ALL[code] for code in sorted(_ALL))


def worst_first(risks: set[Risk]) -> tuple[Risk, ...]:
    """Sort the risks by level, then code."""
    return tuple(sorted(risks, key=lambda risk: (RISK_LEVELS.index(risk.level), risk.code)))


# fmt: off
# ruff: noqa: E501 (a table: one code after the other, each with what to do instead)
TOPIC_CREATE = _risk("KG100", "topic-create", RiskLevel.SAFE, "a new topic",
    "none needed; partitions can be added later, never removed")
TOPIC_DELETE = _risk("KG101", "topic-delete", RiskLevel.DATA_LOSS, "every record of the topic is lost",
    "set deletionPolicy: Orphan and remove the document: the topic stays and is only forgotten")
RECORDS_DELETE = _risk("KG102", "records-delete", RiskLevel.DATA_LOSS, "records below the offsets are lost",
    "let consumers catch up first, and compare the offsets with the groups' positions")
TOPIC_ADOPT = _risk("KG103", "topic-adopt", RiskLevel.SAFE, "the project takes the topic over as it is",
    "set deletionPolicy explicitly: it decides what removing the document does")
TOPIC_FORGET = _risk("KG104", "topic-forget", RiskLevel.SAFE, "the topic stays, no longer managed",
    "declare it in the project that should own it")
TOPIC_UNLINK = _risk("KG105", "topic-unlink", RiskLevel.DISRUPTIVE, "clients of the virtual cluster no longer find the topic; its records stay, under its physical name",
    "let the clients go first, and note the physical name: only a link brings the topic back")
TOPIC_RELINK = _risk("KG106", "topic-relink", RiskLevel.SAFE, "clients of the virtual cluster find the topic again",
    "none needed; another client removed the link, and the records are unchanged")
EMPTY_TOPIC_DELETE = _risk("KG107", "empty-topic-delete", RiskLevel.DISRUPTIVE, "clients no longer find the topic; it holds no records, and is deleted only while it holds none",
    "let the clients go first, or set deletionPolicy: Orphan and remove the document: the topic stays and is only forgotten")
CONFIG_CHANGE = _risk("KG110", "config-change", RiskLevel.SAFE, "a config value changes",
    "none needed; no record, right or client is at stake")
CONFIG_REMOVE = _risk("KG111", "config-remove", RiskLevel.SAFE, "a config falls back to its default",
    "write the value out, if it should not move with the cluster's default")
RETENTION_SHRINK = _risk("KG112", "retention-shrink", RiskLevel.DATA_LOSS, "older or surplus records are deleted",
    "wait until every consumer has read what will go, or shrink in steps")
CLEANUP_TO_DELETE = _risk("KG113", "cleanup-adds-delete", RiskLevel.DATA_LOSS, "records past the retention are deleted",
    "set retention.ms and retention.bytes to what must be kept before adding delete")
CLEANUP_TO_COMPACT = _risk("KG114", "cleanup-adds-compact", RiskLevel.DATA_LOSS, "older records of each key are deleted",
    "make sure that every record has a key and that nobody needs the history; else use a new topic")
COMPACTION_SOONER = _risk("KG115", "compaction-sooner", RiskLevel.DATA_LOSS, "tombstones or older values go sooner",
    "keep the lag above the longest time that a consumer may be away")
MAX_MESSAGE_SHRINK = _risk("KG116", "max-message-shrink", RiskLevel.DISRUPTIVE, "producers of larger batches are refused",
    "lower max.request.size of the producers first")
DURABILITY_WEAKER = _risk("KG117", "durability-weaker", RiskLevel.DISRUPTIVE, "fewer replicas need to confirm a write",
    "keep min.insync.replicas at replicationFactor - 1, and at least 2")
DURABILITY_STRICTER = _risk("KG118", "durability-stricter", RiskLevel.DISRUPTIVE, "producers are refused when fewer replicas are in sync",
    "raise it once every partition has that many replicas in sync, and in no maintenance window")
TIMESTAMP_RULES = _risk("KG119", "timestamp-rules", RiskLevel.DISRUPTIVE, "timestamps are set or judged differently",
    "check which timestamps producers send: retention, compaction and consumers go by them")
REMOTE_STORAGE = _risk("KG120", "remote-storage", RiskLevel.DISRUPTIVE, "where old segments are kept changes",
    "change one topic first and watch its reads and the brokers' disks")
PARTITIONS_UP = _risk("KG121", "key-order-break", RiskLevel.DISRUPTIVE, "keys map to other partitions from now on",
    "where order by key matters, drain the topic first, or move to a new topic")
REPLICAS_MOVE = _risk("KG122", "replicas-move", RiskLevel.DISRUPTIVE, "partition data is copied between brokers",
    "apply off-peak, or throttle replication")
REPLICATION_DOWN = _risk("KG123", "replication-down", RiskLevel.DISRUPTIVE, "fewer copies of every record",
    "keep 3 copies of what can't be made again")
REPLICATION_UP = _risk("KG124", "replication-up", RiskLevel.DISRUPTIVE, "more copies: data is copied between brokers",
    "check the brokers' free disk, apply off-peak, or throttle replication")
LEADER_ORDER = _risk("KG125", "leader-order", RiskLevel.SAFE, "only the preferred order of replicas changes",
    "none needed; leaders move at the next preferred election")
MIN_ISR_UNREACHABLE = _risk("KG126", "min-insync-unreachable", RiskLevel.DISRUPTIVE, "min.insync.replicas leaves no broker to lose",
    "set min.insync.replicas below replicationFactor")
THROTTLE_CONFIG = _risk("KG127", "throttle-config", RiskLevel.DISRUPTIVE, "which replicas are throttled changes",
    "leave throttles to those who move replicas: kgitops touches none that is not declared")
REMOTE_DISABLE = _risk("KG128", "remote-disable", RiskLevel.DATA_LOSS, "records in remote storage may be deleted",
    "set remote.log.copy.disable: true, which keeps what is stored remotely readable")
UNCLEAN_ELECTION = _risk("KG129", "unclean-election", RiskLevel.DATA_LOSS, "a replica that lags behind may lead, and what it lacks is lost",
    "leave it off, and elect an unclean leader by hand for one partition when there is no other way")
REGISTRY_ONLY = _risk("KG130", "registry-only", RiskLevel.SAFE, "only what the registry remembers changes",
    "none needed; no request is sent for it")
PROTECTION_LOWERED = _risk("KG131", "protection-lowered", RiskLevel.SAFE, "removing the document will forget or delete what it did not before",
    "keep deletionPolicy, and use a Tombstone for the one object that should go")
OBJECT_TAKEN = _risk("KG132", "taken-over", RiskLevel.SAFE, "the object changes hands between projects",
    "agree with the project that had it: its next plan will refuse the object as foreign")
DISK_GROWTH = _risk("KG133", "disk-growth", RiskLevel.DISRUPTIVE, "brokers may keep more, and their disks fill further",
    "compare the brokers' free disk with what the topic takes today, and grow in steps")
PROJECT_TAKEN_OVER = _risk("KG134", "project-taken-over", RiskLevel.DATA_LOSS, "another project loses the object; from the next plan on this project's documents decide what becomes of it",
    "let the other project release its objects, and compare both projects' documents before the next plan")
TOPIC_HAZARD = _risk("KG135", "topic-hazard", RiskLevel.DISRUPTIVE, "a config's value hurts brokers or clients",
    "use a value on the other side of the threshold that the reason names, or Kafka's default")
ACL_GRANT = _risk("KG200", "acl-grant", RiskLevel.SAFE, "a principal may do more",
    "grant the operation and the resource that are needed, and no prefix")
ACL_REVOKE = _risk("KG201", "acl-revoke", RiskLevel.ACCESS_LOSS, "an Allow is removed",
    "look at the access that the plan lists as lost, and add the narrower Allow first")
ACL_WIDE_GRANT = _risk("KG202", "acl-wide-grant", RiskLevel.DISRUPTIVE, "an Allow for everyone, on everything, or of everything",
    "name the principal, the resource and the operation")
ACL_DENY = _risk("KG203", "acl-deny", RiskLevel.ACCESS_LOSS, "a Deny wins over every Allow",
    "remove the Allow instead: a Deny also hits whoever is allowed later")
ACL_DENY_LIFTED = _risk("KG204", "acl-deny-lifted", RiskLevel.DISRUPTIVE, "a protection is removed",
    "look for the Allows that the Deny overruled: they take effect now")
ACL_ADOPT = _risk("KG205", "acl-adopt", RiskLevel.SAFE, "the project takes the binding over as it is",
    "set deletionPolicy explicitly: it decides what removing the document does")
ACL_FORGET = _risk("KG206", "acl-forget", RiskLevel.SAFE, "the binding stays, no longer managed",
    "use a Tombstone where the right should end as well")
ACL_FIRST = _risk("KG207", "acl-first-on-resource", RiskLevel.DISRUPTIVE, "where no ACL means everyone, everyone else is shut out",
    "declare the rights of everyone who uses it in the same plan, or check that allow.everyone.if.no.acl.found is false")
ACL_MIGRATED = _risk("KG208", "acl-migrated", RiskLevel.DISRUPTIVE, "the right goes where it was, and stays in the virtual cluster",
    "wait until all clients of the user have been restarted with the names of the virtual cluster")
QUOTA_CREATE = _risk("KG300", "quota-set", RiskLevel.DISRUPTIVE, "clients that were not limited are now",
    "start above what the clients use today")
QUOTA_LOWER = _risk("KG301", "quota-lower", RiskLevel.DISRUPTIVE, "clients above the new quota are throttled",
    "lower in steps and watch the throttle times")
QUOTA_RAISE = _risk("KG302", "quota-raise", RiskLevel.SAFE, "clients may use more",
    "check that the brokers have that much to give")
QUOTA_REMOVE = _risk("KG303", "quota-remove", RiskLevel.DISRUPTIVE, "a limit is removed; a broader one, or none, applies",
    "look up which default applies then, and raise the quota instead")
QUOTA_ADOPT = _risk("KG304", "quota-adopt", RiskLevel.SAFE, "the project takes the quota over as it is",
    "set deletionPolicy explicitly: it decides what removing the document does")
QUOTA_FORGET = _risk("KG305", "quota-forget", RiskLevel.SAFE, "the quota stays, no longer managed",
    "use a Tombstone where the limit should end as well")
USER_CREATE = _risk("KG310", "user-create", RiskLevel.SAFE, "a user who may log in",
    "none needed; ACLs decide what the user may do")
MECHANISM_ADD = _risk("KG311", "mechanism-add", RiskLevel.SAFE, "the user may log in by another mechanism, with a password of its own",
    "none needed; clients continue with the mechanism they use")
PASSWORD_RENEW = _risk("KG312", "password-renew", RiskLevel.DISRUPTIVE, "clients with the old password can't log in again; connections continue until they must",
    "set the new password for the other mechanism, or for a second user, and switch the clients one by one")
ITERATIONS_RAISE = _risk("KG313", "iterations-raise", RiskLevel.DISRUPTIVE, "the password is set again with more iterations: clients with another one are shut out",
    "make sure that the source holds the password that clients use")
ITERATIONS_LOWER = _risk("KG314", "iterations-lower", RiskLevel.DISRUPTIVE, "the password is set again with fewer iterations, so that it is guessed sooner where a hash leaks",
    "keep the iterations")
MECHANISM_REMOVE = _risk("KG315", "mechanism-remove", RiskLevel.ACCESS_LOSS, "clients of that mechanism can't log in again",
    "switch every client to another mechanism first")
USER_DELETE = _risk("KG316", "user-delete", RiskLevel.ACCESS_LOSS, "the user can't log in again by the mechanisms that were declared",
    "stop the clients first, or set deletionPolicy: Orphan and remove the document: the user stays")
USER_ADOPT = _risk("KG317", "user-adopt", RiskLevel.SAFE, "the project takes the user over, with the password that it has",
    "change version afterwards, where the password should be the one that is declared")
USER_FORGET = _risk("KG318", "user-forget", RiskLevel.SAFE, "the user stays, no longer managed",
    "use a Tombstone where the login should end as well")
REPLICATION_THROTTLE = _risk("KG400", "replication-throttle", RiskLevel.SAFE, "a broker copies replicas no faster than this, until they have moved",
    "none needed, if producers write less than that; otherwise the copies never catch up")
VIRTUAL_CLUSTER_CREATE = _risk("KG500", "virtual-cluster-create", RiskLevel.SAFE, "a new virtual cluster, empty at first",
    "choose the name with care: it is a prefix of the groups' ids, so it never changes")
VIRTUAL_CLUSTER_DELETE = _risk("KG501", "virtual-cluster-delete", RiskLevel.DISRUPTIVE, "its names are gone; what its groups committed stays behind under their physical ids",
    "keep its document until no client is left that uses its names")
VIRTUAL_CLUSTER_ADOPT = _risk("KG502", "virtual-cluster-adopt", RiskLevel.SAFE, "the project takes the virtual cluster over as it is",
    "set deletionPolicy explicitly: it decides what removing the document does")
VIRTUAL_CLUSTER_FORGET = _risk("KG503", "virtual-cluster-forget", RiskLevel.SAFE, "the virtual cluster stays, no longer managed",
    "declare it in the project that should own it")
LOWERING_OPTIONS = _risk("KG504", "lowering-options", RiskLevel.DISRUPTIVE, "ACLs and quotas that stand for the virtual cluster on Kafka are computed again",
    "look at the physical lines of the plan")
LINK_ADD = _risk("KG510", "link-add", RiskLevel.SAFE, "a topic gets a name in a virtual cluster; no data moves",
    "none needed; ACLs decide who may read or write by that name")
LINK_REMOVE = _risk("KG511", "link-remove", RiskLevel.DISRUPTIVE, "clients of the virtual cluster no longer find the topic by that name; no data is lost",
    "add the new name first, and remove the old one once all clients were restarted")
LINK_RETARGET = _risk("KG512", "link-retarget", RiskLevel.DISRUPTIVE, "clients of the virtual cluster switch to another topic's data",
    "link the other topic under a name of its own, and let clients switch one by one")
LINK_ADOPT = _risk("KG513", "link-adopt", RiskLevel.SAFE, "the project takes the link over as it is",
    "set deletionPolicy explicitly: it decides what removing the document does")
LINK_FORGET = _risk("KG514", "link-forget", RiskLevel.SAFE, "the link stays, no longer managed",
    "use a Tombstone where the name should end as well")
MEMBER_BIND = _risk("KG520", "member-bind", RiskLevel.DISRUPTIVE, "from their next request on, its clients have the virtual cluster's rights and quotas, and see its names alone where brokers know it",
    "see that links, groups and ACLs cover all that the clients use, under the names they use now")
MEMBER_UNBIND = _risk("KG521", "member-unbind", RiskLevel.DISRUPTIVE, "from their next request on, its clients lose the virtual cluster's rights and quotas, and see the names of the cluster itself",
    "stop the clients first, or give them the physical names")
MEMBER_EXPOSED = _risk("KG522", "member-exposed", RiskLevel.DISRUPTIVE, "ACLs outside of the virtual cluster let the user reach the cluster's own names",
    "remove those ACLs in the same plan, where the user should reach nothing any more")
MEMBER_MOVE = _risk("KG523", "member-move", RiskLevel.DISRUPTIVE, "from their next request on, its clients have the rights and quotas of another virtual cluster, and see its names alone where brokers know it",
    "see that links, groups and ACLs there cover all that the clients use")
MEMBER_ADOPT = _risk("KG524", "member-adopt", RiskLevel.SAFE, "the project takes the membership over as it is",
    "set deletionPolicy explicitly: it decides what removing the document does")
MEMBER_FORGET = _risk("KG525", "member-forget", RiskLevel.SAFE, "the member stays, no longer managed",
    "use a Tombstone where the membership should end as well")
GROUP_ADD = _risk("KG530", "group-add", RiskLevel.SAFE, "a group gets a name in the virtual cluster",
    "none needed; the group has no offsets yet")
GROUP_TAKE_OVER = _risk("KG531", "group-take-over", RiskLevel.DISRUPTIVE, "what the old group commits after the copy is read again under the new one",
    "apply while the group's consumers are stopped, or let them process a record twice")
GROUP_REMOVE = _risk("KG532", "group-remove", RiskLevel.DISRUPTIVE, "the group is no longer one of the virtual cluster; its offsets stay",
    "stop its consumers first")
GROUP_DELETE = _risk("KG533", "group-delete", RiskLevel.DATA_LOSS, "what the group has committed is lost",
    "set deletionPolicy: Orphan: the group and its offsets stay")
TRANSACTIONAL_ID_ADD = _risk("KG534", "transactional-id-add", RiskLevel.SAFE, "a transactional id gets a name in the virtual cluster",
    "end its transactions first where it is in use: one that is open under the old id is not fenced")
TRANSACTIONAL_ID_REMOVE = _risk("KG535", "transactional-id-remove", RiskLevel.DISRUPTIVE, "the transactional id is no longer one of the virtual cluster",
    "stop its producers first")
GROUP_CREATE = _risk("KG600", "group-manage", RiskLevel.SAFE, "the project manages the group from now on",
    "none needed; Kafka creates the group with its first consumer")
GROUP_ADOPT = _risk("KG601", "group-adopt", RiskLevel.SAFE, "the project takes the group over as it is",
    "set deletionPolicy explicitly: it decides what removing the document does")
GROUP_FORGET = _risk("KG602", "group-forget", RiskLevel.SAFE, "the group and its offsets stay, no longer managed",
    "use a Tombstone where the group should end as well")
GROUP_CONFIG = _risk("KG603", "group-config", RiskLevel.DISRUPTIVE, "members of the group are watched, assigned or served differently from now on",
    "change one group first, and watch its rebalances and what it reads")
GROUP_CONFIG_REMOVE = _risk("KG604", "group-config-remove", RiskLevel.DISRUPTIVE, "a group's config falls back to the brokers' default",
    "write the value out, if it should not move with the brokers' default")
OFFSETS_SET = _risk("KG610", "offsets-set", RiskLevel.DISRUPTIVE, "the group begins at this offset, instead of where auto.offset.reset of its consumers says",
    "compare the offset with what consumers have processed by other means")
OFFSETS_BACK = _risk("KG611", "offsets-back", RiskLevel.DISRUPTIVE, "the group reads records again",
    "make sure that its consumers can process a record twice")
OFFSETS_FORWARD = _risk("KG612", "offsets-forward", RiskLevel.DATA_LOSS, "the group never reads the records between",
    "let the consumers catch up, or have another group process what is skipped")
CLIENT_METRICS_SET = _risk("KG620", "client-metrics-set", RiskLevel.SAFE, "clients that match push other metrics, or at another interval",
    "begin with a narrow match: what clients push takes traffic, and a reporter on the brokers")
CLIENT_METRICS_REMOVE = _risk("KG621", "client-metrics-remove", RiskLevel.DISRUPTIVE, "clients no longer push what the subscription asked for",
    "look for dashboards and alerts that need the metrics")
CLIENT_METRICS_ADOPT = _risk("KG622", "client-metrics-adopt", RiskLevel.SAFE, "the project takes the subscription over as it is",
    "set deletionPolicy explicitly: it decides what removing the document does")
CLIENT_METRICS_FORGET = _risk("KG623", "client-metrics-forget", RiskLevel.SAFE, "the subscription stays, no longer managed",
    "use a Tombstone where it should end as well")
BROKER_CONFIG_SET = _risk("KG630", "broker-config-set", RiskLevel.DISRUPTIVE, "brokers work differently from now on, for all clients",
    "change one broker first, by its id, and watch it")
BROKER_CONFIG_REMOVE = _risk("KG631", "broker-config-remove", RiskLevel.DISRUPTIVE, "brokers fall back to their properties files, or to Kafka's default",
    "look up what the files say, or declare the value that should remain")
BROKER_CONFIG_ADOPT = _risk("KG632", "broker-config-adopt", RiskLevel.SAFE, "the project takes over the configs",
    "set deletionPolicy explicitly: it decides what removing the document does")
BROKER_CONFIG_FORGET = _risk("KG633", "broker-config-forget", RiskLevel.SAFE, "the configs stay, no longer managed",
    "use a Tombstone where they should end as well")
BROKER_CONFIG_DATA = _risk("KG634", "broker-config-data", RiskLevel.DATA_LOSS, "topics that don't set the config themselves may lose records",
    "set the config on each topic that must keep more, and apply that first")
# fmt: on
