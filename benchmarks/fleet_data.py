"""A made-up fleet as Parquet, exactly as kgitops writes it, some 40,000 topics a second and core.

Clusters have 100,000 topics each; with --skew one has half of all. A topic has 6 partitions, 3
replicas and 20 configs. 1 % are to be created, 1 % deleted and 3 % altered.

    uv run python benchmarks/fleet_data.py /tmp/fleet --topics 1000000
    uv run python benchmarks/fleet_data.py /tmp/fleet --topics 100000 --acls --skew
"""

import argparse
import hashlib
import multiprocessing
import time
from array import array
from collections.abc import Mapping
from operator import itemgetter
from pathlib import Path

from fleet_rows import (
    ASSIGNMENTS,
    CHANGED,
    CONFIGS,
    FATES,
    RIGHTS,
    Fate,
    Pair,
    Topic,
    acl_address_of,
    acl_pair,
    make_topic,
    topic_pair,
)
from fleet_tables import RowFile, desired_header, state_header, state_without_objects
from msgspec import Struct

from kgitops.fleet.tables.format import DESIRED, STATE, bucket_of

A_CLUSTER = 100_000
BUCKETS = 256
_KINDS = 1 + len(RIGHTS)


class Fleet(Struct, frozen=True, kw_only=True):
    """How large it is; ``acls``: five a topic."""

    topics: int
    acls: bool = False
    skew: bool = False

    @property
    def clusters(self) -> Mapping[str, int]:
        """The number of topics of each, the largest first."""
        largest = self.topics // 2 if self.skew else 0
        sizes, rest = ([largest] if largest else []), self.topics - largest
        sizes += [A_CLUSTER] * (rest // A_CLUSTER)
        sizes += [rest % A_CLUSTER] if rest % A_CLUSTER else []
        return {f"c-{number:04d}": size for number, size in enumerate(sizes)}

    @property
    def actions(self) -> Mapping[str, int]:
        """How many changes of each action there must be."""
        counts = dict.fromkeys(("create", "update", "delete"), 0)
        with_acls = _KINDS if self.acls else 1
        for size in self.clusters.values():
            for last, fate in FATES.items():
                found = size // 100 + (size % 100 > last)
                match fate:
                    case Fate.CREATED:
                        counts["create"] += found * with_acls
                    case Fate.DELETED:
                        counts["delete"] += found * with_acls
                    case _:
                        counts["update"] += found
        return counts


def write_fleet(fleet: Fleet, folder: Path, processes: int = 2) -> None:
    """Write ``state/cluster=…`` and ``desired/cluster=…`` below ``folder``."""
    jobs = [(folder, cluster, size, fleet.acls) for cluster, size in fleet.clusters.items()]
    with multiprocessing.get_context("spawn").Pool(min(processes, len(jobs))) as pool:
        pool.starmap(write_cluster, jobs, chunksize=1)


def write_cluster(folder: Path, cluster: str, size: int, acls: bool) -> None:
    """Write one cluster's two files, by bucket and address."""
    buckets: list[array[int]] = [array("q") for _ in range(BUCKETS)]
    counts = dict.fromkeys(Fate, 0)
    for number in range(size):
        topic = make_topic(cluster, number)
        counts[topic.fate] += _KINDS if acls else 1
        for kind in range(_KINDS if acls else 1):
            buckets[bucket_of(_address(topic, kind))].append(number * _KINDS + kind)
    state, desired = (folder / side / f"cluster={cluster}" for side in ("state", "desired"))
    total = sum(counts.values())
    with RowFile(state, STATE) as found, RowFile(desired, DESIRED) as wanted:
        base = base_digest(cluster, size, acls=acls)
        found.add(state_header(cluster, total - counts[Fate.CREATED], base))
        wanted.add(desired_header(total - counts[Fate.DELETED]))
        for bucket, items in enumerate(buckets):
            for state_row, desired_row in _pairs(cluster, bucket, items):
                found.add(state_row)
                wanted.add(desired_row)


def base_digest(cluster: str, size: int, *, acls: bool) -> str:
    """As ``plan.planner.base_of`` would have it."""
    digest = hashlib.sha256(f"id-of-{cluster}".encode())
    for broker in state_without_objects(cluster).brokers:
        digest.update(f"broker {broker!r}\n".encode())
    bindings = []
    for topic in (make_topic(cluster, number) for number in range(size)):
        if topic.fate is not Fate.CREATED:
            configs = (_CHANGED if topic.fate is Fate.DRIFTED else _CONFIGS)[topic.variant]
            place = _ASSIGNMENTS[topic.place]
            digest.update(f"{topic.name} {topic.topic_id} {place} {configs}\n".encode())
            bindings += [_address(topic, kind) for kind in range(1, _KINDS if acls else 1)]
    digest.update("".join(f"{address}\n" for address in sorted(bindings)).encode())
    return f"sha256:{digest.hexdigest()}"


_CONFIGS, _CHANGED = ([repr([*one.items()]) for one in some] for some in (CONFIGS, CHANGED))
_ASSIGNMENTS = [repr(tuple(map(tuple, assignment))) for assignment in ASSIGNMENTS]


def _address(topic: Topic, kind: int) -> str:
    """The topic's own, or that of one of its ACLs."""
    return acl_address_of(topic, kind - 1) if kind else f"topic/{topic.name}"


def _pairs(cluster: str, bucket: int, items: "array[int]") -> list[Pair]:
    """The rows of one bucket, by address."""
    rows = []
    for item in items:
        number, kind = divmod(item, _KINDS)
        topic = make_topic(cluster, number)
        address = _address(topic, kind)
        pair = (
            acl_pair(topic, kind - 1, address, bucket)
            if kind
            else topic_pair(topic, address, bucket)
        )
        rows.append((address, pair))
    rows.sort(key=itemgetter(0))
    return [pair for _, pair in rows]


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("folder", type=Path)
    options.add_argument("--topics", type=int, default=100_000)
    options.add_argument("--acls", action="store_true", help="five ACLs a topic")
    options.add_argument("--skew", action="store_true", help="one cluster has half of all topics")
    options.add_argument("--processes", type=int, default=2)
    given = options.parse_args()
    fleet = Fleet(topics=given.topics, acls=given.acls, skew=given.skew)
    started = time.perf_counter()
    write_fleet(fleet, given.folder, given.processes)
    seconds = time.perf_counter() - started
    print(f"{len(fleet.clusters)} clusters in {seconds:.1f} s: {size_text(given.folder)}")


def megabytes(folder: Path) -> float:
    return sum(file.stat().st_size for file in folder.rglob("*.parquet")) / 1e6


def size_text(folder: Path) -> str:
    sides = (f"{side} {megabytes(folder / side):,.0f} MB" for side in ("state", "desired"))
    return ", ".join(sides)


if __name__ == "__main__":
    main()
