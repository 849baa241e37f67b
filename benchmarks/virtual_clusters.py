"""How long plans of many virtual clusters take, beside the floor of parsing the same YAML.

Each virtual cluster has links to the same physical topics, a user, an ACL and a quota. ``new``
plans them against an empty cluster, ``no-op`` against one that has them. Whole processes, wall
seconds and peak memory, the median of the rounds, floor and plans in turn in the same run.

    uv run python benchmarks/virtual_clusters.py                    # 10, 100, 1,000 x 100 links
    uv run python benchmarks/virtual_clusters.py --sizes 1000 --links 10
"""

import argparse
import statistics
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))  # for runs with -P

from plan import FLOOR, run

PROJECT = """\
apiVersion: kgitops/v1
kind: Project
metadata: {name: bench, uid: 00000000-0000-4000-8000-000000000001}
spec:
  manifests: [manifests]
  clusters:
    native: {url: "embedded:.kgitops/native.db", brokers: 3}
    lowered: {url: "embedded:.kgitops/lowered.db?virtual.clusters=lowered", brokers: 3}
  defaultCluster: native
"""

TOPIC = """\
apiVersion: kgitops/v1
kind: Topic
metadata: {{name: shared-{number}}}
spec: {{partitions: 1, replicationFactor: 3}}
"""

VIRTUAL_CLUSTER = """\
apiVersion: kgitops/v1
kind: VirtualCluster
metadata: {{name: tenant-{number}}}
spec: {{members: {{users: [user-{number}]}}}}
---
apiVersion: kgitops/v1
kind: Acl
metadata: {{name: reads-{number}}}
spec:
  virtualCluster: tenant-{number}
  principal: User:user-{number}
  permission: Allow
  operations: [Read]
  resource: {{type: topic, name: "*", patternType: literal}}
---
apiVersion: kgitops/v1
kind: ClientQuota
metadata: {{name: quota-{number}}}
spec:
  entity: {{virtualCluster: tenant-{number}, user: user-{number}}}
  quotas: {{consumer_byte_rate: 1048576}}
"""

LINK = """\
apiVersion: kgitops/v1
kind: TopicLink
metadata: {{name: link-{link}, virtualCluster: tenant-{number}}}
spec: {{target: {{physicalTopic: shared-{link}}}}}
"""


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--sizes", type=int, nargs="+", default=[10, 100, 1_000])
    options.add_argument("--links", type=int, default=100)
    options.add_argument("--clusters", nargs="+", default=["native", "lowered"])
    options.add_argument("--rounds", type=int, default=3)
    given = options.parse_args()
    print("| virtual clusters x links | cluster | plan | floor s | plan s | ms a link | MB |")
    print("| ---: | --- | --- | ---: | ---: | ---: | ---: |")
    for size in given.sizes:
        with tempfile.TemporaryDirectory() as folder:
            project = Path(folder)
            write_project(project, size, given.links)
            for cluster in given.clusters:
                plan = ["-m", "kgitops", "plan", str(project), "-c", cluster]
                apply = ["-m", "kgitops", "apply", str(project), "-c", cluster, "--auto-approve"]
                print(row(size, given.links, cluster, "new", project, plan, given.rounds))
                run(apply)
                print(row(size, given.links, cluster, "no-op", project, plan, given.rounds))
                sys.stdout.flush()


def row(
    size: int, links: int, cluster: str, name: str, project: Path, plan: list[str], rounds: int
) -> str:
    floors, plans = [], []
    for _ in range(rounds):
        floors.append(run(["-c", FLOOR, str(project / "manifests")])[0])
        plans.append(run(plan))
    wall = statistics.median(seconds for seconds, _ in plans)
    peak = max(megabytes for _, megabytes in plans)
    each = 1000 * wall / (size * links)
    return (
        f"| {size:,} x {links} | {cluster} | {name} | {statistics.median(floors):.2f} "
        f"| {wall:.2f} | {each:.3f} | {peak:.0f} |"
    )


def write_project(project: Path, size: int, links: int) -> None:
    (project / "manifests").mkdir(parents=True)
    (project / "kgitops.yaml").write_text(PROJECT)
    (project / "manifests" / "all.yaml").write_text("---\n".join(documents(size, links)))


def documents(size: int, links: int) -> Iterator[str]:
    for number in range(links):
        yield TOPIC.format(number=number)
    for number in range(size):
        yield VIRTUAL_CLUSTER.format(number=number)
        for link in range(links):
            yield LINK.format(number=number, link=link)


if __name__ == "__main__":
    main()
