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
from kgitops.serve.server import KafkaServer, ServeOptions
from kgitops.workflow.commands.serving import open_served, with_brokers
from kgitops.workflow.loading import loaded
from kgitops.workflow.policies import load_policies
from kgitops.workflow.project.clusters import ChosenCluster, choose_cluster
from kgitops.workflow.project.selection import Selection, Workspace, open_workspace

IN_MEMORY = "embedded:"
FixtureScope = Literal["session", "package", "module", "class", "function"]


class ClusterControl:
    """Faults of a cluster, for tests."""

    def __init__(self, cluster: EmbeddedCluster) -> None:
        self._cluster = cluster

    def fence(self, *brokers: int) -> None:
        """Let exactly these brokers be dead to clients; none ends that."""
        self._cluster.fence(*brokers)

    def release(self) -> None:
        """End all faults."""
        self._cluster.fence()
        self._cluster.release()


class ClusterForTests:
    """A cluster that runs while the ``with`` block of :func:`cluster` lasts."""

    def __init__(self, embedded: EmbeddedCluster, server: KafkaServer) -> None:
        self.control = ClusterControl(embedded)
        """Faults: fenced brokers."""
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
        configs: what brokers have in their ``server.properties``.
        url: ``embedded:`` in memory or ``embedded:FILE``, with options such as
            ``embedded:?compat=kraft&authorizer=acls``.
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
        with serving(embedded, ServeOptions(port=0)) as server:
            yield ClusterForTests(embedded, server)


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
