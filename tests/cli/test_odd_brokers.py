"""A plan of a cluster whose brokers answer what none of Kafka does: one sentence, and exit 8."""

import math
from collections.abc import Callable, Iterator

import pytest
from cli.conftest import Kgitops
from cli.projects import Project, acl, quota, topic
from cluster.kafka.lying_broker import lying_before
from cluster.kafka.read.test_odd_answers import moves

from kgitops.cli.main import main
from kgitops.testing import ClusterForTests
from kgitops.testing import cluster as served_cluster
from kgitops.wire.messages import NIL_UUID, Message


@pytest.fixture(scope="module")
def applied(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Project, ClusterForTests]]:
    """A project, and a served cluster that it is applied to over the wire."""
    project = Project(tmp_path_factory.mktemp("odd") / "payments")
    project.write(topic(partitions=1, replicationFactor=1), acl(), quota())
    with served_cluster(brokers=1) as cluster:
        url = f"kafka://{cluster.bootstrap_servers}"
        assert main(["apply", "--auto-approve", "-c", url, str(project.folder)]) == 0
        yield project, cluster


def setting(path: str, value: object) -> Callable[[Message], None]:
    """Set the field of each row."""
    *above, last = path.split(".")

    def change(message: Message) -> None:
        owners = [message]
        for name in above:
            owners = [part for owner in owners for part in getattr(owner, name)]
        for owner in owners:
            setattr(owner, last, value)

    return change


def still(message: Message) -> None:
    """Let a move have no replicas."""
    moves(message)
    setting("topics.partitions.replicas", [])(message)


_CONFIGS = "an answer to DescribeConfigs that no broker of Kafka gives"
"""The registry's configs and all others are decoded apart; the first one ends the plan."""
ODD = {
    "a host that is null": ("Metadata", setting("brokers.host", None), "brokers.host is null"),
    "a host that is empty": ("Metadata", setting("brokers.host", ""), "advertises no host:"),
    "a port below zero": ("Metadata", setting("brokers.port", -1), ":-1, which is no address"),
    "a cluster id that is null": ("Metadata", setting("cluster_id", None), "report no cluster id"),
    "no topics": ("Metadata", setting("topics", []), "it lacks "),
    "a topic without a name": ("Metadata", setting("topics.name", None), "topics.name is null"),
    "a topic id of zero": ("Metadata", setting("topics.topic_id", NIL_UUID), "topic_id is null"),
    "a topic without partitions": (
        "Metadata",
        setting("topics.partitions", []),
        "topics.partitions is empty",
    ),
    "no brokers": ("DescribeCluster", setting("brokers", []), "brokers is empty"),
    "an ACL without a principal": (
        "DescribeAcls",
        setting("resources.acls.principal", None),
        "resources.acls.principal is null",
    ),
    "an ACL without a host": (
        "DescribeAcls",
        setting("resources.acls.host", None),
        "resources.acls.host is null",
    ),
    "an ACL without a name": (
        "DescribeAcls",
        setting("resources.resource_name", None),
        "resources.resource_name is null",
    ),
    "a quota that is no number": (
        "DescribeClientQuotas",
        setting("entries.values.value", math.nan),
        "entries.values.value is nan",
    ),
    "a quota without end": (
        "DescribeClientQuotas",
        setting("entries.values.value", math.inf),
        "entries.values.value is inf",
    ),
    "no configs": ("DescribeConfigs", setting("results", []), _CONFIGS),
    "configs of an unknown type": (
        "DescribeConfigs",
        setting("results.resource_type", 99),
        "its resources are not those that were asked for",
    ),
    "a config without a name": (
        "DescribeConfigs",
        setting("results.configs.name", None),
        _CONFIGS,
    ),
    "no quorum": ("DescribeQuorum", setting("topics", []), "it lacks 1 of 1 topics"),
    "a quorum without partitions": (
        "DescribeQuorum",
        setting("topics.partitions", []),
        "topics.partitions is empty",
    ),
    "records of no partition": (
        "Fetch",
        setting("responses.partitions", []),
        "responses.partitions is empty",
    ),
    "a move without replicas": ("ListPartitionReassignments", still, "replicas is empty"),
}


@pytest.mark.parametrize(("api", "change", "problem"), ODD.values(), ids=ODD)
def test_an_odd_answer_is_one_sentence(
    api: str,
    change: Callable[[Message], None],
    problem: str,
    applied: tuple[Project, ClusterForTests],
    kgitops: Kgitops,
):
    project, cluster = applied
    with lying_before(cluster.bootstrap_servers, changes={api: change}) as fake:
        ran = kgitops("plan", "-c", f"kafka://{fake.server}", project.folder)
        asked = fake.seen.count(api)
    assert (ran.code, ran.out, len(ran.err.splitlines())) == (8, "", 1)
    assert ran.err.startswith("kgitops: ")
    assert problem in ran.err
    assert asked <= 4, "it would be as odd the next time"


def test_records_that_are_garbage_are_refused_at_once(
    applied: tuple[Project, ClusterForTests], kgitops: Kgitops
):
    """The registry can't be trusted, which is exit 5; it was asked for 40 s as if it were slow."""
    project, cluster = applied
    changes = {"Fetch": setting("responses.partitions.records", b"garbage")}
    with lying_before(cluster.bootstrap_servers, changes=changes) as fake:
        ran = kgitops("plan", "-c", f"kafka://{fake.server}", project.folder)
        assert fake.seen.count("Fetch") == 1
    assert (ran.code, "holds a damaged record" in ran.err) == (5, True)


def test_the_registry_ends_nowhere(applied: tuple[Project, ClusterForTests], kgitops: Kgitops):
    project, cluster = applied
    changes = {"ListOffsets": setting("topics.partitions.offset", -1)}
    with lying_before(cluster.bootstrap_servers, changes=changes) as fake:
        ran = kgitops("plan", "-c", f"kafka://{fake.server}", project.folder)
    assert (ran.code, "answers ListOffsets with the offset -1" in ran.err) == (8, True)
