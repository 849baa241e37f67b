"""What the shipped pack adds to a plan of new topics: whole processes, without and with it in turn.

On an embedded cluster each request is judged by the plan and once more by the cluster's brokers
(``validate_only``); against a snapshot, as on a real Kafka, by the plan alone.

    uv run python benchmarks/policed_plan.py               # 10,000 topics
"""

import argparse
import statistics
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))  # for runs with -P

from plan import TOPIC, run
from policies import PACK

PROJECT = """\
apiVersion: kgitops/v1
kind: Project
metadata: {{name: bench, uid: 00000000-0000-4000-8000-000000000001}}
spec:
  manifests: [manifests]
  clusters: {{local: {{url: "embedded:.kgitops/local.db", brokers: 3}}}}
  policies: [{policies}]
"""

# What the pack accepts.
DOCUMENTS = TOPIC.replace(
    "min.insync.replicas: 2", "min.insync.replicas: 2\n    retention.bytes: 1073741824"
).replace("permission: Allow", "host: 10.0.0.1\n  permission: Allow")


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--topics", type=int, default=10_000)
    options.add_argument("--rounds", type=int, default=3)
    given = options.parse_args()
    print(f"{given.topics:,} new topics and as many ACLs, {len(PACK)} policies, seconds\n")
    print("| plan | without | with | added | MB | MB with |")
    print("| --- | ---: | ---: | ---: | ---: | ---: |")
    with tempfile.TemporaryDirectory() as folder:
        plain, policed = Path(folder, "plain"), Path(folder, "policed")
        entries = ", ".join(
            f'{{class: "kgitops.policies:{name}", configs: {configs}}}'
            for name, configs in PACK.items()
        )
        write_project(plain, given.topics, "")
        write_project(policed, given.topics, entries)
        snapshot = str(Path(folder, "snapshot.json"))
        run(["-m", "kgitops", "snapshot", "-c", "embedded:?brokers=3", "-o", snapshot])
        for name, more in (
            ("embedded: judged twice", []),
            ("of a snapshot: judged once", ["--snapshot", snapshot]),
        ):
            print(row(name, plain, policed, more, given.rounds), flush=True)


def row(name: str, plain: Path, policed: Path, more: list[str], rounds: int) -> str:
    without, with_pack = [], []
    for _ in range(rounds):
        without.append(run(["-m", "kgitops", "plan", str(plain), *more]))
        with_pack.append(run(["-m", "kgitops", "plan", str(policed), *more]))
    before, after = (statistics.median(wall for wall, _ in runs) for runs in (without, with_pack))
    peaks = (max(peak for _, peak in runs) for runs in (without, with_pack))
    megabytes = " | ".join(f"{peak:.0f}" for peak in peaks)
    return f"| {name} | {before:.2f} | {after:.2f} | {after - before:.2f} | {megabytes} |"


def write_project(folder: Path, topics: int, policies: str) -> None:
    (folder / "manifests").mkdir(parents=True)
    (folder / "kgitops.yaml").write_text(PROJECT.format(policies=policies))
    documents = (DOCUMENTS.format(team=number % 40, number=number) for number in range(topics))
    (folder / "manifests" / "all.yaml").write_text("---\n".join(documents))


if __name__ == "__main__":
    main()
