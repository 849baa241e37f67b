"""Values of topic configs that hurt brokers or clients, whatever they were before.

Every topic config has an entry: the thresholds of its hazards, or the reason why it has none.
"""

from collections.abc import Mapping

from msgspec import Struct

from kgitops.model.resources.topic_configs import effective_default


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
    now, past = _number(after), None if before is None else _number(before)
    if now is None:
        return False
    if each.below is not None:
        return 0 <= now < each.below and (past is None or past < 0 or now < past)
    return each.above is not None and now > each.above and (past is None or 0 <= past < now)


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None
