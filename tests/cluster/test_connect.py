"""Cluster URLs: what they mean, what they can't, and the brokers of an embedded cluster."""

import re
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from kgitops.cluster.connect import connect
from kgitops.cluster.embedded.adapter import EmbeddedCluster
from kgitops.cluster.embedded.options import AuthorizerKind, Compat
from kgitops.model.cluster_state import Broker
from kgitops.model.errors import UnreachableError, UsageError
from kgitops.model.verdict import ExitCode


def opened(url: str, base: Path, **arguments) -> EmbeddedCluster:
    cluster = connect(url, base=base, **arguments)
    assert isinstance(cluster, EmbeddedCluster)
    return cluster


def brokers_of(url: str, base: Path, **arguments) -> list[tuple[int, str | None]]:
    with closing(opened(url, base, **arguments)) as cluster:
        return [(broker.id, broker.rack) for broker in cluster.read_state().brokers]


def test_a_file_is_relative_to_the_base_and_its_folders_are_made(tmp_path: Path):
    connect("embedded:.kgitops/local.db", base=tmp_path).close()
    assert [path.name for path in (tmp_path / ".kgitops").iterdir()] == ["local.db"]


def test_an_absolute_file_stays_where_it_is(tmp_path: Path):
    connect(f"embedded:{tmp_path}/there.db", base=Path("/nowhere")).close()
    assert (tmp_path / "there.db").is_file()


def test_a_new_cluster_has_three_brokers_a_controller_and_an_id(tmp_path: Path):
    state = connect("embedded:local.db", base=tmp_path).read_state()
    assert state.brokers == (Broker(id=1), Broker(id=2), Broker(id=3))
    assert (state.backend, state.controller_id) == ("embedded", 1)
    assert re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9_-]{21}", state.cluster_id)
    assert (state.topics, state.acls, state.quotas, state.registry) == ({}, set(), {}, None)


def test_each_cluster_has_its_own_id_and_keeps_it(tmp_path: Path):
    ids = [
        connect(f"embedded:{name}", base=tmp_path).read_state().cluster_id
        for name in ("a.db", "b.db", "a.db", "")
    ]
    assert ids[0] == ids[2]
    assert len(set(ids)) == 3


def test_a_cluster_in_memory_leaves_no_file(tmp_path: Path):
    assert brokers_of("embedded:", tmp_path) == [(1, None), (2, None), (3, None)]
    assert brokers_of("embedded:?brokers=1", tmp_path) == [(1, None)]
    assert list(tmp_path.iterdir()) == []


def test_options_in_the_url(tmp_path: Path):
    url = (
        "embedded:local.db?brokers=5&compat=kraft&vendorConfigs=true&authorizer=acls"
        "&superUsers=User:a;User:b&lockTimeoutMs=10"
    )
    cluster = opened(url, tmp_path)
    options = cluster.controller.options
    assert len(cluster.read_state().brokers) == 5
    assert (options.compat, options.authorizer) == (Compat.KRAFT, AuthorizerKind.ACLS)
    assert options.super_users == {"User:a", "User:b"}
    assert (options.vendor_configs, options.busy_timeout_ms) == (True, 10)


def test_without_options_the_seed_is_followed_and_nobody_is_refused(tmp_path: Path):
    options = opened("embedded:", tmp_path).controller.options
    assert (options.compat, options.authorizer) == (Compat.SEED, AuthorizerKind.NONE)
    assert (options.vendor_configs, options.busy_timeout_ms) == (False, 5_000)


@pytest.mark.parametrize(
    ("url", "says"),
    [
        ("kafka://b1", "write kafka://HOST:PORT,HOST:PORT"),
        ("kafka://", "write kafka://HOST:PORT,HOST:PORT"),
        ("kafka:b1:9092,", "write kafka://HOST:PORT,HOST:PORT"),
        ("kafka://b1:9092/topic", "write kafka://HOST:PORT,HOST:PORT"),
        ("kafka://b1:9092?acks=all", "write kafka://HOST:PORT,HOST:PORT"),
        ("kafka://::1:9092", "write kafka://HOST:PORT,HOST:PORT"),
        ("kafka://b1:0", "0 is not a port; ports go from 1 to 65535"),
        ("kafka://b1:9092,b2:99999", "99999 is not a port"),
        ("kafka://alice:secret@b1:9092", "a kafka:// URL holds no credentials"),
        ("http://example.com", "is not the URL of a cluster"),
        ("local.db", "is not the URL of a cluster"),
        ("", "is not the URL of a cluster"),
        ("embedded:a?brokers", "'brokers' is not understood"),
        ("embedded:a?broker=3", "'broker=3' is not understood"),
        ("embedded:a?brokers=3&brokers=4", "given twice"),
        ("embedded:a?brokers=0", "at least one broker"),
        ("embedded:a?brokers=-1", "brokers must be a whole number"),
        ("embedded:a?brokers=three", "brokers must be a whole number"),
        ("embedded:a?brokers=99999999", "brokers must be a whole number"),
        ("embedded:a?compat=zookeeper", "compat must be seed or kraft"),
        ("embedded:a?vendorConfigs=yes", "vendorConfigs must be false or true"),
        ("embedded:a?authorizer=acl", "authorizer must be none or acls or disabled"),
        ("embedded:a?lockTimeoutMs=1.5", "lockTimeoutMs must be a whole number"),
    ],
)
def test_urls_that_can_not_be_meant(tmp_path: Path, url: str, says: str):
    with pytest.raises(UsageError, match=re.escape(says)) as error:
        connect(url, base=tmp_path)
    assert error.value.exit is ExitCode.USAGE
    assert "\n" not in str(error.value)
    assert "alice:secret" not in str(error.value)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("server", ["127.0.0.1:1", "[::1]:1"])
def test_a_kafka_url_names_servers(tmp_path: Path, server: str):
    with pytest.raises(UnreachableError, match=re.escape(server)):
        connect(f"kafka://{server}", base=tmp_path)


def test_files_in_the_configs_are_relative_to_the_base(tmp_path: Path):
    configs = {"security.protocol": "ssl", "ssl.ca.location": "tls/ca.pem"}
    with pytest.raises(UsageError) as error:
        connect("kafka://127.0.0.1:1", configs=configs, base=tmp_path)
    assert str(error.value) == (
        f"ssl.ca.location: {tmp_path}/tls/ca.pem: no such file or directory; correct the path"
    )


def test_declared_brokers_have_their_ids_and_racks(tmp_path: Path):
    declared = [Broker(id=12, rack="b"), Broker(id=4)]
    assert brokers_of("embedded:local.db", tmp_path, brokers=declared) == [(4, None), (12, "b")]
    assert brokers_of("embedded:local.db", tmp_path) == [(4, None), (12, "b")]


def test_brokers_can_be_added_later(tmp_path: Path):
    url = "embedded:local.db"
    brokers_of(url, tmp_path, brokers=2)
    assert brokers_of(url, tmp_path, brokers=4) == [(n, None) for n in (1, 2, 3, 4)]
    racks = [Broker(id=n, rack="ab"[n % 2]) for n in range(1, 6)]
    expected = [(1, "b"), (2, "a"), (3, "b"), (4, "a"), (5, "b")]
    assert brokers_of(url, tmp_path, brokers=racks) == expected
    # A mere count says nothing about racks.
    assert brokers_of(url, tmp_path, brokers=5) == expected


def test_brokers_can_not_be_dropped(tmp_path: Path):
    url = "embedded:local.db"
    brokers_of(url, tmp_path, brokers=5)
    with pytest.raises(UsageError) as error:
        connect(url, base=tmp_path, brokers=3)
    assert str(error.value) == (
        f"the embedded cluster {tmp_path}/local.db has the brokers 1, 2, 3, 4, 5, but only "
        "1, 2, 3 are declared; a broker can't be dropped: declare 4, 5 too, or use another store"
    )
    assert len(brokers_of(url, tmp_path)) == 5


@pytest.mark.parametrize(
    ("declared", "says"),
    [
        ([], "at least one broker"),
        (0, "at least one broker"),
        ([Broker(id=1), Broker(id=1)], "broker id 1 is given twice"),
        ([Broker(id=-1)], "broker id -1 is negative"),
    ],
)
def test_brokers_that_can_not_be_meant(tmp_path: Path, declared, says: str):
    with pytest.raises(UsageError, match=says):
        connect("embedded:local.db", base=tmp_path, brokers=declared)
    assert list(tmp_path.iterdir()) == []


def test_a_count_in_the_url_must_agree_with_the_declaration(tmp_path: Path):
    racks = [Broker(id=1, rack="a"), Broker(id=2, rack="b")]
    url = "embedded:local.db?brokers=2"
    assert brokers_of(url, tmp_path, brokers=racks) == [(1, "a"), (2, "b")]
    with pytest.raises(UsageError, match=r"says brokers=2, but 3 are declared"):
        connect(url, base=tmp_path, brokers=3)


def test_opening_a_cluster_as_it_is_writes_nothing(tmp_path: Path):
    connect("embedded:local.db?brokers=4", base=tmp_path).close()
    before = (tmp_path / "local.db").read_bytes()
    connect("embedded:local.db?brokers=4", base=tmp_path).close()
    assert (tmp_path / "local.db").read_bytes() == before


def test_importing_connect_imports_no_adapter():
    code = "import sys, kgitops.cluster.connect; print({'sqlite3', 'kafka'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"


def test_reaching_a_kafka_imports_neither_another_codec_nor_librdkafka():
    """They take long to import; a small plan needs none of them."""
    code = (
        "import sys, kgitops.cluster.kafka.adapter; "
        "print({'kgitops.wire', 'kio', 'confluent_kafka', 'asyncio'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"
