"""Real Kafka clusters for tests.

``kafka`` is the session's three-broker cluster, ``kafka_cluster`` a connection to it with nothing
on it, ``own_kafka`` starts one to break, or with settings of its own. Tests that use one get the
marker ``kafka``; those that share a cluster run one after the other, in one process (tiers.py).
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Protocol

import pytest

from kgitops.cluster.port import Cluster
from kgitops.model.errors import KgitopsError
from kgitops.sandbox.jars import KAFKA, fetch_jars, libs_folder, pinned_jars
from kgitops.sandbox.sandbox import Sandbox, prepare_jvm, start


class StartKafka(Protocol):
    def __call__(self, **options: Any) -> Sandbox:  # noqa: ANN401 (of sandbox.start)
        """A started cluster."""
        ...


_END_KAFKA = pytest.StashKey[Callable[[], None]]()


@pytest.fixture(scope="session")
def kafka(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Sandbox]:
    """Three brokers, no racks, StandardAuthorizer, super user ANONYMOUS, no automatic topics."""
    end = partial(request._fixturedef.finish, request=request)  # type: ignore[attr-defined]
    request.config.stash[_END_KAFKA] = end
    with start(tmp_path_factory.mktemp("kafka"), brokers=3) as sandbox:
        yield sandbox


def end_kafka(item: pytest.Item, following: pytest.Item | None) -> None:
    """Stop it after the last test that asks for it: what idles takes time from all that follow.

    That is one of a group, and groups come first. Who asks for it later gets another one.
    """
    if following is None or following.get_closest_marker("xdist_group") is None:
        item.config.stash.get(_END_KAFKA, lambda: None)()


@pytest.fixture
def kafka_cluster(kafka: Sandbox) -> Iterator[Cluster]:
    """A connection to ``kafka`` as brokers know it: all run, and earlier tests left nothing."""
    for broker_id in set(kafka.broker_ids) - set(kafka.running):
        kafka.start_broker(broker_id)
    # A Kafka client: not for tests that need none.
    from kafka_wiping import wipe

    from kgitops.cluster.kafka.adapter import boot

    wipe(kafka)
    cluster = boot(kafka.servers, kafka.configs, Path())
    yield cluster
    cluster.close()


@pytest.fixture(scope="module")
def own_kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[StartKafka]:
    """Starts clusters of this module's own, which stop at its end."""
    started: list[Sandbox] = []

    def start_one(**options: Any) -> Sandbox:  # noqa: ANN401
        started.append(start(tmp_path_factory.mktemp("own-kafka"), **options))
        return started[-1]

    yield start_one
    for sandbox in started:
        sandbox.kill_all()


NEWER = "4.4.0"
RELEASES = (KAFKA, NEWER)
"""Releases of Kafka for tests of what differs between them; all else runs with the first."""


def libs_of(release: str) -> Path | None:
    """The folder of a release's jars for ``own_kafka(libs=…)``, downloaded once; None for KAFKA."""
    if release == KAFKA:
        return None
    jars = pinned_jars(Path(__file__).with_name(f"kafka-{release}.txt"))
    folder = libs_folder().with_name(f"kafka-{release}")
    return fetch_jars(jars, folder, f"Kafka {release} (56 MB, once)", lambda _: None)


def download_notice() -> str | None:
    """A line for machines that never ran Kafka."""
    if libs_folder().is_dir():
        return None
    return "Kafka: not on this machine yet; tests that need it wait until it is downloaded (56 MB)"


def download_kafka(config: pytest.Config, items: Sequence[pytest.Item]) -> None:
    """Before the first test, if one needs it: no test's time runs out because of a download."""
    needed = any(item.get_closest_marker("kafka") for item in items)
    if needed and not config.option.collectonly and not libs_folder().is_dir():
        with TemporaryDirectory() as home, suppress(KgitopsError):  # the tests will tell
            prepare_jvm(Path(home), (), lambda _: None)


def check_group(item: pytest.Item) -> None:
    """Fail where pytest-xdist ignores groups in silence, as it does with pytest 9.2.

    Tests that share a cluster would each get one of their own, or break each other's.
    """
    in_worker = hasattr(item.config, "workerinput")
    is_grouped = "@" in item.nodeid.rpartition("]")[2]
    if in_worker and item.get_closest_marker("xdist_group") and not is_grouped:
        pytest.fail(
            "this pytest-xdist can't group tests with this pytest (its issue 1386); install what "
            "pyproject.toml pins, or run with -n0",
            pytrace=False,
        )
