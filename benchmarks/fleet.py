"""How long a fleet's plan takes on Spark, beside DuckDB and beside a single process.

Whole processes on the same made-up Parquet, in turn, round by round; medians of the rounds, peaks
of all of them. All must count the same changes, or the benchmark fails.

    uv run python benchmarks/fleet.py                                 # 10,000 to 10 million topics
    uv run python benchmarks/fleet.py --sizes 100000 1000000 --rounds 1
    uv run python benchmarks/fleet.py --sizes 1000000 --acls --only fleet duckdb
    uv run python benchmarks/fleet.py --sizes 1000000 --skew --limit 2048
"""

import argparse
import shutil
import tempfile
from pathlib import Path

from fleet_contestants import CONTESTANTS, FLEET, Contestant, Result, Setting
from fleet_data import Fleet, megabytes, write_fleet
from fleet_report import crossover, goals, memory_table, time_table
from fleet_values import check
from msgspec.structs import replace

SIZES = (10_000, 30_000, 100_000, 300_000, 1_000_000, 5_000_000, 10_000_000)


def main() -> None:
    given = _options().parse_args()
    check()
    base = given.dir or Path(tempfile.mkdtemp(prefix="kgitops-fleet-"))
    measured: dict[int, dict[str, list[Result]]] = {}
    try:
        for size in given.sizes:
            fleet = Fleet(topics=size, acls=given.acls, skew=given.skew)
            name = f"fleet-{size}{'-acls' * given.acls}{'-skew' * given.skew}"
            measured[size] = measure(fleet, base / name, given)
            report(measured)
    finally:
        if given.dir is None:
            shutil.rmtree(base, ignore_errors=True)
    print(goals(measured))


def measure(fleet: Fleet, folder: Path, given: argparse.Namespace) -> dict[str, list[Result]]:
    """The results of each contestant that is asked for and for whom this is not too large."""
    if not folder.exists():
        unfinished = folder.with_suffix(".unfinished")
        shutil.rmtree(unfinished, ignore_errors=True)
        write_fleet(fleet, unfinished)
        unfinished.rename(folder)
    clusters = len(fleet.clusters)
    print(
        f"\n{fleet.topics:,} topics, {clusters} clusters, {megabytes(folder):,.0f} MB", flush=True
    )
    setting = Setting(fleet=fleet, folder=folder)
    chosen = [one for one in CONTESTANTS if one.name in given.only and one.fits(fleet)]
    results: dict[str, list[Result]] = {one.name: [] for one in chosen}
    for number in range(given.rounds):
        for one in chosen:
            found = _run(one, setting)
            print(f"  round {number + 1}: {one.name}: {found}", flush=True)
            results[one.name].append(found)
    if given.limit is not None:
        limited = replace(setting, limit_mb=given.limit)
        print(f"  with workers of {given.limit} MB: {_run(FLEET, limited)}", flush=True)
    if not given.keep:
        shutil.rmtree(folder)
    return results


def _run(contestant: Contestant, setting: Setting) -> Result:
    with tempfile.TemporaryDirectory(dir=setting.folder.parent) as scratch:
        found = contestant.run(setting, Path(scratch))
    wanted = dict(setting.fleet.actions)
    if contestant.counts and found.actions != wanted:
        raise SystemExit(f"{contestant.name} counts {found.actions} instead of {wanted}")
    return found


def report(measured: dict[int, dict[str, list[Result]]]) -> None:
    """Print what is known so far: a large size may yet fail."""
    print()
    print(time_table(measured))
    print()
    print(memory_table(measured))
    print()
    print(crossover(measured))


def _options() -> argparse.ArgumentParser:
    names = [one.name for one in CONTESTANTS]
    options = argparse.ArgumentParser(
        description=__doc__,
        epilog="\n".join(f"  {one.name:20} {one.what}" for one in CONTESTANTS),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    options.add_argument("--sizes", type=int, nargs="+", default=SIZES, metavar="TOPICS")
    options.add_argument("--rounds", type=int, default=3)
    options.add_argument("--acls", action="store_true", help="five ACLs a topic")
    options.add_argument("--skew", action="store_true", help="one cluster has half of all topics")
    options.add_argument(
        "--only", nargs="+", choices=names, default=names, metavar="NAME", help="see below"
    )
    options.add_argument(
        "--limit",
        type=int,
        metavar="MB",
        help="run once more with so much address space for each Python worker of Spark, of which "
        "its libraries take 1,400",
    )
    options.add_argument(
        "--dir", type=Path, help="where fleets are made, and found again with --keep"
    )
    options.add_argument("--keep", action="store_true", help="leave the fleets there")
    return options


if __name__ == "__main__":
    main()
