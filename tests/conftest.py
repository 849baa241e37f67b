"""What holds for every test."""

import asyncio
import gc
import inspect
import logging
import os
import re
import shutil
import signal
import tempfile
from collections import Counter
from collections.abc import Iterator
from functools import partial
from itertools import chain, count
from pathlib import Path

import leaks
import pytest
from fleet.spark_sessions import local_spark
from hypothesis import HealthCheck, settings
from hypothesis.internal.conjecture import providers
from installed import can_not_run, lacks_packages
from kafka_clusters import (
    check_group,
    download_kafka,
    download_notice,
    end_kafka,
    kafka,
    kafka_cluster,
    own_kafka,
)
from tiers import (
    FEW,
    FULL,
    QUICK,
    SHARE,
    TIERS,
    is_for_another_day,
    is_for_save,
    left_out_sentence,
    longest_first,
    mark_tiers,
    slowest_files,
    unlisted,
)

__all__ = ["kafka", "kafka_cluster", "local_spark", "own_kafka"]

# A shell lets what it starts in the background ignore interrupts, and all that tests start would.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# How long an example takes says how busy the machine is. What a test asks for comes on top of this.
settings.register_profile(FULL, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile(SHARE, settings.get_profile(FULL), max_examples=2 * FEW)
settings.register_profile(QUICK, settings.get_profile(FULL), max_examples=FEW)
settings.load_profile(QUICK)

_CI = ("CI", "GITHUB_RUN_ID", "CI_JOB_URL", "BUILD_URL", "CIRCLE_BUILD_URL", "BUILDKITE_BUILD_URL")
"""What tells kgitops that it runs in CI, where it waits for locks; so would tests of locks."""
_MEMORY = Path("/dev/shm")  # noqa: S108 (the folders in it are made for one user)
_ROOM = 8 << 30

_FOLDERS = count()
_LEFT_OUT = pytest.StashKey[Counter[str]]()


@pytest.fixture
def tmp_path(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """As pytest's, which looks through the folders of all tests for each new one."""
    name = re.sub(r"\W", "_", request.node.name)[:30]
    return tmp_path_factory.mktemp(f"{name}{next(_FOLDERS)}", numbered=False)


@pytest.fixture(autouse=True)
def _logging_is_as_before() -> Iterator[None]:
    """What ``--log-level`` sets up in a test ends with it: its stderr is closed in the next."""
    loggers = [logging.getLogger(name) for name in ("kgitops", "kafka")]
    before = [(logger, logger.level, [*logger.handlers]) for logger in loggers]
    yield
    for logger, level, handlers in before:
        logger.setLevel(level)
        logger.handlers[:] = handlers


def pytest_configure(config: pytest.Config) -> None:
    """Nothing is left out yet; the files of a folder come one after the other.

    pytest 9.1 gives a folder that it comes back to a second node, without the fixtures of its
    conftest.py, those that every test uses included (its issue 14635).
    """
    for name in _CI:
        os.environ.pop(name, None)
    config.args.sort()
    config.pluginmanager.register(leaks)
    config.stash[_LEFT_OUT] = Counter()
    use_memory(config)


def use_memory(config: pytest.Config) -> None:
    """Keep files of tests in memory where there is room: stores sync what they write to a disk."""
    if "TMPDIR" in os.environ or not _MEMORY.is_dir() or shutil.disk_usage(_MEMORY).free < _ROOM:
        return
    os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(_MEMORY))
    tempfile.tempdir = os.environ["TMPDIR"] = tempfile.mkdtemp(prefix="kgitops-", dir=_MEMORY)
    config.add_cleanup(partial(shutil.rmtree, tempfile.tempdir, ignore_errors=True))


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """All that is imported and collected stays: Python looks through none of it for garbage.

    It looks less often than by default, too; ``leaks`` looks where a test leaves something open.
    The options of this run, which its workers have by now, are not for a pytest that a test starts.
    """
    os.environ.pop("PYTEST_ADDOPTS", None)
    gc.disable()
    yield
    gc.enable()
    gc.freeze()
    gc.set_threshold(10_000, 10, 10)


def pytest_xdist_auto_num_workers() -> int:
    """One more than cores, since much waits, as far as brokers and Spark leave memory."""
    return max(3, min(4, (os.cpu_count() or 2) + 1))


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Files of tiers whose packages are not installed, and for ``-m save`` all but its own."""
    if collection_path.suffix != ".py" or not collection_path.name.startswith("test_"):
        return None
    if config.option.markexpr == "save" and not is_for_save(collection_path):
        return True
    if lacks_packages(collection_path):
        config.stash[_LEFT_OUT]["files"] += 1
        return True
    return None


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection_modifyitems(
    config: pytest.Config, items: list[pytest.Item]
) -> Iterator[None]:
    """Before pytest chooses by markers, and before pytest-xdist looks at the groups."""
    mark_tiers(items)
    collected = longest_first(items)
    lacking = [tier for tier in TIERS if can_not_run(tier)]
    blind = {item for item in collected if any(map(item.get_closest_marker, lacking))}
    others = {item for item in collected if item not in blind and is_for_another_day(item)}
    config.hook.pytest_deselected(items=[*blind, *others])
    items[:] = [item for item in collected if item not in blind and item not in others]
    yield
    chosen = {*items, *others}
    config.stash[_LEFT_OUT]["wide"] += len(others)
    for item in collected:
        if item not in chosen:
            config.stash[_LEFT_OUT].update(filter(item.get_closest_marker, TIERS))


def pytest_report_header(config: pytest.Config) -> str | None:
    """At the top of a run, which may wait a while then."""
    return download_notice()


def pytest_collection_finish(session: pytest.Session) -> None:
    """What tests need and no package brings; and from here on, a seed draws the same everywhere.

    Hypothesis also draws from the constants of all modules that are loaded when a test runs, which
    are others in each worker. So it keeps those of the modules that every worker has loaded now.
    """
    download_kafka(session.config, session.items)
    constants = providers._get_local_constants()
    providers._get_local_constants = lambda: constants


def pytest_sessionfinish(session: pytest.Session) -> None:
    """A worker tells what it left out: the process that writes to the terminal collects nothing."""
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["left_out"] = dict(session.config.stash[_LEFT_OUT])


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: object) -> None:
    """All workers collect the same."""
    config, output = node.config, getattr(node, "workeroutput", {})  # type: ignore[attr-defined]
    config.stash[_LEFT_OUT] = Counter(output.get("left_out", {}))


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    """After all else, where it is seen."""
    if config.option.durations:
        terminalreporter.write_sep("=", "slowest files")
        reports = chain.from_iterable(terminalreporter.stats.values())
        timed = [report for report in reports if isinstance(report, pytest.TestReport)]
        for line in slowest_files(timed):
            terminalreporter.write_line(line)
        if config.option.markexpr.startswith("default_kafka"):
            for line in unlisted(timed):
                terminalreporter.write_line(f"not in tests/slow_tests.txt: {line}")
    if sentence := left_out_sentence(config.stash[_LEFT_OUT]):
        terminalreporter.write_line(sentence)


def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Run an ``async def test_…`` to its end, in a loop of events of its own."""
    if not inspect.iscoroutinefunction(pyfuncitem.obj):
        return None
    names = inspect.signature(pyfuncitem.obj).parameters
    asyncio.run(pyfuncitem.obj(**{name: pyfuncitem.funcargs[name] for name in names}))
    return True


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Before what a test needs is made."""
    check_group(item)


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    """After what a test needed has ended."""
    end_kafka(item, nextitem)


def pytest_unconfigure() -> None:
    """The end of the session."""
    gc.unfreeze()
