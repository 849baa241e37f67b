"""KIP-1134's virtual-clusters.sh, word for word, and what kgitops adds to it."""

import json
import shlex
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from cli.conftest import Kgitops, Ran
from cli.projects import Project, document, topic

from kgitops.cluster.connect import connect
from kgitops.cluster.embedded.adapter import EmbeddedCluster
from kgitops.cluster.embedded.client.admin import EmbeddedAdmin
from kgitops.model.cluster_state import ClusterState
from kgitops.model.requests import AlterVirtualClusterRequest, CreateAclRequest, Request
from kgitops.model.resources.acls import (
    AclBinding,
    Operation,
    PatternType,
    PermissionType,
    ResourceType,
)
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


@pytest.fixture
def filled(here: Path, kgitops: Kgitops, url: str) -> None:
    """A cluster with two topics."""
    (here / "topics.yaml").write_text(
        "\n---\n".join(json.dumps(topic(name)) for name in ("my-topic", "emea.sales.orders"))
    )
    assert kgitops("apply", "topics.yaml", "-c", url, "--auto-approve").code == 0


def state_of(url: str) -> ClusterState:
    with closing(connect(url, base=Path())) as cluster:
        return cluster.read_state()


def change(url: str, *requests: Request) -> None:
    with closing(connect(url, base=Path())) as cluster:
        for request in requests:
            (result,) = cluster.execute([request], validate_only=False, principal="User:other")
            assert result.ok, result


def acl(operation: Operation, kind: ResourceType, name: str, prefixed: bool = False) -> AclBinding:
    return AclBinding(
        resource_type=kind,
        resource_name=name,
        pattern_type=PatternType.PREFIXED if prefixed else PatternType.LITERAL,
        principal="User:jane-doe",
        host="*",
        operation=operation,
        permission_type=PermissionType.ALLOW,
    )


def test_names_are_listed_one_a_line_and_in_order(vc: Vc) -> None:
    """VC-276: by bytes, in whatever order they were made."""
    for name in ("b", "a.b", "B", "a", "a-b"):
        assert vc(f"create --virtual-cluster {name}").code == 0
    assert vc("list").out == "B\na\na-b\na.b\nb\n"


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


@pytest.mark.usefixtures("filled")
def test_each_kind_of_member_is_added_and_removed_by_one_run(vc: Vc, url: str) -> None:
    """VC-272, VC-273: one addition or removal each; the link's name has a default."""
    assert vc("create --virtual-cluster v").code == 0
    for words, again in (
        ("--user jane", "--user User:jane"),
        ("--client etl", "--client etl"),
        ("--topic my-topic", "--link my-topic"),
        ("--group readers", "--group readers"),
        ("--transactional-id tx", "--transactional-id tx"),
    ):
        added = vc(f"alter --virtual-cluster v --add {words}")
        assert (added.code, "Applied: 1 done" in added.out) == (0, True), added.said
        twice = vc(f"alter --virtual-cluster v --add {words}")
        assert (twice.code, "already" in twice.out) == (0, True), twice.said
        assert not state_of(url).virtual_clusters["v"].empty
        removed = vc(f"alter --virtual-cluster v --remove {again}")
        assert (removed.code, "Applied: 1 done" in removed.out) == (0, True), removed.said
        assert state_of(url).virtual_clusters["v"].empty
        gone = vc(f"alter --virtual-cluster v --remove {again}")
        assert (gone.code, "has no" in gone.err) == (1, True), gone.said


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        ("create", 64, "--virtual-cluster"),
        ("create --virtual-cluster kafka-cluster", 1, "physical cluster itself"),
        ("create --virtual-cluster a:b", 1, "':'"),
        ("create --virtual-cluser v", 64, "did you mean"),
        ("alter --virtual-cluster v --user a", 64, "--add or --remove"),
        ("alter --virtual-cluster v --add --remove --user a", 64, "--add or --remove"),
        ("alter --virtual-cluster v --add", 64, "exactly one"),
        ("alter --virtual-cluster v --add --user a --client b", 64, "exactly one"),
        ("alter --virtual-cluster v --add --user a --topic b", 64, "exactly one"),
        ("alter --virtual-cluster v --remove --user a --move", 64, "--add"),
        ("alter --virtual-cluster v --add --group a --copy-acls-from x", 64, "user"),
        ("alter --virtual-cluster v --add --user a --adopt g", 64, "--group"),
        ("alter --virtual-cluster v --add --link l", 64, "--topic"),
        ("alter --virtual-cluster nope --add --user a", 1, "no virtual cluster nope"),
        ("alter --virtual-cluster v --add --topic nope", 1, "nope"),
        ("alter --virtual-cluster v --add --user 'User:*'", 1, "User:*"),
        ("alter --virtual-cluster v --remove --topic x --link nope", 1, "no link nope"),
        ("delete --virtual-cluster nope", 1, "no virtual cluster nope"),
        ("delete --virtual-cluster kafka-cluster", 1, "physical cluster itself"),
        ("describe", 64, "--all"),
        ("describe --all --virtual-cluster v", 64, "--all"),
        ("describe --virtual-cluster nope", 1, "no virtual cluster nope"),
        ("list -c embedded:other.db", 64, "--bootstrap-server"),
        ("quota explain", 64, "--user"),
        ("plan-migration --prefix nope.", 64, "nope."),
    ],
)
def test_wrong_words_are_told_once_and_change_nothing(
    words: str, code: int, said: str, vc: Vc, url: str
) -> None:
    """VC-104, VC-107, VC-246, VC-272, VC-278: 64 for usage, 1 for what can't be."""
    assert vc("create --virtual-cluster v").code == 0
    ran = vc(words)
    assert (ran.code, said in ran.err) == (code, True), ran.said
    assert len(ran.err.strip().split("\n")) == 1
    assert [found.empty for found in state_of(url).virtual_clusters.values()] == [True]


def test_creating_twice_fails_unless_that_is_fine(vc: Vc) -> None:
    """VC-046, VC-246, VC-271."""
    assert vc("create --virtual-cluster v").code == 0
    assert vc("create --virtual-cluster v").code == 1
    assert vc("create --virtual-cluster v --if-not-exists").code == 0


def test_a_dry_run_shows_the_plan_and_changes_nothing(vc: Vc, url: str) -> None:
    """VC-271."""
    ran = vc("create --virtual-cluster v --dry-run")
    assert (ran.code, "virtual cluster v" in ran.out) == (0, True)
    assert state_of(url).virtual_clusters == {}


@pytest.mark.usefixtures("filled")
def test_a_user_takes_its_acls_along_and_leaves_the_old_ones_later(vc: Vc, url: str) -> None:
    """VC-190, VC-191, VC-192, VC-194, VC-274: topics become links; the old ones go by choice."""
    reads = acl(Operation.READ, ResourceType.TOPIC, "my-", prefixed=True)
    other = acl(Operation.READ, ResourceType.TOPIC, "elsewhere")
    change(url, CreateAclRequest(binding=reads), CreateAclRequest(binding=other))
    vc("create --virtual-cluster v")
    vc("alter --virtual-cluster v --add --topic my-topic --link short")
    early = vc(
        "alter --virtual-cluster v --add --user jane-doe --remove-old-acls-from kafka-cluster"
    )
    assert (early.code, "is not in the virtual cluster" in early.err) == (1, True)
    assert state_of(url).virtual_clusters["v"].users == frozenset()
    copied = vc("alter --virtual-cluster v --add --user jane-doe --migrate-acls-from kafka-cluster")
    assert (copied.code, "deprecated" in copied.err) == (0, True), copied.said
    state = state_of(url)
    (scoped,) = [binding for binding in state.acls if binding.scoped]
    assert (scoped.virtual_cluster, scoped.resource_name, scoped.operation) == (
        "v",
        "short",
        Operation.READ,
    )
    assert {reads, other} <= state.acls
    removed = vc(
        "alter --virtual-cluster v --add --user jane-doe --remove-old-acls-from kafka-cluster"
    )
    assert removed.code == 0, removed.said
    assert state_of(url).acls & {reads, other, scoped} == {other, scoped}


def test_a_user_of_another_virtual_cluster_is_moved_only_when_told(vc: Vc, url: str) -> None:
    """VC-080, VC-086: at no time is it in none."""
    for words in ("create --virtual-cluster a", "create --virtual-cluster b",
                  "alter --virtual-cluster a --add --user jane"):  # fmt: skip
        assert vc(words).code == 0
    refused = vc("alter --virtual-cluster b --add --user jane")
    assert refused.code == 1
    assert " a" in refused.err
    moved = vc("alter --virtual-cluster b --add --user jane --move")
    assert moved.code == 0, moved.said
    found = state_of(url).virtual_clusters
    assert (found["a"].users, found["b"].users) == (frozenset(), frozenset({"User:jane"}))


@pytest.mark.usefixtures("filled")
def test_describe_shows_all_as_text_and_json(vc: Vc) -> None:
    """VC-277: every list sorted; an empty virtual cluster too."""
    for words in (
        "create --virtual-cluster b",
        "create --virtual-cluster a",
        "alter --virtual-cluster b --add --client z",
        "alter --virtual-cluster b --add --client y",
        "alter --virtual-cluster b --add --topic my-topic --link t",
        "alter --virtual-cluster b --add --group g",
        "alter --virtual-cluster b --add --transactional-id tx",
    ):
        assert vc(words).code == 0
    text = vc("describe --all").out
    assert text.index("a\n  links: none") < text.index("b\n  links:\n    t -> my-topic")
    assert "client ids:\n    y\n    z" in text
    first, second = map(json.loads, vc("describe --all --format json").out.splitlines())
    assert first == {
        "name": "a",
        "links": [],
        "users": [],
        "client_ids": [],
        "groups": [],
        "transactional_ids": [],
    }
    assert second == {
        "name": "b",
        "links": [{"link": "t", "topic": "my-topic"}],
        "users": [],
        "client_ids": ["y", "z"],
        "groups": [{"group": "g", "adopts": None}],
        "transactional_ids": ["tx"],
    }


@pytest.fixture
def managed(project: Project, kgitops: Kgitops, monkeypatch: pytest.MonkeyPatch) -> Project:
    """A project that manages a virtual cluster, and a policy that names who owns one."""
    monkeypatch.chdir(project.folder.parent)
    vc_document = document("VirtualCluster", "emea", members={"users": ["jane"]})
    link = document("TopicLink", "short", target={"physicalTopic": "orders"})
    link["metadata"]["virtualCluster"] = "emea"
    project.write(topic("orders"), vc_document, link)
    assert kgitops("apply", project.folder, "--auto-approve").code == 0
    monkeypatch.chdir(project.folder)
    return project


@pytest.mark.usefixtures("managed")
@pytest.mark.parametrize(
    "words",
    [
        "vc delete --virtual-cluster emea",
        "vc alter --virtual-cluster emea --remove --user jane",
        "vc alter --virtual-cluster emea --remove --link short",
        "vc alter --virtual-cluster emea --add --topic orders --link short",
    ],
)
def test_what_a_project_manages_is_refused_with_its_name(words: str, kgitops: Kgitops) -> None:
    """Exit 5: the manifests would bring it back, or remove it, with the next apply."""
    ran = kgitops(*shlex.split(words))
    assert ran.code == 5, ran.said
    assert "the project 'payments'" in ran.err


def test_a_policy_of_the_project_here_denies_a_command_too(
    managed: Project, kgitops: Kgitops
) -> None:
    """VC-408: a command is judged as any plan is, and exits 3."""
    policy = document(
        "Policy",
        "no-strangers",
        level="hard",
        match={"requests": ["CreateVirtualCluster"]},
        validations=[{"expression": "false", "message": "ask the platform team"}],
    )
    (managed.folder / "manifests" / "policy.yaml").write_text(json.dumps(policy))
    ran = kgitops("vc", "create", "--virtual-cluster", "mine")
    assert ran.code == 3, ran.said
    assert "ask the platform team" in ran.err
    assert kgitops("vc", "list").out == "emea\n"


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


@pytest.mark.usefixtures("filled")
def test_a_migration_away_from_a_prefix_is_written_and_applies(
    here: Path, kgitops: Kgitops, vc: Vc, url: str
) -> None:
    """VC-023, VC-069, VC-347: each topic by its full name and its short one, and nothing moves."""
    before = state_of(url).topics
    ran = vc("plan-migration --prefix emea.sales. -o migration --group etl")
    assert ran.code == 0, ran.said
    assert kgitops("apply", "migration", "-c", url, "--auto-approve").code == 0
    state = state_of(url)
    links = state.virtual_clusters["emea.sales"].links
    assert {link.name: link.topic for link in links.values()} == {
        "emea.sales.orders": "emea.sales.orders",
        "orders": "emea.sales.orders",
    }
    assert state.virtual_clusters["emea.sales"].groups == {"etl": "etl"}
    assert {name: before[name].topic_id for name in before} == {
        name: state.topics[name].topic_id for name in before
    }
    again = kgitops("plan", "migration", "-c", url, "--detailed-exitcode")
    assert again.code == 0, again.said


def test_short_names_that_collide_are_refused_with_both_topics(
    here: Path, kgitops: Kgitops, vc: Vc, url: str
) -> None:
    """VC-348."""
    names = ("a.orders", "a.b.orders", "a.b.other")
    (here / "topics.yaml").write_text("\n---\n".join(json.dumps(topic(name)) for name in names))
    assert kgitops("apply", "topics.yaml", "-c", url, "--auto-approve").code == 0
    ran = vc("plan-migration --prefix a. --prefix a.b. --virtual-cluster v")
    assert ran.code == 1
    assert "a.b.orders and a.orders would both be orders in v" in ran.err
    assert ran.out == ""


def test_quotas_are_explained_where_the_user_is_bound(
    here: Path, kgitops: Kgitops, vc: Vc, url: str
) -> None:
    """VC-200, VC-201, VC-213: 16 places, the first that says anything, and the cap."""
    entities = {
        "user": ({"user": "jane"}, 5),
        "inner": ({"virtualCluster": "v", "user": {"default": True}}, 4),
        "cap": ({"virtualCluster": "v"}, 3),
    }
    documents = [
        document("ClientQuota", name, entity=entity, quotas={"producer_byte_rate": value})
        for name, (entity, value) in entities.items()
    ]
    documents.append(document("VirtualCluster", "v"))
    (here / "quotas.yaml").write_text("\n---\n".join(map(json.dumps, documents)))
    assert kgitops("apply", "quotas.yaml", "-c", url, "--auto-approve").code == 0
    outside = vc("quota explain --user jane").out
    assert "> 11 /config/users/<user> = 5" in outside
    assert vc("alter --virtual-cluster v --add --user jane").code == 0
    bound = vc("quota explain --user jane").out
    assert ">  6 /config/virtual-clusters/<vc>/users/<default> = 4" in bound
    assert "11 /config/users/<user> = 5  (set to 5, but 6 comes first)" in bound
    assert "cap quota/virtual-cluster=v = 3" in bound
    assert "reaches 3 at most" in bound


@pytest.mark.parametrize(("form", "begins"), [("mermaid", "flowchart"), ("svg", "<svg")])
def test_virtual_clusters_are_drawn(form: str, begins: str, vc: Vc, here: Path) -> None:
    assert vc("create --virtual-cluster v").code == 0
    assert vc(f"graph --format {form} -o graph").code == 0
    assert (here / "graph").read_text().startswith(begins)
