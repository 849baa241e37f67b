"""``kgitops vc --bootstrap-server``: KIP-1134's requests to a served cluster, experimental."""

import re
import shlex
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from cli.conftest import Kgitops, Ran
from serve.raw_client import raw_client

from kgitops import testing
from kgitops.cluster.connect import by_brokers, connect
from kgitops.model.cluster_state import ClusterState, VirtualClusterSupport
from kgitops.serve.nodes import Endpoint
from kgitops.testing import ClusterForTests
from kgitops.wire import messages

TOPICS = """\
apiVersion: kgitops/v1
kind: Topic
metadata: {name: NAME}
spec: {partitions: 1, replicationFactor: 1}
"""
RUN = re.compile(r"Run [0-9]{8}T[0-9]{6}Z-[0-9a-f]{8}")
STORE = "embedded:twin.db"
CREATED = ("create --virtual-cluster a", "create --virtual-cluster b")
MEMBERS = (
    "alter --virtual-cluster a --add --topic shop.orders --link orders",
    "alter --virtual-cluster a --add --user jane",
    "alter --virtual-cluster a --add --client app",
    "alter --virtual-cluster a --add --group readers",
    "alter --virtual-cluster a --add --transactional-id tx",
)
SHOWN = (
    "list",
    "describe --all",
    "describe --virtual-cluster a --format json",
    "graph",
    "bindings",
    "orphans",
    "quota explain --user jane",
    "plan-migration --prefix shop. --virtual-cluster shop",
)


def give_topics(kgitops: Kgitops, url: str) -> None:
    """Two topics, which no virtual cluster has."""
    Path("topics.yaml").write_text(
        "---\n".join(TOPICS.replace("NAME", name) for name in ("shop.orders", "shop.items"))
    )
    ran = kgitops("apply", "topics.yaml", "-c", url, "--auto-approve")
    assert ran.code == 0, ran.said


@pytest.fixture
def served(here: Path) -> Iterator[ClusterForTests]:
    """A cluster with virtual clusters, on sockets of this process."""
    with testing.cluster(brokers=1) as cluster:
        yield cluster


def vc(kgitops: Kgitops, url: str, words: str) -> Ran:
    return kgitops("vc", *shlex.split(words), "--bootstrap-server", url)


def without_run(ran: Ran) -> Ran:
    """What a command said, without the id of its run."""
    return Ran(ran.code, RUN.sub("Run", ran.out), RUN.sub("Run", ran.err))


def native(url: str) -> ClusterState:
    """The state, read by KIP-1134's own requests."""
    with closing(connect(url, base=Path())) as connected:
        cluster = by_brokers(connected)
        assert cluster.capabilities.virtual_clusters is VirtualClusterSupport.NATIVE
        return cluster.read_state()


def test_each_command_says_what_it_says_of_a_store(
    kgitops: Kgitops, served: ClusterForTests
) -> None:
    """VC-230…237, VC-270…279: the same exit code and the same words, by either way."""
    give_topics(kgitops, served.url)
    give_topics(kgitops, f"{STORE}?brokers=1")
    removals = [words.replace("--add", "--remove") for words in MEMBERS]
    for words in (
        *CREATED,
        *CREATED,
        "create --virtual-cluster a --if-not-exists",
        *MEMBERS,
        *MEMBERS,
        "alter --virtual-cluster b --add --user jane",
        *SHOWN,
        "alter --virtual-cluster b --add --user jane --move",
        "describe --all",
        "delete --virtual-cluster a",
        "delete --virtual-cluster none",
        "describe --virtual-cluster none",
        "alter --virtual-cluster none --add --user jane",
        "alter --virtual-cluster a --add --topic none",
        *(words for words in removals if "jane" not in words),
        "alter --virtual-cluster b --remove --user jane",
        "delete --virtual-cluster a",
        "delete --virtual-cluster b",
        "list",
    ):
        by_wire = vc(kgitops, served.bootstrap_servers, words)
        in_store = vc(kgitops, STORE, words)
        assert without_run(by_wire) == without_run(in_store), words
    assert native(served.url).virtual_clusters == {}


def test_brokers_keep_them_and_not_the_registry(kgitops: Kgitops, served: ClusterForTests) -> None:
    """VC-230: nothing is lowered where brokers know virtual clusters."""
    for words in (CREATED[0], "alter --virtual-cluster a --add --user jane"):
        ran = vc(kgitops, served.bootstrap_servers, words)
        assert ran.code == 0, ran.said
    state = native(served.url)
    assert state.virtual_clusters["a"].users == {"User:jane"}
    assert state.registry is not None
    assert state.registry.virtual_clusters == {}


def test_what_the_requests_have_no_field_for_is_refused(
    kgitops: Kgitops, served: ClusterForTests
) -> None:
    """VC-233: ACLs of virtual clusters, and a group of another name, before anything changes."""
    server = served.bootstrap_servers
    assert vc(kgitops, server, CREATED[0]).code == 0
    adopted = vc(kgitops, server, "alter --virtual-cluster a --add --group g --adopt old")
    assert (adopted.code != 0, "leave out --adopt" in adopted.said) == (True, True), adopted.said
    exported = vc(kgitops, server, "export-acls --virtual-cluster a")
    assert (exported.code, "no ACLs of virtual clusters" in exported.err) == (1, True)
    rule = ("--allow-principal", "User:a", "--operation", "Read", "--topic", "x")
    scoped = ("--virtual-cluster", "a", "--bootstrap-server", server)
    added = kgitops("acls", "--add", *rule, *scoped)
    assert added.code != 0
    assert "no ACLs of virtual clusters" in added.said
    listed = kgitops("acls", "--list", *scoped)
    assert (listed.code, "no ACLs of virtual clusters" in listed.err) == (1, True)
    assert native(served.url).virtual_clusters["a"].empty


def test_two_clusters_are_refused(kgitops: Kgitops, served: ClusterForTests) -> None:
    """VC-278: --cluster and --bootstrap-server."""
    ran = kgitops("vc", "list", "-c", STORE, "--bootstrap-server", served.bootstrap_servers)
    assert (ran.code, "drop one of them" in ran.err) == (64, True)


def test_without_the_feature_the_registry_keeps_them(kgitops: Kgitops, here: Path) -> None:
    """VC-351: such brokers announce no such keys, as today's Kafka does not."""
    with testing.cluster(brokers=1, url="embedded:?virtual.clusters=0") as cluster:
        assert vc(kgitops, cluster.bootstrap_servers, CREATED[0]).code == 0
        assert vc(kgitops, cluster.bootstrap_servers, "list").out == "a\n"
        with closing(connect(cluster.url, base=here)) as connected:
            assert by_brokers(connected) is connected
            registry = connected.read_state().registry
        assert registry is not None
        assert registry.virtual_clusters


DECLARED = """\
apiVersion: kgitops/v1
kind: VirtualCluster
metadata: {name: declared}
spec: {}
"""


def test_those_of_the_registry_are_not_hidden(kgitops: Kgitops, served: ClusterForTests) -> None:
    """VC-326: an apply by kafka:// leaves them there; where brokers have others, it is told."""
    Path("declared.yaml").write_text(DECLARED)
    applied = kgitops("apply", "declared.yaml", "-c", served.url, "--auto-approve")
    assert applied.code == 0, applied.said
    assert vc(kgitops, served.bootstrap_servers, "list").out == "declared\n"
    request = messages.CreateVirtualClustersRequest
    host, _, port = served.bootstrap_servers.partition(",")[0].rpartition(":")
    with raw_client(Endpoint(host, int(port))) as client:
        rows = [request.CreatableVirtualCluster(name="brokers")]
        answer = client.ask("CreateVirtualClusters", 0, request(virtual_clusters=rows))
    assert [row.error_code for row in answer.virtual_clusters] == [0]
    refused = vc(kgitops, served.bootstrap_servers, "list")
    assert (refused.code, refused.out) == (5, "")
    assert "its registry has others" in refused.err


LOGIN = {
    "listeners": "SASL_PLAINTEXT://:0",
    "sasl.enabled.mechanisms": "PLAIN",
    "listener.name.sasl_plaintext.plain.sasl.jaas.config": (
        "org.apache.kafka.common.security.plain.PlainLoginModule required "
        'user_root="root-secret" user_jane="jane-secret";'
    ),
    "super.users": "User:root",
}


def test_login_and_rights(kgitops: Kgitops, here: Path) -> None:
    """VC-244: by the user that logs in with --command-config; one without rights is refused."""
    for user in ("root", "jane"):
        (here / f"{user}.properties").write_text(
            "security.protocol=SASL_PLAINTEXT\nsasl.mechanism=PLAIN\n"
            "sasl.jaas.config=org.apache.kafka.common.security.plain.PlainLoginModule required "
            f'username="{user}" password="{user}-secret";\n'
        )
    url = "embedded:?authorizer=acls&superUsers=User:root"
    with testing.cluster(brokers=1, url=url, configs=LOGIN) as cluster:
        server = cluster.bootstrap_servers
        made = vc(kgitops, server, f"{CREATED[0]} --command-config root.properties")
        assert made.code == 0, made.said
        assert vc(kgitops, server, "list --command-config root.properties").out == "a\n"
        rights = (
            "--cluster-resource --operation Describe --operation DescribeConfigs",
            "--topic '*' --operation Describe --operation DescribeConfigs --operation Read",
        )
        for right in rights:
            words = shlex.split(f"--add --allow-principal User:jane {right}")
            as_root = ("--bootstrap-server", server, "--command-config", "root.properties")
            granted = kgitops("acls", *words, *as_root)
            assert granted.code == 0, granted.said
        # Who may Describe the cluster may see what is in it.
        listed = vc(kgitops, server, "list --command-config jane.properties")
        assert (listed.code, listed.out) == (0, "a\n")
        refused = vc(kgitops, server, f"{CREATED[1]} --command-config jane.properties")
        assert refused.code == 8
        unchecked, stopped = refused.err.strip().splitlines()
        assert "CLUSTER_AUTHORIZATION_FAILED" in unchecked
        assert "User:jane write the registry; grant it Write on __kgitops, as docs/" in stopped
        assert vc(kgitops, server, "list --command-config root.properties").out == "a\n"
