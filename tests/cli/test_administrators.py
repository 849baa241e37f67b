"""Administrators of virtual clusters, by ``--as``: natively brokers check them, else kgitops."""

import json
import shlex
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from cli.conftest import Kgitops, Ran
from cli.projects import Document, Project, as_yaml, document, topic
from patience import eventually
from strategies import SALTED
from used import users_of

from kgitops.cluster.connect import connect
from kgitops.model import requests as req
from kgitops.model.cluster_state import ClusterState
from kgitops.model.registry import Json
from kgitops.model.requests import CreateAclRequest, DeleteAclRequest, Request
from kgitops.model.resources.acls import (
    AclBinding,
    Operation,
    PatternType,
    PermissionType,
    ResourceType,
)
from kgitops.model.resources.users import ScramMechanism
from kgitops.model.resources.virtual_clusters import EntityType

PLATFORM = "User:platform"
SALES_ADMIN = "User:sales-admin"
URLS = {
    "native": f"embedded:vc.db?authorizer=acls&superUsers={PLATFORM}",
    "lowered": "embedded:vc.db?virtual.clusters=lowered",
}
As = Callable[..., Ran]
LOGINS_UID = "5d2c0b1e-7a44-4f0b-9c51-1f6f0c7a2e33"


@pytest.fixture(params=URLS)
def url(request: pytest.FixtureRequest) -> str:
    return URLS[request.param]


@pytest.fixture
def vc(kgitops: Kgitops, url: str) -> As:
    """Runs ``kgitops vc`` with a line of words, as somebody."""
    return lambda words, principal=PLATFORM: kgitops(
        "vc", *shlex.split(words), "--bootstrap-server", url, "--as", principal
    )


@pytest.fixture
def filled(here: Path, kgitops: Kgitops, url: str, vc: As) -> None:
    """Two virtual clusters with a topic each, and an administrator of the first one."""
    names = ("orders", "reports")
    (here / "topics.yaml").write_text(as_yaml(topic(name) for name in names))
    applied = kgitops("apply", "topics.yaml", "-c", url, "--auto-approve", "--as", PLATFORM)
    assert applied.code == 0, applied.said
    for name, linked in zip(("emea.sales", "analytics"), names, strict=True):
        assert vc(f"create --virtual-cluster {name}").code == 0
        added = vc(f"alter --virtual-cluster {name} --add --topic {linked} --link {linked}")
        assert added.code == 0, added.said
    right = grant(SALES_ADMIN, Operation.ALTER_VIRTUAL_CLUSTER, "emea.sales")
    behind(url, CreateAclRequest(binding=right))


def grant(
    principal: str, operation: Operation, name: str, pattern: PatternType = PatternType.LITERAL
) -> AclBinding:
    return AclBinding(
        resource_type=ResourceType.CLUSTER,
        resource_name=name,
        pattern_type=pattern,
        principal=principal,
        host="*",
        operation=operation,
        permission_type=PermissionType.ALLOW,
    )


def behind(url: str, *requests: Request) -> None:
    with closing(connect(url, base=Path())) as cluster:
        for request in requests:
            (result,) = cluster.execute([request], validate_only=False, principal=PLATFORM)
            assert result.ok, result


def state(url: str) -> ClusterState:
    with closing(connect(url, base=Path())) as cluster:
        return cluster.read_state()


@pytest.mark.usefixtures("filled")
def test_an_administrator_adds_links_to_its_own_virtual_cluster_and_nowhere_else(
    vc: As, url: str
) -> None:
    """VC-011, VC-040, VC-146: there, of the topics that are there, and not a member's rights."""
    before = state(url).virtual_clusters
    for words in (
        "alter --virtual-cluster analytics --add --topic orders --link mine",
        "alter --virtual-cluster emea.sales --add --topic reports --link theirs",
        "alter --virtual-cluster analytics --remove --link reports",
        "create --virtual-cluster own",
    ):
        refused = vc(words, SALES_ADMIN)
        assert refused.code != 0, words
        assert SALES_ADMIN in refused.err, refused.said
    assert state(url).virtual_clusters == before
    mine = "alter --virtual-cluster emea.sales --add --topic orders --link again"
    added = vc(mine, SALES_ADMIN)
    assert added.code == 0, added.said
    assert sorted(state(url).virtual_clusters["emea.sales"].links) == ["again", "orders"]
    assert vc("alter --virtual-cluster analytics --add --user jane").code == 0


def test_a_prefix_of_names_may_be_granted_to_make_virtual_clusters(vc: As, url: str) -> None:
    """VC-158: com.mycompany.x is made, org.x is not."""
    operation = Operation.CREATE_VIRTUAL_CLUSTER
    right = grant("User:team", operation, "com.mycompany.", PatternType.PREFIXED)
    behind(url, CreateAclRequest(binding=right))
    assert vc("create --virtual-cluster com.mycompany.x", "User:team").code == 0
    refused = vc("create --virtual-cluster org.x", "User:team")
    assert refused.code != 0
    assert "User:team has no CreateVirtualCluster on the virtual cluster org.x" in refused.said
    assert [*state(url).virtual_clusters] == ["com.mycompany.x"]


def virtual_cluster(name: str) -> Document:
    return document("VirtualCluster", name)


def link(where: str, name: str, to: str) -> Document:
    made = document("TopicLink", name, target={"physicalTopic": to})
    made["metadata"] = {"name": name, "virtualCluster": where}
    return made


def test_a_plan_says_what_its_principal_may_not_and_nothing_is_sent(
    project: Project, kgitops: Kgitops
) -> None:
    """VC-011, VC-146: where brokers can't check it; each denial once, where it is declared."""
    project.write_file(cluster={"url": URLS["lowered"]})
    project.write(topic("orders"), virtual_cluster("emea.sales"), virtual_cluster("analytics"))
    project.write_file(cluster={"url": URLS["lowered"]})
    assert kgitops("apply", project.folder, "--auto-approve").code == 0
    url = f"embedded:{project.folder}/vc.db?virtual.clusters=lowered"
    right = grant(SALES_ADMIN, Operation.ALTER_VIRTUAL_CLUSTER, "emea.sales")
    behind(url, CreateAclRequest(binding=right))
    there = [topic("orders"), virtual_cluster("emea.sales"), virtual_cluster("analytics")]
    links = [link(where, "mine", "orders") for where in ("emea.sales", "analytics")]
    project.write(*there, *links)
    project.write_file(cluster={"url": URLS["lowered"]})
    before = state(url)
    asked = ("plan", project.folder, "--as", SALES_ADMIN, "--format", "json")
    ran = kgitops(*asked)
    reasons = [reason["sentence"] for reason in json.loads(ran.out)["verdict"]["reasons"]]
    assert ran.code == 1
    assert len(reasons) == 2
    where = "AlterVirtualCluster on the virtual cluster analytics"
    assert f"vc/emea.sales/link/mine is denied: {SALES_ADMIN} has no Alter on the" in reasons[0]
    assert f"vc/analytics/link/mine is denied: {SALES_ADMIN} has no {where}" in reasons[1]
    assert kgitops("apply", project.folder, "--auto-approve", "--as", SALES_ADMIN).code == 1
    assert state(url).virtual_clusters == before.virtual_clusters
    assert kgitops("apply", project.folder, "--auto-approve").code == 0


def test_a_right_that_is_lost_after_the_plan_is_missed_by_the_apply(
    project: Project, kgitops: Kgitops
) -> None:
    """VC-146: whoever applies a saved plan is its principal, by the rights of that moment."""
    project.write(topic("orders"), virtual_cluster("a"), link("a", "orders", "orders"))
    project.write_file(cluster={"url": URLS["lowered"]})
    assert kgitops("apply", project.folder, "--auto-approve").code == 0
    url = f"embedded:{project.folder}/vc.db?virtual.clusters=lowered"
    right = grant(SALES_ADMIN, Operation.ALTER_VIRTUAL_CLUSTER, "a")
    other = grant(SALES_ADMIN, Operation.ALTER_VIRTUAL_CLUSTER, "b")
    behind(url, CreateAclRequest(binding=right), CreateAclRequest(binding=other))
    links = [link("a", name, "orders") for name in ("orders", "again")]
    project.write(topic("orders"), virtual_cluster("a"), *links)
    project.write_file(cluster={"url": URLS["lowered"]})
    file = project.plan_file
    assert kgitops("plan", project.folder, "--as", SALES_ADMIN, "-o", file).code == 0
    behind(url, DeleteAclRequest(binding=right))
    ran = kgitops("apply", file, "--auto-approve")
    assert ran.code != 0
    assert "CLUSTER_AUTHORIZATION_FAILED" in ran.said
    assert [*state(url).virtual_clusters["a"].links] == ["orders"]


# Users who log in: their names are the whole cluster's


@pytest.fixture(params=[*URLS, pytest.param("kafka", marks=pytest.mark.kafka)])
def any_url(request: pytest.FixtureRequest, here: Path) -> str:
    """Of a real Kafka, too."""
    if request.param == "kafka":
        request.getfixturevalue("kafka_cluster")
        return f"kafka://{request.getfixturevalue('kafka').servers}"
    return URLS[request.param].replace("vc.db", f"{here}/vc.db")


def inside(where: str, made: Document) -> Document:
    """The document with the virtual cluster in its metadata."""
    return {**made, "metadata": {**made["metadata"], "virtualCluster": where}}


def login(name: str, **scram: Json) -> Document:
    credential = {"mechanism": "SCRAM-SHA-512", "password": {"env": "WORD"}, **scram}
    return document("User", name, scram=[credential], deletionPolicy="Delete")


def tenants() -> list[Document]:
    """Two virtual clusters with a member each; sales-admin administers the first one."""
    resource = {"type": "cluster", "name": "emea.sales"}
    operations = ["AlterVirtualCluster", "Alter", "Describe"]
    grants = {"principal": SALES_ADMIN, "permission": "Allow"}
    return [
        *(
            document("VirtualCluster", at, members={"mode": "additive", "users": [user]})
            for at, user in (("emea.sales", "User:sales-app"), ("emea.hr", "User:hr-app"))
        ),
        document("Acl", "sales-admin", **grants, operations=operations, resource=resource),
    ]


def shown(url: str, **iterations: int) -> None:
    """Wait until the cluster tells just these users: brokers learn of them after they answered."""
    wanted = {user: {ScramMechanism.SHA_512: number} for user, number in iterations.items()}
    with closing(connect(url, base=Path())) as cluster:
        eventually(
            lambda: users_of(cluster),
            lambda users: users == wanted,
            what=f"the users {wanted}",
        )


def test_an_administrator_touches_the_members_of_its_virtual_cluster_alone(
    any_url: str, here: Path, kgitops: Kgitops, monkeypatch: pytest.MonkeyPatch
) -> None:
    """VC-160c: whoever administers a virtual cluster neither takes over the users of others nor
    makes any before they are members; a user comes after its membership, and goes before it."""
    monkeypatch.setenv("WORD", "a password")
    cluster: Json = (
        {"url": any_url} if any_url.startswith("kafka") else {"url": any_url, "brokers": 3}
    )
    platform = Project(here / "platform", name="platform")
    logins = Project(here / "logins", name="logins", uid=LOGINS_UID)

    def apply(project: Project, *documents: Document, by: str) -> Ran:
        project.write(*documents).write_file(clusters={"local": cluster})
        return kgitops("apply", project.folder, "--auto-approve", "--as", by)

    assert apply(platform, *tenants(), by=PLATFORM).code == 0
    behind(any_url, set_by_hand("hr-app"))
    own = inside("emea.sales", login("sales-app"))
    applied = apply(logins, own, by=SALES_ADMIN)
    assert applied.code == 0, applied.said
    before = {"hr-app": 8192, "sales-app": 8192}
    shown(any_url, **before)

    for stranger, said in (
        (login("hr-app", iterations=4096), f"{SALES_ADMIN} has no Alter on the virtual cluster"),
        (inside("emea.sales", login("hr-app", iterations=4096)), "User:hr-app is not a member"),
        (inside("emea.sales", login("nobody")), "User:nobody is not a member"),
        (login("nobody"), f"{SALES_ADMIN} has no Alter on kafka-cluster"),
    ):
        refused = apply(logins, own, stranger, by=SALES_ADMIN)
        assert refused.code != 0
        assert said in refused.said
        planned = kgitops("plan", logins.folder, "--as", SALES_ADMIN)
        assert planned.code == 1
        assert said in planned.said
    shown(any_url, **before)

    lets_in = inside("emea.sales", document("VirtualClusterBinding", "new", user="User:new"))
    new = inside("emea.sales", login("new", iterations=4096))
    applied = apply(logins, own, new, lets_in, by=SALES_ADMIN)
    assert applied.code == 0, applied.said
    shown(any_url, **before, new=4096)
    applied = apply(logins, own, by=SALES_ADMIN)
    assert applied.code == 0, applied.said
    shown(any_url, **before)
    assert state(any_url).virtual_clusters["emea.sales"].users == {"User:sales-app"}


def set_by_hand(user: str) -> Request:
    return req.SaltedCredentialsRequest(
        user=user, mechanism=ScramMechanism.SHA_512, iterations=8192, salted=SALTED
    )


def test_an_administrator_adopts_no_user_but_members_of_its_virtual_cluster(
    any_url: str, here: Path, kgitops: Kgitops
) -> None:
    """VC-160c: also where nothing has to be sent, since its project would own the user then."""
    cluster: Json = (
        {"url": any_url} if any_url.startswith("kafka") else {"url": any_url, "brokers": 3}
    )
    platform = Project(here / "platform", name="platform")
    platform.write(*tenants()).write_file(clusters={"local": cluster})
    assert kgitops("apply", platform.folder, "--auto-approve", "--as", PLATFORM).code == 0
    guest = req.AlterVirtualClusterRequest(
        virtual_cluster="emea.hr", entity_type=EntityType.USER, entity_name="User:guest"
    )
    behind(any_url, guest)
    users = ("sales-app", "hr-app", "guest", "nobody")
    for user in users:
        behind(any_url, set_by_hand(user))
    held = dict.fromkeys(users, 8192)
    shown(any_url, **held)
    logins = Project(here / "logins", name="logins", uid=LOGINS_UID)

    def run(command: str, *documents: Document) -> Ran:
        logins.write(*documents).write_file(clusters={"local": cluster})
        return kgitops(*shlex.split(command), logins.folder, "--as", SALES_ADMIN)

    taken = document("VirtualClusterBinding", "taken", user="User:guest", move=True)
    moved = [inside("emea.sales", taken), inside("emea.sales", login("guest"))]
    for user, where, documents in (
        ("hr-app", "the virtual cluster emea.hr", [login("hr-app")]),
        ("guest", "the virtual cluster emea.hr", moved),
        ("nobody", "kafka-cluster", [login("nobody")]),
    ):
        for command in ("plan", "apply --auto-approve"):
            refused = run(command, *documents)
            assert refused.code == 1
            denial = f"user/{user} is denied: {SALES_ADMIN} has no Alter on {where}"
            assert refused.said.count(denial) == 1
    assert managed_users(any_url) == set()

    lets_in = inside("emea.sales", document("VirtualClusterBinding", "new", user="User:nobody"))
    both = (inside("emea.sales", login(user)) for user in ("sales-app", "nobody"))
    adopted = run("apply --auto-approve", lets_in, *both)
    assert adopted.code == 0, adopted.said
    shown(any_url, **held)
    assert managed_users(any_url) == {"user/sales-app", "user/nobody"}


def managed_users(url: str) -> set[str]:
    registry = state(url).registry
    assert registry is not None
    return {address for address in registry.owners if address.startswith("user/")}


def test_an_adoption_is_refused_once_the_right_to_the_user_is_lost(
    url: str, here: Path, kgitops: Kgitops
) -> None:
    """VC-160c: an apply asks again, since a plan file may be old, or written by anybody."""
    platform = Project(here / "platform", name="platform")
    platform.write(*tenants()).write_file(clusters={"local": {"url": url, "brokers": 3}})
    there = url.replace("vc.db", f"{platform.folder}/vc.db")
    assert kgitops("apply", platform.folder, "--auto-approve", "--as", PLATFORM).code == 0
    behind(there, set_by_hand("sales-app"))
    logins = Project(here / "logins", name="logins", uid=LOGINS_UID)
    logins.write(login("sales-app")).write_file(clusters={"local": {"url": there, "brokers": 3}})
    file = logins.plan_file
    assert kgitops("plan", logins.folder, "--as", SALES_ADMIN, "-o", file).code == 0
    right = grant(SALES_ADMIN, Operation.ALTER, "emea.sales")
    behind(there, DeleteAclRequest(binding=right))
    refused = kgitops("apply", file, "--auto-approve")
    assert refused.code != 0
    assert f"user/sales-app is denied: {SALES_ADMIN} has no Alter" in refused.said
    assert managed_users(there) == set()
    behind(there, CreateAclRequest(binding=right))
    assert kgitops("apply", file, "--auto-approve").code == 0
    assert managed_users(there) == {"user/sales-app"}
