"""A Kafka for the tests of other projects: an embedded cluster behind sockets, in this process.

In two lines of a ``conftest.py``, for every test that takes ``kafka``::

    from kgitops.testing import cluster_fixture
    kafka = cluster_fixture("path/of/a/project")

and as a context manager::

    with cluster(brokers=1) as kafka:
        producer = Producer({"bootstrap.servers": kafka.bootstrap_servers})
"""

import dataclasses
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

from kgitops.cluster.embedded.adapter import EmbeddedCluster
from kgitops.library import OpenProject
from kgitops.model.errors import KgitopsError
from kgitops.policy.evaluate.bundle import Bundle
from kgitops.serve.background import serving
from kgitops.serve.control import ControlCommand, perform
from kgitops.serve.forwarding.options import ForwardingOptions
from kgitops.serve.listening.settings import LOOPBACK
from kgitops.serve.server import KafkaServer, ServeOptions
from kgitops.workflow.commands.serving import open_served, with_brokers
from kgitops.workflow.loading import loaded
from kgitops.workflow.policies import load_policies
from kgitops.workflow.project.clusters import ChosenCluster, choose_cluster
from kgitops.workflow.project.selection import Selection, Workspace, open_workspace

IN_MEMORY = "embedded:"
FixtureScope = Literal["session", "package", "module", "class", "function"]


class ClusterControl:
    """Faults of a cluster, for tests; a broker is named by its id, and without one all are meant.

    Every method raises a UsageError where there is no such node.
    """

    def __init__(self, server: KafkaServer) -> None:
        self._server = server

    def fence(self, broker: int | None = None) -> None:
        """Let a broker be dead to clients: it leaves the metadata, and the in-sync replicas."""
        self._do("fence", broker=broker)

    def unfence(self, broker: int | None = None) -> None:
        """Let a broker be alive again."""
        self._do("unfence", broker=broker)

    def lag(self, seconds: float, broker: int | None = None) -> None:
        """Let a broker see changes so much later than the controller; 0 ends that."""
        self._do("lag", broker=broker, ms=round(seconds * 1000))

    def hold(self, broker: int | None = None) -> None:
        """Let a broker see no changes any more."""
        self._do("hold", broker=broker)

    def release(self, broker: int | None = None) -> None:
        """Let a broker see what it missed while it was held."""
        self._do("release", broker=broker)

    def move_controller(self, controller: int | None = None) -> None:
        """Make another controller the active one; None leaves the cluster without any."""
        self._do("move-controller", controller=controller)

    def stop(self, node: int) -> None:
        """Close the listener and the connections of a broker or a controller, as if it died."""
        self._do("stop", node=node)

    def start(self, node: int) -> None:
        """Start a stopped node again, at its address."""
        self._do("start", node=node)

    def drop_connections(self, node: int) -> None:
        """Close the connections that a node has; clients connect again."""
        self._do("drop-connections", node=node)

    def _do(self, command: str, **options: int | None) -> None:
        given = {name: value for name, value in options.items() if value is not None}
        self._server.run(perform(self._server, ControlCommand(do=command, **given)))


class ClusterForTests:
    """A cluster that runs while the ``with`` block of :func:`cluster` lasts."""

    def __init__(self, server: KafkaServer) -> None:
        self.control = ClusterControl(server)
        """Faults: brokers that are dead, late or held, controllers that move."""
        self.url = server.url
        """For ``kgitops -c`` and :func:`kgitops.open`."""
        self.bootstrap_servers = ",".join(map(str, server.endpoints))
        """``HOST:PORT,…``, for any client."""


@contextmanager
def cluster(
    project: str | Path | None = None,
    *,
    apply: bool = False,
    brokers: int | None = None,
    controllers: int = 1,
    configs: Mapping[str, str] | None = None,
    url: str = IN_MEMORY,
    variables_of: str | None = None,
    environ: Mapping[str, str] | None = None,
) -> Iterator[ClusterForTests]:
    """Start a cluster on free ports of this machine, within a ``with`` block.

    Args:
        project: the folder of a project whose policies judge what clients ask for.
        apply: apply the project first: its topics, ACLs and quotas are there.
        brokers: how many; three by default.
        controllers: how many; one of them is active.
        configs: what brokers have in their ``server.properties``.
        url: ``embedded:`` in memory or ``embedded:FILE``, with options such as
            ``embedded:?authorizer=acls``. It answers as today's Kafka unless it says
            ``compat=seed``.
        variables_of: the cluster of the project whose variables the manifests take.
        environ: the environment for ``${env:NAME}``; else the process's.

    Raises:
        FindingsError: the project or its policies have errors: ``.findings`` has them all.
        UsageError: the project does not exist, or the URL is not one of an embedded cluster.
        KgitopsError: the cluster can't be started, or the project can't be applied.
    """
    given = dict(os.environ if environ is None else environ)
    if project is None:
        workspace, policies = None, Bundle()
        chosen = choose_cluster(url, None, None, given)
    else:
        workspace = open_workspace(
            Selection(paths=(Path(project),), cluster=url, variables_of=variables_of, environ=given)
        )
        policies, chosen = load_policies(workspace), workspace.cluster
    with open_served(_with(chosen, brokers, configs or {}), policies) as embedded:
        if apply and workspace is not None:
            _apply(workspace, embedded)
        options = ServeOptions(
            host=LOOPBACK,
            port=0,
            folder=chosen.base,
            forwarding=ForwardingOptions(controllers=controllers, internal_topics=True),
        )
        with serving(embedded, options) as server:
            yield ClusterForTests(server)


def cluster_fixture(
    project: str | Path | None = None,
    *,
    scope: FixtureScope = "session",
    **options: Any,  # noqa: ANN401 (those of cluster)
) -> Any:  # noqa: ANN401 (a type of pytest's own)
    """A pytest fixture that is the cluster of :func:`cluster`, by the name it is given.

    Args:
        project: as for :func:`cluster`, which takes the ``options`` too.
        scope: how long one cluster lasts, in pytest's words.
        options: see :func:`cluster`.
    """
    import pytest  # noqa: PLC0415 (only tests have it)

    @pytest.fixture(scope=scope)
    def running() -> Iterator[ClusterForTests]:
        with cluster(project, **options) as started:
            yield started

    return running


def _with(chosen: ChosenCluster, brokers: int | None, configs: Mapping[str, str]) -> ChosenCluster:
    counted = with_brokers(chosen, brokers)
    return dataclasses.replace(counted, configs={**counted.configs, **configs})


def _apply(workspace: Workspace, embedded: EmbeddedCluster) -> None:
    with loaded(workspace) as declared:
        opened = OpenProject(workspace, declared, embedded)
        result = opened.apply(opened.plan())
    if result.verdict.stops:
        sentences = "; ".join(reason.sentence for reason in result.verdict.reasons)
        raise KgitopsError(f"the project could not be applied: {sentences}")
