"""Stores from before virtual clusters, stores that must not be opened without them."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from cluster.clusters import a_cluster, a_grant, a_new_topic, admin
from msgspec.structs import replace
from virtual_clusters.vc_requests import A, create, delete

from kgitops.cluster.connect import connect
from kgitops.cluster.embedded.adapter import EmbeddedCluster
from kgitops.cluster.embedded.boot import boot
from kgitops.cluster.embedded.options import Options
from kgitops.cluster.embedded.store.store import checksum
from kgitops.model.errors import SafetyError, UnreachableError, UsageError
from kgitops.model.requests import (
    AlterClientQuotaRequest,
    CreateAclRequest,
    DeleteAclRequest,
    Request,
)
from kgitops.model.resources.acls import Operation, ResourceType
from kgitops.model.verdict import ExitCode

SCOPED = replace(a_grant(Operation.READ), virtual_cluster=A)
ON_CLUSTER = a_grant(Operation.ALTER, ResourceType.CLUSTER, A)
CAP = (("virtual-cluster", A),)


def ask(cluster: EmbeddedCluster, request: Request) -> None:
    (result,) = cluster.execute([request], validate_only=False, principal="User:me")
    assert result.ok, result


def format_version(path: Path) -> int:
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute("PRAGMA user_version").fetchone()[0]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "local.db"


def test_a_store_without_virtual_clusters_can_be_read_by_an_older_kgitops(path: Path):
    """VC-004, VC-345."""
    with closing(a_cluster(path)) as cluster:
        assert admin(cluster).create_topics([a_new_topic("orders")])["orders"].ok
        ask(cluster, CreateAclRequest(binding=a_grant(Operation.READ)))
        entity = (("user", "a"),)
        ask(cluster, AlterClientQuotaRequest(entity=entity, quotas={"request_percentage": 1.0}))
    assert format_version(path) == 1
    with closing(sqlite3.connect(path)) as connection:
        rows = connection.execute("SELECT records FROM log").fetchall()
    assert "irtual" not in str(rows)


@pytest.mark.parametrize(
    "write",
    [
        lambda cluster: ask(cluster, create()),
        lambda cluster: ask(cluster, CreateAclRequest(binding=SCOPED)),
        lambda cluster: ask(cluster, CreateAclRequest(binding=ON_CLUSTER)),
        lambda cluster: ask(
            cluster, AlterClientQuotaRequest(entity=CAP, quotas={"request_percentage": 1.0})
        ),
        lambda cluster: cluster.commit("group", {}),
    ],
    ids=["virtual-cluster", "scoped-acl", "cluster-acl", "cap", "group"],
)
def test_what_an_older_kgitops_would_lose_it_does_not_open(path: Path, write):
    """Its snapshots would leave out what it does not know, and topics lose what keeps them."""
    with closing(a_cluster(path)) as cluster:
        write(cluster)
    assert format_version(path) == 2
    boot(path).close()


def test_a_snapshot_from_before_virtual_clusters_is_read(path: Path):
    with closing(a_cluster(path)) as cluster:
        assert admin(cluster).create_topics([a_new_topic("orders")])["orders"].ok
        image = cluster.controller.image()
        cluster.controller._store._append_snapshot(image, cluster.controller._position.offset)
    with closing(sqlite3.connect(path)) as connection:
        ((offset, text),) = connection.execute("SELECT log_offset, image FROM snapshot").fetchall()
        value = json.loads(text)
        for key in ("groups", "virtual_clusters", "transactions"):
            del value[key]
        old = json.dumps(value)
        connection.execute("UPDATE snapshot SET image = ?, crc = ?", (old, checksum(offset, old)))
        connection.execute("DELETE FROM log")
        connection.commit()
    with closing(boot(path)) as cluster:
        assert cluster.controller.image() == image


def test_a_record_that_nobody_knows_stops(path: Path):
    """VC-319: of a kind, or with a part, that a newer kgitops writes."""
    for record in (
        ["VirtualClusterTenantRecord", {"name": A}],
        ["VirtualClusterRecord", {"name": A, "parent": "emea"}],
        ["VirtualClusterEntityRecord", {"virtual_cluster": A, "entity_type": "token",
                                        "entity_name": "x", "remove": False, "adopts": None}],
    ):  # fmt: skip
        path.unlink(missing_ok=True)
        a_cluster(path).close()
        text = json.dumps([record])
        with closing(sqlite3.connect(path)) as connection:
            connection.execute("INSERT INTO log VALUES (1, 0, '', ?, ?)", (text, checksum(1, text)))
            connection.commit()
        with pytest.raises(UnreachableError, match="the log's batch 1"):
            boot(path)


WITHOUT = Options(virtual_clusters=False)


@pytest.mark.parametrize(
    ("make", "unmake", "said"),
    [
        (create(), delete(), f"has the virtual cluster {A}, so"),
        (CreateAclRequest(binding=SCOPED), DeleteAclRequest(binding=SCOPED), f"has vc/{A}/acl/"),
        (CreateAclRequest(binding=ON_CLUSTER), DeleteAclRequest(binding=ON_CLUSTER), "has acl/"),
        (
            AlterClientQuotaRequest(entity=CAP, quotas={"request_percentage": 1.0}),
            AlterClientQuotaRequest(entity=CAP, quotas={"request_percentage": None}),
            f"has quota/virtual-cluster={A}, so",
        ),
    ],
    ids=["virtual-cluster", "scoped-acl", "cluster-acl", "cap"],
)
def test_virtual_clusters_are_not_turned_off_while_there_are_any(
    path: Path, make: Request, unmake: Request, said: str
):
    """VC-351: nor are they forgotten; once they are gone it goes."""
    with closing(a_cluster(path)) as cluster:
        ask(cluster, make)
    with pytest.raises(SafetyError, match=said) as caught:
        boot(path, options=WITHOUT)
    assert caught.value.exit is ExitCode.REFUSED
    assert "leave virtual.clusters=0 out" in str(caught.value)
    with closing(a_cluster(path)) as cluster:
        ask(cluster, unmake)
    boot(path, options=WITHOUT).close()


def test_how_much_is_left_is_said_in_one_sentence(path: Path):
    with closing(a_cluster(path)) as cluster:
        for request in (create("a"), create("b"), CreateAclRequest(binding=SCOPED)):
            ask(cluster, request)
    with pytest.raises(SafetyError, match="has the virtual cluster a and 2 more, so"):
        boot(path, options=WITHOUT)


def test_the_feature_level_is_an_option_of_the_url(path: Path):
    """VC-351: on unless it is turned off; VC-350: it is no broker config."""
    for query, on in (("", True), ("?virtual.clusters=1", True), ("?virtual.clusters=0", False)):
        with closing(connect(f"embedded:{query}", base=path.parent)) as cluster:
            assert isinstance(cluster, EmbeddedCluster)
            assert cluster.controller.options.virtual_clusters is on
    with pytest.raises(UsageError, match=r"virtual.clusters must be 1 or 0 .*not '2'"):
        connect("embedded:?virtual.clusters=2", base=path.parent)
