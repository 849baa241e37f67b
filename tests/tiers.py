"""Tiers of tests: what a test needs, which run by default, and in what order.

A marker names what a test needs beyond Python packages and a quick machine: ``kafka``, ``spark``,
``browser``, ``lint``, ``slow``. Fixtures bring the first three; a module that starts brokers or
Spark by itself bears the marker. ``pyproject.toml`` leaves all of them out, but for the tests of
real Kafka that bear ``default_kafka`` as well: a handful from a document to an apply on one
cluster. ``-m save`` is the part of the rest that one runs while writing.

``wide`` are the tests of which a part says most: all releases of a client, all payloads, all forged
fields and kills, and the property tests that run by default with fewer examples. They come last.
Where ``WIDE_SHARE`` is ``SEED/3``, a third of them runs, drawn by the seed; the rest is counted.

Property tests run few examples by default, all of them with ``--hypothesis-profile=full``, and a
fourth, other ones each time, with ``share``: so does ``.ci/run``, with its commit as the seed.
"""

import hashlib
import os
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path

import pytest
from hypothesis import settings
from installed import missing_browser, missing_packages

QUICK, SHARE, FULL = "quick", "share", "full"
FEW = 25
PART = 4
SLOW_S = 2
SLOW_TESTS = Path(__file__).with_name("slow_tests.txt")
"""Reasons, each with the files of the default tier that it is true of."""
TIERS: Mapping[str, frozenset[str]] = {
    "kafka": frozenset({"kafka", "own_kafka", "many"}),
    "spark": frozenset({"local_spark"}),
    "browser": frozenset({"browser"}),
    "lint": frozenset(),
    "slow": frozenset(),
}
"""The fixtures that put a test into a tier."""

SAVE = (
    "kinds/test_every_kind.py",
    "laws/",
    "manifests/test_schemas.py",
    "model/test_kinds.py",
    "plan/document/test_risks.py",
    "report/test_plan_schema.py",
    "test_cited_rules.py",
    "test_closed_sets.py",
    "test_docs.py",
    "test_generated.py",
    "test_golden_files.py",
    "test_soundness.py",
)
"""The files and folders of ``-m save``, as far as their tests are in no tier."""

WIDE_SHARE = "KGITOPS_TEST_WIDE_SHARE"
WIDE = (
    "apply/rights/test_consistent_forgeries.py",
    "apply/rights/test_forged_plans.py",
    "gateway/clients/",
    "reconcile/test_hanging_clusters.py",
    "report/fleet/test_fleet_injection.py",
    "report/test_injection.py",
    "serve/clients/",
    "serve/killing/test_kill_at_boundaries.py",
    "test_golden_runs.py",
    "wire/test_against_java.py",
)
"""The files and folders of ``wide``, as far as their tests are in a tier."""

LONGEST = (
    "kafka-default",
    "kafka-real_kafka",
    "kafka-faults",
    "test_killed_users",
    "spark",
    "test_nightly_example",
    "test_spark_driver",
    "kafka-cluster_contract",
    "kafka-cluster",
    "chromium",
    "test_plan_anywhere",
    "test_parquet_snapshots",
    "test_spark_cluster",
    "gateway-clients",
)
"""The groups that take minutes; they start first, so that no process ends with one.

Those of wide tests are the last of them.
"""


def examples(number: int) -> int:
    """How many examples a property test tries: all, a fourth of them, or a few."""
    match settings.get_current_profile_name():
        case "full":
            return number
        case "share":
            return min(number, max(FEW, number // PART))
        case _:
            return min(number, FEW)


def is_full() -> bool:
    """Counts of what a property test has met mean something only after all examples."""
    return settings.get_current_profile_name() == FULL


def is_for_save(path: Path) -> bool:
    """Tell if ``-m save`` reads the file; it reads no others, which would take longer than it."""
    return _is_below(path, SAVE)


def is_for_another_day(item: pytest.Item) -> bool:
    """Return whether the test is wide and not in the share that this run has drawn."""
    seed, _, parts = os.environ.get(WIDE_SHARE, "").rpartition("/")
    if not parts or not is_wide(item):
        return False
    drawn = hashlib.sha256(f"{seed} {item.nodeid}".encode()).digest()
    return int.from_bytes(drawn[:4], "big") % int(parts) != 0


def is_wide(item: pytest.Item) -> bool:
    """Tell if a part of such tests says most of what they say together."""
    if any(map(item.get_closest_marker, TIERS)):
        return _is_below(item.path, WIDE)
    return getattr(getattr(item, "obj", None), "is_hypothesis_test", False)


@cache  # asked for each test of a file
def _is_below(path: Path, places: tuple[str, ...]) -> bool:
    return str(path.relative_to(Path(__file__).parent)).startswith(places)


def mark_tiers(items: Iterable[pytest.Item]) -> None:
    """Add the markers that follow from fixtures, and the groups of those that share something."""
    for item in items:
        fixtures = frozenset(getattr(item, "fixturenames", ()))
        for tier, names in TIERS.items():
            if fixtures & names and not item.get_closest_marker(tier):
                item.add_marker(tier)
        if is_for_save(item.path) and not any(map(item.get_closest_marker, TIERS)):
            item.add_marker("save")
        if is_wide(item):
            item.add_marker("wide")
        if item.get_closest_marker("xdist_group") is None and (group := _group(item, fixtures)):
            item.add_marker(pytest.mark.xdist_group(group))


def _group(item: pytest.Item, fixtures: frozenset[str]) -> str | None:
    """The tests that run in one process, one after the other (pytest-xdist).

    A shared cluster or session lives in one process. So that more than one process has work, each
    folder of tests is a group, and a process that gets two groups still starts one cluster.
    """
    module = item.path.stem
    shared = item.get_closest_marker("kafka")
    if "kafka" in fixtures or (shared and "own_kafka" not in fixtures and "many" not in fixtures):
        if item.get_closest_marker("default_kafka"):
            return "kafka-default"
        (name,) = shared.args if shared and shared.args else (item.nodeid.split("/")[1],)
        return f"kafka-{name}"
    if "many" in fixtures:
        return "many_listeners"
    if "own_kafka" in fixtures:
        return module
    if "browser" in fixtures:
        return "chromium"
    if "local_spark" in fixtures:
        return "spark"
    return module if item.get_closest_marker("spark") else None


def longest_first(items: Sequence[pytest.Item]) -> list[pytest.Item]:
    """Groups first, then what is slow, then the rest, each in the order of its files."""
    return sorted(items, key=_rank)


def left_out_sentence(left_out: Mapping[str, int]) -> str:
    """One line about what this run left out, and how to run it; empty where that is nothing."""
    counts = [f"{left_out[tier]} {tier}" for tier in TIERS if left_out.get(tier)]
    if wide := left_out.get("wide"):
        counts.append(f"{wide} wide")
    if files := left_out.get("files"):
        counts.append(f"{files} files that need {', '.join(missing_packages())}")
    if not counts:
        return ""
    tier = next(filter(left_out.get, (*TIERS, "wide")), "slow")
    how = f"`uv run --group test pytest -m {tier}` runs one tier"
    if missing_packages():
        how += ", `uv sync --all-groups` brings the packages"
    if browser := missing_browser():
        how += f"; {browser}"
    return f"Left out: {', '.join(counts)}. {how[0].upper()}{how[1:]}."


def slowest_files(reports: Iterable[pytest.TestReport]) -> list[str]:
    """A line for each of the ten files whose tests, and what they set up, took longest together."""
    seconds: Counter[str] = Counter()
    for report in reports:
        seconds[report.nodeid.partition("::")[0]] += report.duration
    return [f"{took:7.0f} s  {file}" for file, took in seconds.most_common(10)]


def slow_files() -> frozenset[str]:
    """The files of the default tier that have tests of more than two seconds, for a reason."""
    lines = SLOW_TESTS.read_text(encoding="utf-8").splitlines()
    return frozenset(f"tests/{line}" for line in lines if line.endswith(".py"))


def unlisted(reports: Iterable[pytest.TestReport]) -> list[str]:
    """A line for each test of more than two seconds whose file gives no reason for it."""
    listed = slow_files()
    return [
        f"{report.duration:7.1f} s  {report.nodeid}"
        for report in reports
        if report.when == "call"
        and report.duration > SLOW_S
        and report.nodeid.partition("::")[0] not in listed
    ]


def _rank(item: pytest.Item) -> int:
    group = item.get_closest_marker("xdist_group")
    name = str((group.args or group.kwargs.values())[0]) if group else ""
    if name in LONGEST:
        return LONGEST.index(name)
    if group:
        return len(LONGEST)
    return len(LONGEST) + (1 if item.get_closest_marker("slow") else 2)
