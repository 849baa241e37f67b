"""Administrators of virtual clusters, by ``--as``: natively brokers check them, else kgitops."""

import json
import shlex
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from cli.conftest import Kgitops, Ran
from cli.projects import Document, Project, as_yaml, document, topic

from kgitops.cluster.connect import connect
from kgitops.model.cluster_state import ClusterState
from kgitops.model.requests import CreateAclRequest, DeleteAclRequest, Request
from kgitops.model.resources.acls import (
    AclBinding,
    Operation,
    PatternType,
    PermissionType,
    ResourceType,
)

PLATFORM = "User:platform"
SALES_ADMIN = "User:sales-admin"
URLS = {
    "native": f"embedded:vc.db?authorizer=acls&superUsers={PLATFORM}",
    "lowered": "embedded:vc.db?virtual.clusters=lowered",
}
As = Callable[..., Ran]


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
