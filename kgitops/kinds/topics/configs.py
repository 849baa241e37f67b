"""The config keys of one topic: changes, removals, drift, the risk of each, and values that hurt.

Every topic config has an entry: the thresholds of its hazards, or the reason why it has none.
"""

from collections.abc import Callable, Iterator, Mapping

from msgspec import Struct

from kgitops.model.json.declared import ConfigsPolicy, DesiredTopic
from kgitops.model.resources.topic_configs import (
    configs_problems,
    effective_default,
    is_throttle,
    normal_value,
    topic_configs,
)
from kgitops.model.resources.topics import Assignment
from kgitops.model.source import Finding
from kgitops.plan.document import risks
from kgitops.plan.document.plan import Drift, FieldChange
from kgitops.plan.document.risks import Risk, RiskLevel


class Hazard(Struct, frozen=True):
    """Values under ``below`` or over ``above``, or equal to ``equals``; ``because`` they hurt.

    It counts ``where`` another config, given or by default, contains a word.
    """

    because: str
    below: float | None = None
    above: float | None = None
    equals: str | None = None
    where: tuple[str, str] | None = None


_COMPACTED = ("cleanup.policy", "compact")
_DELETED = ("cleanup.policy", "delete")
_TIERED = ("remote.storage.enable", "true")
_OPEN_FILES = "each of them is rolled, indexed and kept open by every replica"
_FSYNC = "every broker with a replica waits for its disk that often, for all its topics"
# fmt: off
# ruff: noqa: E501 (a table: one config after the other, each with its reason)
HAZARDS: Mapping[str, tuple[Hazard, ...] | str] = {
    "cleanup.policy": "a change has risks of its own, and any policy is an ordinary one for a new topic",
    "compression.gzip.level": "a level costs the CPU of this topic's batches only",
    "compression.lz4.level": "a level costs the CPU of this topic's batches only",
    "compression.type": "a broker compresses again what producers compress otherwise, at most once a batch",
    "compression.zstd.level": (
        Hazard("above 19 zstd takes hundreds of MiB of the broker's memory to compress a batch", above=19, where=("compression.type", "zstd")),
    ),
    "delete.retention.ms": (
        Hazard("below 60000 (1 min) a consumer that reads the topic from its start misses deletions", below=60_000, where=_COMPACTED),
    ),
    "errors.deadletterqueue.group.enable": "it only permits a group to write there",
    "file.delete.delay.ms": (
        Hazard("above 86400000 (1 d) deleted segments go on filling the disk", above=86_400_000),
    ),
    "flush.messages": (Hazard(f"below 1000 records between two fsyncs, {_FSYNC}", below=1000),),
    "flush.ms": (Hazard(f"below 1000 (1 s) between two fsyncs, {_FSYNC}", below=1000),),
    "follower.replication.throttled.replicas": "any throttle has the risk KG127, and none is kept of a new topic",
    "index.interval.bytes": (
        Hazard("below 256 (256 B) the index has an entry for nearly every batch, so segments are rolled when it is full", below=256),
        Hazard("above 1048576 (1 MiB) a broker scans that much of a segment for each fetch by offset", above=1_048_576),
    ),
    "leader.replication.throttled.replicas": "any throttle has the risk KG127, and none is kept of a new topic",
    "local.retention.bytes": (
        Hazard("below 1048576 (1 MiB) consumers read nearly everything from remote storage", below=1_048_576, where=_TIERED),
    ),
    "local.retention.ms": (
        Hazard("below 60000 (1 min) consumers read nearly everything from remote storage", below=60_000, where=_TIERED),
    ),
    "max.compaction.lag.ms": (
        Hazard("below 600000 (10 min) the cleaner rewrites the topic without a pause, and others wait for it", below=600_000, where=_COMPACTED),
    ),
    "max.decompressed.message.bytes": "Kafka's default is the largest value, and lower ones protect brokers",
    "max.message.bytes": (
        Hazard("above 104857600 (100 MiB) brokers, replicas and consumers hold whole batches of that size in memory", above=104_857_600),
        Hazard("below 1024 (1 KiB) nearly every batch of a producer is refused", below=1024),
    ),
    "message.timestamp.after.max.ms": (
        Hazard("below 1000 (1 s) producers whose clocks are a little ahead are refused", below=1000),
    ),
    "message.timestamp.before.max.ms": (
        Hazard("below 60000 (1 min) records that a producer sends again after a pause are refused", below=60_000),
    ),
    "message.timestamp.type": "both are ordinary for a new topic, and a change has the risk KG119",
    "min.cleanable.dirty.ratio": (
        Hazard("below 0.01 the cleaner rewrites the topic for every new segment, and others wait for it", below=0.01, where=_COMPACTED),
    ),
    "min.compaction.lag.ms": "a long one keeps more records, as a long retention does",
    "min.insync.replicas": "it is judged together with the replication factor, by KG126",
    "preallocate": (
        Hazard("each partition takes the whole segment.bytes of every replica's disk at once, even when it is empty", equals="true"),
    ),
    "remote.copy.lag.bytes": "brokers refuse a lag beyond the local retention, so that nothing is lost by it",
    "remote.copy.lag.ms": "brokers refuse a lag beyond the local retention, so that nothing is lost by it",
    "remote.log.copy.disable": "what is stored remotely stays readable, and a change has the risk KG120",
    "remote.log.delete.on.disable": "a new topic has nothing in remote storage, and a change has the risk KG128",
    "remote.storage.enable": "tiered storage is ordinary for a new topic, and a change has the risk KG120 or KG128",
    "retention.bytes": (
        Hazard("below 1048576 (1 MiB) records of a partition are deleted about as fast as they come", below=1_048_576, where=_DELETED),
    ),
    "retention.ms": (
        Hazard("below 60000 (1 min) records are deleted before a consumer that pauses has read them", below=60_000, where=_DELETED),
    ),
    "segment.bytes": (
        Hazard(f"below 10485760 (10 MiB) a partition has very many segments, and {_OPEN_FILES}", below=10_485_760),
    ),
    "segment.index.bytes": (
        Hazard(f"below 20480 (20 KiB) the index is full after 10 MiB, so a partition has very many segments, and {_OPEN_FILES}", below=20_480),
        Hazard("above 104857600 (100 MiB) each partition's active segment takes that much for each index file at once", above=104_857_600),
    ),
    "segment.jitter.ms": "it takes a random part off segment.ms, once a segment",
    "segment.ms": (
        Hazard(f"below 600000 (10 min) a partition has very many segments, and {_OPEN_FILES}", below=600_000),
    ),
    "unclean.leader.election.enable": "a change and a new topic have the risk KG129",
}
# fmt: on
"""Every topic config with its hazards, or with the reason why no value of it hurts brokers."""


def hazard(
    key: str,
    before: str | None,
    after: str | None,
    configs: Mapping[str, str],
    broker_defaults: Mapping[str, str],
) -> str | None:
    """Explain how a config that changes to the effective value ``after`` hurts; None if it doesn't.

    A value that moves away from the harm, or that is no number, is none. ``before`` is the
    effective value until now, None for a new topic. ``configs`` are all of the topic's afterwards.
    """
    known = HAZARDS.get(key, "")
    if isinstance(known, str) or after is None:
        return None
    for each in known:
        if each.where is not None:
            other, word = each.where
            value = configs.get(other) or effective_default(other, broker_defaults)[0] or ""
            if word not in value.split(","):
                continue
        if _hurts(each, before, after):
            return each.because
    return None


def _hurts(each: Hazard, before: str | None, after: str) -> bool:
    if each.equals is not None:
        return after == each.equals != before
    now, past = _amount(after), None if before is None else _amount(before)
    if now is None:
        return False
    if each.below is not None:
        return 0 <= now < each.below and (past is None or past < 0 or now < past)
    return each.above is not None and now > each.above and (past is None or 0 <= past < now)


def _amount(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


class ConfigDiff(Struct, frozen=True, kw_only=True):
    """The configs to change, and the drift; ``requested`` maps a removed key to None.

    ``expected`` are the fields of the precondition: what is requested, as it is now.
    """

    requested: Mapping[str, str | None]
    expected: Mapping[str, str | None]
    drift: tuple[Drift, ...]


def diff_configs(
    desired: DesiredTopic, existing: Mapping[str, str], last: Mapping[str, str]
) -> ConfigDiff:
    """Compare the keys that kgitops owns: those it last applied and those now declared."""
    wanted = desired.configs
    current = {key: normal_value(key, value) for key, value in existing.items()}
    exact = desired.configs_policy is ConfigsPolicy.EXACT
    requested: dict[str, str | None] = {}
    for key in sorted(_differing(wanted, current)):
        undeclared = key not in wanted and key not in last
        if undeclared and (not exact or is_throttle(key)):
            continue
        requested[key] = wanted.get(key)
    return ConfigDiff(
        requested=requested,
        expected={f"configs.{key}": current.get(key) for key in requested},
        drift=tuple(_drift(desired, current, last, set(requested))),
    )


def config_conflicts(
    desired: DesiredTopic,
    after: Mapping[str, str],
    existing: Mapping[str, str],
    broker_defaults: Mapping[str, str],
) -> list[Finding]:
    """Return a finding for each combination of the topic's future configs that Kafka would refuse.

    The manifests alone don't show it: undeclared keys and the brokers' defaults count as well.
    """
    problems = configs_problems(after, broker_defaults=broker_defaults, existing=existing)
    return [
        Finding(
            source=desired.located.at("spec", "configs", key),
            problem=f"the topic {desired.name!r} can't be configured so: {problem}",
            advice="declare configs that go together; a default may come from the cluster",
        )
        for key, problem in problems
    ]


def _differing(one: Mapping[str, str], other: Mapping[str, str]) -> Iterator[str]:
    """Yield the keys with different values: for most topics none or one."""
    if one != other:
        yield from (key for key, value in one.items() if other.get(key) != value)
        yield from (key for key in other if key not in one)


def config_field(
    key: str,
    before: str | None,
    after: str | None,
    configs: Mapping[str, str],
    broker_defaults: Mapping[str, str],
) -> FieldChange:
    """Return the change of a config, None where the topic does not set it.

    ``configs`` are all of the topic's after the change.
    """
    default, source = effective_default(key, broker_defaults)
    removed = after is None
    old, new = default if before is None else before, default if removed else after
    risk = config_risk(key, old, new, removed=removed)
    harm = None
    if risk.level is RiskLevel.SAFE:  # a worse one says already what is at stake
        harm = hazard(key, old, new, configs, broker_defaults)
        risk = risk if harm is None else risks.TOPIC_HAZARD
    if key not in topic_configs() and default is None:
        default, source = "the default of the brokers", "unknown to kgitops"
    notes = [note for note in (harm, _note(before, after, default, source)) if note is not None]
    return FieldChange(
        path=f"configs.{key}",
        before=before,
        after=after,
        risk=risk,
        note="; ".join(notes) or None,
    )


def new_config_hazards(
    configs: Mapping[str, str], broker_defaults: Mapping[str, str]
) -> tuple[FieldChange, ...]:
    """Return the configs of a new topic that hurt brokers or clients, each with the reason."""
    return tuple(
        FieldChange(
            path=f"configs.{key}",
            before=None,
            after=value,
            risk=risks.TOPIC_HAZARD,
            note=harm,
        )
        for key, value in sorted(configs.items())
        if (harm := hazard(key, None, value, configs, broker_defaults)) is not None
    )


def _note(before: str | None, after: str | None, default: str | None, source: str) -> str | None:
    # A reviewer needs the value that will apply, not "(unset)".
    value = "no value" if default is None else default
    if after is None:
        return f"{value} will apply ({source})"
    return f"{value} applied before ({source})" if before is None else None


def _drift(
    desired: DesiredTopic,
    current: Mapping[str, str],
    last: Mapping[str, str],
    requested: set[str],
) -> list[Drift]:
    rows = []
    for key in sorted(_differing(current, last)):
        if key in last:
            rule = "restored" if key in requested else "accepted"
        elif key in desired.configs or is_throttle(key):
            continue
        else:
            rule = "restored" if key in requested else "undeclared"
        rows.append(
            Drift(
                address=desired.address,
                path=f"configs.{key}",
                last_applied=last.get(key),
                found=current.get(key),
                rule=rule,
            )
        )
    return rows


def config_risk(key: str, before: str | None, after: str | None, *, removed: bool) -> Risk:
    """Return the risk of a config that changes from one effective value to another.

    ``before`` and ``after`` are effective values, defaults included; None where unknown.
    """
    if is_throttle(key):
        return risks.THROTTLE_CONFIG
    rule = _RULES.get(key)
    if rule is not None and before != after:
        risk = rule(before or "", after or "")
        if risk is not None:
            return risk
    return risks.CONFIG_REMOVE if removed else risks.CONFIG_CHANGE


def _number(text: str) -> float:
    """Parse a limit; a negative one means "no limit" to Kafka."""
    try:
        value = int(text)
    except ValueError:
        return float("nan")
    return float("inf") if value < 0 else value


def _shrinks(risk: Risk) -> Callable[[str, str], Risk | None]:
    # A value that is not a number compares as unknown: the risk is assumed, not ruled out.
    return lambda before, after: None if _number(after) >= _number(before) else risk


def _keeps(before: str, after: str) -> Risk | None:
    # A value that is not a number compares as unknown: the worse risk is assumed.
    if _number(after) > _number(before):
        return risks.DISK_GROWTH
    return None if _number(after) == _number(before) else risks.RETENTION_SHRINK


def _grows_or_shrinks(up: Risk, down: Risk) -> Callable[[str, str], Risk | None]:
    return lambda before, after: up if _number(after) > _number(before) else down


def may_keep_more(
    before: tuple[Assignment, Mapping[str, str]],
    after: tuple[Assignment, Mapping[str, str]],
    broker_defaults: Mapping[str, str],
) -> bool:
    """Return whether brokers may keep more of a topic that gets partitions.

    They may not if they only delete records, a limit of its retention becomes lower, and none
    becomes higher for the whole topic.
    """
    old, new = (_retention(*side, broker_defaults) for side in (before, after))
    return new == old or not all(one <= other for one, other in zip(new, old, strict=True))


def _retention(
    assignment: Assignment, configs: Mapping[str, str], broker_defaults: Mapping[str, str]
) -> tuple[float, float]:
    """Return the limits of all replicas by age and by size; not a number where others apply.

    Records of an age are as many in many partitions as in few, but the size limits each partition.
    """

    def value(key: str) -> str:
        text = configs.get(key, effective_default(key, broker_defaults)[0])
        return normal_value(key, text or "")

    if value("cleanup.policy") != "delete" or value("remote.storage.enable") == "true":
        return float("nan"), float("nan")
    age, size = _number(value("retention.ms")), _number(value("retention.bytes"))
    return age * len(assignment[0]), size * sum(map(len, assignment))


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
