"""What a clumsy user types of virtual clusters: one sentence, the right code, nothing changed.

Each line runs on a native and on a lowered cluster with the topics ``my-topic``,
``emea.sales.orders`` and ``apac.sales.orders``. The virtual cluster ``v`` has the user jane, the
client id app, the link t to my-topic and the group g, which took over g; ``w`` is empty.
"""

import re
import shlex
import sqlite3
from contextlib import closing
from functools import partial
from pathlib import Path

import pytest
from cli.conftest import Kgitops
from cli.projects import as_yaml, topic
from cluster_contract.contract import creation, send
from msgspec import Struct

from kgitops.cluster.connect import connect
from kgitops.model import requests as req
from kgitops.model.resources.virtual_clusters import EntityType

URLS = {
    "native": "embedded:vc.db?brokers=3",
    "lowered": "embedded:vc.db?brokers=3&virtual.clusters=lowered",
}
TOPICS = ("my-topic", "emea.sales.orders", "apac.sales.orders")
LONG = "a" * 250

MISTAKES = {
    # Names of virtual clusters.
    f"vc create --virtual-cluster {LONG}": (1, "the name has 250 characters, 249 are allowed"),
    "vc create --virtual-cluster '<default>'": (1, "contains '<', '>'; choose a name"),
    "vc create --virtual-cluster vërt": (1, "contains 'ë'; choose a name"),
    "vc create --virtual-cluster ..": (1, "can't be named '..'"),
    "vc create --virtual-cluster ''": (64, "an argument is empty"),
    "vc create --virtual-cluster v": (1, "pass --if-not-exists"),
    "vc create v": (64, "missing option '--virtual-cluster'"),
    "vc create --virtual-cluster x --timeout 0": (64, "it must be at least 1"),
    "vc create --virtual-cluster x --as nobody": (64, "write Type:name"),
    "vc delete --virtual-cluster v": (1, "is not empty: it still has link t, group g, user"),
    "vc altr": (64, "did you mean alter?"),
    "vc create": (64, "--virtual-cluster"),
    "vc create --virtual-cluster kafka-cluster": (1, "physical cluster itself"),
    "vc create --virtual-cluster a:b": (1, "':'"),
    "vc create --virtual-cluser v": (64, "did you mean"),
    "vc delete --virtual-cluster nope": (1, "no virtual cluster nope"),
    "vc delete --virtual-cluster kafka-cluster": (1, "physical cluster itself"),
    # What is changed.
    "vc alter --virtual-cluster v --user a": (64, "--add or --remove"),
    "vc alter --virtual-cluster v --add --remove --user a": (64, "--add or --remove"),
    "vc alter --virtual-cluster v --add": (64, "exactly one"),
    "vc alter --virtual-cluster v --add --user a --client b": (64, "exactly one"),
    "vc alter --virtual-cluster v --add --user a --topic b": (64, "exactly one"),
    "vc alter --virtual-cluster v --remove --user a --move": (64, "--add"),
    "vc alter --virtual-cluster v --add --group a --copy-acls-from x": (64, "user"),
    "vc alter --virtual-cluster v --add --user a --adopt g": (64, "--group"),
    "vc alter --virtual-cluster v --add --link l": (64, "--topic"),
    "vc alter --virtual-cluster nope --add --user a": (1, "no virtual cluster nope"),
    "vc alter --virtual-cluster v --add --user 'User:*'": (1, "User:*"),
    "vc alter --virtual-cluster v --remove --topic x --link nope": (1, "no link nope"),
    # What is said twice, or of two.
    "vc alter --virtual-cluster w --add --user a --user b": (64, "--user is given twice"),
    "vc alter --virtual-cluster v --virtual-cluster w --add --user a": (64, "is given twice"),
    "acls --add --allow-principal User:a --topic t --virtual-cluster v --virtual-cluster w": (
        64,
        "--virtual-cluster is given twice; drop one",
    ),
    "vc quota explain --user a --user b": (64, "--user is given twice"),
    # Links.
    "vc alter --virtual-cluster v --add --topic emea.sales.orders --link t": (
        1,
        "the link t of v leads to my-topic already; choose another name, or remove it first",
    ),
    "vc alter --virtual-cluster v --add --topic my-topic --link 'a b'": (1, "--link: the topic"),
    "vc alter --virtual-cluster v --add --topic my-topic --link ..": (1, "can't be named '..'"),
    f"vc alter --virtual-cluster v --add --topic my-topic --link {LONG}": (1, "has 250 characters"),
    "vc alter --virtual-cluster v --add --topic nope": (1, "there is no topic nope; --topic takes"),
    "vc alter --virtual-cluster v --add --topic __consumer_offsets": (1, "is internal and can't"),
    "vc alter --virtual-cluster v --add --topic my-topic --link x --move": (64, "drop --move"),
    "vc alter --virtual-cluster v --remove --topic emea.sales.orders --link t": (
        1,
        "leads to my-topic, not to emea.sales.orders; correct --topic",
    ),
    # Groups and transactional ids.
    "vc alter --virtual-cluster v --add --group g --adopt h": (1, "did not take over h; remove it"),
    "vc alter --virtual-cluster w --add --group h --adopt g": (1, "taken over by v/g already"),
    "vc alter --virtual-cluster w --add --group h --adopt w:h": (1, "is the group h of w itself"),
    "vc alter --virtual-cluster w --add --transactional-id t --move": (64, "drop --move"),
    # Users and client ids.
    "vc alter --virtual-cluster w --add --user User:": (64, "--user 'User:' is not a principal"),
    "vc alter --virtual-cluster w --add --user :x": (64, "--user ':x' is not a principal"),
    "vc alter --virtual-cluster w --add --user ANONYMOUS": (1, "is not a single user"),
    "vc alter --virtual-cluster w --add --user jane": (
        1,
        "is in the virtual cluster v; add --m",
    ),
    "vc alter --virtual-cluster w --add --client app": (
        1,
        "is in the virtual cluster v; add --m",
    ),
    "vc alter --virtual-cluster w --add --client ''": (64, "an argument is empty"),
    "vc alter --virtual-cluster w --add --user bob --copy-acls-from nope": (
        1,
        "there is no virtual cluster nope; kgitops vc list shows",
    ),
    "vc alter --virtual-cluster v --add --user jane --remove-old-acls-from nope": (
        1,
        "there is no virtual cluster nope",
    ),
    "vc alter --virtual-cluster w --add --user bob --copy-acls-from w": (64, "name where the ACLs"),
    "vc alter --virtual-cluster w --add --user bob --remove-old-acls-from kafka-cluster": (
        1,
        "is not in the virtual cluster w, so its old ACLs stay",
    ),
    # What only looks.
    "vc quota explain --user 'User:*'": (64, "is not a user; name one"),
    "vc quota explain --user :x": (64, "is not a user; name one"),
    "vc quota explain --user a --virtual-cluster nope": (1, "there is no virtual cluster nope"),
    "vc quota explan": (64, "did you mean explain?"),
    "vc bindings --user :x": (64, "is not a principal; write Type:name"),
    "vc describe": (64, "--all"),
    "vc describe --all --virtual-cluster v": (64, "--all"),
    "vc describe --virtual-cluster nope": (1, "no virtual cluster nope"),
    "vc list -c embedded:other.db --bootstrap-server localhost:1": (64, "--bootstrap-server"),
    "vc quota explain": (64, "--user"),
    "vc plan-migration --prefix nope.": (64, "nope."),
    "vc graph --format png": (64, "is not one of 'mermaid', 'svg', 'html'"),
    "vc graph -o nowhere/x.svg": (64, "there is no folder nowhere"),
    "vc export-acls --virtual-cluster nope": (1, "there is no virtual cluster nope"),
    "vc export-acls --virtual-cluster v -o topics.yaml": (64, "not a directory; name a new folder"),
    "vc list extra": (64, "this is too much: extra; drop it"),
    "vc plan-migration --prefix ...": (64, "give another name with --virtual-cluster"),
    "vc plan-migration --prefix emea. --prefix apac.": (64, "several prefixes need --virtual-clus"),
    "vc plan-migration --prefix emea.sales. --virtual-cluster a:b": (64, "contains ':'; give anot"),
    # ACLs.
    "acls --topic t": (64, "one of --add, --remove and --list"),
    "acls --add --list --topic t": (64, "one of --add"),
    "acls --add --topic t": (64, "--allow-principal"),
    "acls --add --allow-principal User:a --topic t --operation Fly": (64, "Fly"),
    "acls --add --allow-principal User:a --topic t --operation ClusterAction": (
        64,
        "not an operation",
    ),
    "acls --add --allow-principal User:a --topic t --resource-pattern-type any": (
        64,
        "finds ACLs",
    ),
    "acls --add --allow-principal User:a --consumer --topic t": (64, "--group"),
    "acls --add --allow-principal User:a --idempotent --topic t": (64, "--producer"),
    "acls --add --allow-principal User:a --topic t --virtual-cluster-pattern-type literal": (
        64,
        "--virtual-cluster",
    ),
    "acls --list --virtual-cluser a": (64, "did you mean"),
    "acls --add --allow-principal User:a": (64, "give --topic, --group, --cluster-resource, "),
    "acls --add --allow-principal a --topic t": (64, "'a' is not a principal; write Type:name"),
    "acls --add --allow-principal User:a --topic t --virtual-cluster nope": (
        1,
        "there is no virtual cluster nope; kgitops vc list",
    ),
    "acls --add --allow-principal User:a --topic t --virtual-cluster '*'"
    " --virtual-cluster-pattern-type prefixed": (64, "is not a prefix of a name; write"),
    "acls --add --allow-principal User:a --topic t --virtual-cluster kafka-cluster"
    " --virtual-cluster-pattern-type prefixed": (64, "kafka-cluster is not a prefix"),
    "acls --add --allow-principal User:a --cluster-resource --operation Alter"
    " --virtual-cluster a:b": (64, "contains ':'; correct --virtual-cluster"),
    "acls --add --allow-principal User:a --cluster-resource --operation IdempotentWrite"
    " --virtual-cluster v": (64, "IdempotentWrite is not an operation on a cluster"),
    "acls --add --allow-principal User:a --producer --idempotent --topic t --virtual-cluster v": (
        64,
        "--idempotent is a right on the physical cluster; drop it",
    ),
    "acls --add --allow-principal User:a --topic t --deny-host h": (64, "needs --deny-principal"),
    "acls --add --deny-principal User:a --topic t --allow-host h": (64, "needs --allow-principal"),
    "acls --list --operation Read": (64, "--operation belongs to --add and --remove; drop it"),
    "acls --list --allow-principal User:a": (64, "; write --principal"),
    "acls --list --principal a": (64, "'a' is not a principal"),
    "acls --list --dry-run": (64, "--dry-run belongs to --add and --remove"),
    "acls --remove": (64, "--remove needs a resource; give --topic"),
    "acls --remove --topic t --operation Read": (64, "--remove needs --allow-principal or"),
    "acls --remove --topic t --deny-host h": (64, "--remove needs --allow-principal or"),
    "acls --cluster --add --allow-principal User:a": (64, "an ACL is --cluster-resource"),
    # Where the cluster is.
    "vc list --bootstrap-server localhost": (64, "names no broker; write HOST:PORT"),
    "vc list --bootstrap-server SASL_SSL://b:9092": (64, "names no broker; write HOST:PORT"),
    "vc list --bootstrap-server localhost:99999": (64, "99999 is not a port"),
    "vc list --bootstrap-server localhost:1": (8, "localhost:1 can't be reached"),
    "vc create --virtual-cluster x --bootstrap-server localhost:1": (8, "can't be reached"),
    "acls --list --bootstrap-server [::1]:1": (8, "can't be reached"),
    "vc list --command-config nowhere.properties": (64, "can't be read: no such file"),
    "vc list --command-config garbled.properties": (
        64,
        "garbled.properties:3: the line is not a pro",
    ),
    "vc list --command-config binary.properties": (
        64,
        "can't be read: it is not text; name a file",
    ),
    "vc create --virtual-cluster x -c embedded:none.db?virtual.clusters=0": (
        1,
        "this cluster has no virtual clusters; name another one with -c",
    ),
}


class World(Struct, frozen=True):
    """A folder to be in, and its cluster."""

    folder: Path
    url: str

    def content(self) -> list[object]:
        """Everything that is on the cluster."""
        with closing(sqlite3.connect(self.folder / "vc.db")) as store:
            tables = ("SELECT log_offset, records FROM log", "SELECT key, value FROM registry")
            return [row for table in tables for row in store.execute(table)]


@pytest.fixture(scope="module", params=URLS)
def world(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> World:
    here = tmp_path_factory.mktemp("world")
    (here / "topics.yaml").write_text(as_yaml(map(topic, TOPICS)))
    (here / "garbled.properties").write_text("client.id=\\\n  x\nnothing to see\n")
    (here / "binary.properties").write_bytes(b"\xff\xfe\x00")

    v = partial(req.AlterVirtualClusterRequest, virtual_cluster="v")
    requests: list[req.Request] = [
        *map(creation, TOPICS),
        req.CreateVirtualClusterRequest(virtual_cluster="v"),
        req.CreateVirtualClusterRequest(virtual_cluster="w"),
        v(entity_type=EntityType.USER, entity_name="User:jane"),
        v(entity_type=EntityType.CLIENT_ID, entity_name="app"),
        v(entity_type=EntityType.TOPIC, entity_name="t", topic="my-topic"),
        v(entity_type=EntityType.GROUP, entity_name="g", adopts="g"),
    ]
    url = URLS[request.param]
    with closing(connect(url, base=here)) as cluster:
        for request in requests:
            assert (result := send(cluster, request)).ok, result
    return World(here, url)


@pytest.mark.parametrize("line", MISTAKES)
def test_a_mistake_is_said_in_one_sentence_and_nothing_happens(
    line: str, world: World, kgitops: Kgitops, monkeypatch: pytest.MonkeyPatch
) -> None:
    """VC-007, VC-046, VC-080, VC-083, VC-104, VC-107, VC-115, VC-246, VC-272, VC-278: 64 usage,
    1 what can't be, 8 unreachable."""
    monkeypatch.chdir(world.folder)
    before = world.content()
    words = shlex.split(line)
    code, said = MISTAKES[line]
    reached = {"-c", "--cluster", "--bootstrap-server", "altr", "explan"} & set(words)
    ran = kgitops(*words, *([] if reached else ["-c", world.url]))
    assert (ran.code, said in ran.err) == (code, True), ran.said
    assert ran.err.startswith("kgitops: ")
    assert ran.err.count("\n") == 1
    assert re.search("; | must be |^kgitops: (vc describe needs|(name|give|say) )", ran.err), (
        "what to do"
    )
    assert world.content() == before
