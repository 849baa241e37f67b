"""KIP-1134's virtual-clusters.sh, word for word, and what kgitops adds to it."""

import json
import shlex
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from cli.conftest import Kgitops, Ran
from cli.projects import document, topic

from kgitops.cluster.connect import connect
from kgitops.cluster.embedded.adapter import EmbeddedCluster
from kgitops.cluster.embedded.client.admin import EmbeddedAdmin
from kgitops.model.cluster_state import ClusterState
from kgitops.model.requests import AlterVirtualClusterRequest, Request
from kgitops.model.resources.virtual_clusters import ChangeType, EntityType

STORE = "embedded:vc.db"
LOWERED = "embedded:vc.db?virtual.clusters=lowered"
Vc = Callable[[str], Ran]


@pytest.fixture(params=[STORE, LOWERED], ids=["native", "lowered"])
def url(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def vc(kgitops: Kgitops, url: str) -> Vc:
    """Runs ``kgitops vc`` with a line of words, on the cluster by Kafka's own flag."""
    return lambda words: kgitops("vc", *shlex.split(words), "--bootstrap-server", url)


def state_of(url: str) -> ClusterState:
    with closing(connect(url, base=Path())) as cluster:
        return cluster.read_state()


def change(url: str, *requests: Request) -> None:
    with closing(connect(url, base=Path())) as cluster:
        for request in requests:
            (result,) = cluster.execute([request], validate_only=False, principal="User:other")
            assert result.ok, result


MEMBERS = (
    ("--user", "User:writer"),
    ("--user", "User:reader"),
    ("--client", "app"),
    ("--group", "readers"),
    ("--transactional-id", "tx"),
)
RULES = (
    ("--operation", "Write", "--topic", "orders", "--allow-principal", "User:writer"),
    ("--operation", "Write", "--transactional-id", "tx", "--allow-principal", "User:writer"),
    ("--operation", "Read", "--topic", "orders", "--allow-principal", "User:reader"),
    ("--operation", "Read", "--group", "readers", "--allow-principal", "User:reader"),
)


@pytest.mark.usefixtures("here")
def test_a_whole_life(kgitops: Kgitops) -> None:
    """VC-377: by the command line alone, but for its producer and its consumer.

    They resolve names, are authorized and commit, which is all that is modelled of them.
    """
    url = "embedded:life.db?authorizer=acls&superUsers=User:root"
    sales = ("--virtual-cluster", "sales")
    orders = {("orders", 0): 3}

    def run(*words: str, code: int = 0) -> Ran:
        ran = kgitops(*words, "--bootstrap-server", url, "--as", "User:root")
        assert ran.code == code, ran.said
        return ran

    def alter(*words: str) -> None:
        run("vc", "alter", *sales, *words)

    def happy(*, inside: bool) -> None:
        with closing(connect(url, base=Path())) as cluster:
            assert isinstance(cluster, EmbeddedCluster)
            producer = EmbeddedAdmin(cluster.controller, principal="User:writer", client_id="app")
            consumer = EmbeddedAdmin(cluster.controller, principal="User:reader")
            assert [topic.name for topic in producer.metadata()] == (["orders"] if inside else [])
            assert [topic.name for topic in consumer.metadata()] == (["orders"] if inside else [])
            written = producer.init_producer_id("tx")
            assert written.result.ok is inside
            committed = consumer.offset_commit("readers", orders)
            assert [result.ok for result in committed.values()] == [inside]
            fetched = consumer.offset_fetch("readers")
            assert fetched.offsets == (orders if inside else {})
            own = cluster.read_group_offsets(frozenset({"readers", "sales:readers"}))
            assert dict(own) == ({"sales:readers": {("shop.orders", 0): 3}} if inside else {})

    Path("topics.yaml").write_text(json.dumps(topic("shop.orders")))
    applied = kgitops("apply", "topics.yaml", "-c", url, "--as", "User:root", "--auto-approve")
    assert applied.code == 0, applied.said
    run("vc", "create", *sales)
    alter("--add", "--topic", "shop.orders", "--link", "orders")
    for member in MEMBERS:
        alter("--add", *member)
    happy(inside=False)
    for rule in RULES:
        run("acls", "--add", *sales, *rule)
    happy(inside=True)
    assert "still has" in run("vc", "delete", *sales, code=1).err
    for rule in RULES:
        run("acls", "--remove", *sales, *rule)
    alter("--remove", "--link", "orders")
    for member in MEMBERS:
        alter("--remove", *member)
    run("vc", "delete", *sales)
    state = state_of(url)
    assert (list(state.topics), state.virtual_clusters) == (["shop.orders"], {})


def test_a_command_is_journaled_and_owns_nothing(vc: Vc, url: str) -> None:
    """It is a run like any other, and a project may adopt afterwards what it made."""
    assert vc("create --virtual-cluster v").code == 0
    with closing(connect(url, base=Path())) as cluster:
        keys = [entry.key for entry in cluster.registry.read() or ()]
        state = cluster.read_state()
    assert [key for key in keys if key.startswith("run/")]
    assert [key for key in keys if key.startswith("lock/")]
    assert state.registry is not None
    assert state.registry.owners == {}


def test_what_was_unlinked_is_an_orphan_until_it_is_linked_again(
    here: Path, kgitops: Kgitops, vc: Vc, url: str
) -> None:
    """VC-032, VC-067, VC-068: it keeps its data and its physical name."""
    made = topic("Orders", deletionPolicy="Orphan")
    made["metadata"]["virtualCluster"] = "v"
    (here / "vc.yaml").write_text(
        "\n---\n".join(map(json.dumps, (document("VirtualCluster", "v"), made)))
    )
    assert kgitops("apply", "vc.yaml", "-c", url, "--auto-approve").code == 0
    assert "no orphans" in vc("orphans").err
    physical = state_of(url).virtual_clusters["v"].links["Orders"].topic
    change(
        url,
        AlterVirtualClusterRequest(
            virtual_cluster="v",
            change=ChangeType.REMOVE,
            entity_type=EntityType.TOPIC,
            entity_name="Orders",
        ),
    )
    assert vc("orphans").out == f"{physical}\n"
    again = vc(f"alter --virtual-cluster v --add --topic {physical} --link Found")
    assert again.code == 0, again.said
    assert vc("orphans").out == ""
