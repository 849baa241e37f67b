"""What is on brokers already when virtual clusters come: groups, topics of a lost registry."""

import json
from contextlib import closing
from pathlib import Path

import pytest
from cli.conftest import Kgitops, Ran
from cli.projects import Project, document, topic
from cluster_contract.contract import creation, send

from kgitops.cluster.connect import connect
from kgitops.cluster.embedded.adapter import EmbeddedCluster
from kgitops.cluster.lowered.adapter import LoweredCluster
from kgitops.model.requests import AlterVirtualClusterRequest
from kgitops.model.resources.virtual_clusters import ChangeType, EntityType

UUID = "3f1c0c5e-6f0e-4a52-9d2b-0d7f3f1b9a11"
LOWERED = "embedded:vc.db?virtual.clusters=lowered"


def url(project: Project) -> str:
    return f"embedded:{project.folder}/vc.db?virtual.clusters=lowered"


def committed(project: Project, group: str) -> None:
    """A client of this group that knows nothing of virtual clusters has read orders."""
    with closing(connect(url(project), base=Path())) as cluster:
        assert isinstance(cluster, LoweredCluster)
        assert isinstance(cluster.physical, EmbeddedCluster)
        cluster.physical.commit(group, {("orders", 0): 7})


def test_a_group_that_is_named_like_one_of_a_new_virtual_cluster_is_warned_of(
    project: Project, kgitops: Kgitops
) -> None:
    """VC-117: before there is one; afterwards the same id is what its members use (VC-113)."""
    project.write(topic("orders"))
    project.write_file(cluster={"url": LOWERED})
    assert kgitops("apply", project.folder, "--auto-approve").code == 0
    committed(project, "sales:etl")
    committed(project, "other:rpt")
    made = document("VirtualCluster", "sales", members={"groups": ["etl", "rpt"]})
    project.write(topic("orders"), made)
    project.write_file(cluster={"url": LOWERED})
    warning = "GROUP_NAME_COLLISION: there is a group sales:etl already"
    planned = kgitops("plan", project.folder)
    assert planned.code == 0, planned.said
    assert planned.said.count("GROUP_NAME_COLLISION") == 1
    assert warning in planned.said
    assert kgitops("apply", project.folder, "--auto-approve").code == 0
    committed(project, "sales:more")
    made = document("VirtualCluster", "sales", members={"groups": ["etl", "rpt", "more"]})
    project.write(topic("orders"), made)
    project.write_file(cluster={"url": LOWERED})
    planned = kgitops("plan", project.folder)
    assert planned.code == 0, planned.said
    assert "GROUP_NAME_COLLISION" not in planned.said


def test_without_its_registry_no_virtual_cluster_is_made_anew(
    project: Project, kgitops: Kgitops
) -> None:
    """VC-330: generated-looking topics tell that there was one; nothing is sent, and the advice is
    not to delete them; by the way of the page they are found again."""
    project.write(topic("orders"))
    project.write_file(cluster={"url": LOWERED})
    with closing(connect(url(project), brokers=3, base=Path())) as cluster:
        assert send(cluster, creation(f"{UUID}.Orders")).ok
        assert cluster.read_state().registry is None
    project.write(topic("orders"), document("VirtualCluster", "sales"))
    project.write_file(cluster={"url": LOWERED})
    planned = kgitops("plan", project.folder)
    assert planned.code == 5, planned.said
    assert (
        f"the registry is gone, but {UUID}.Orders was created in a virtual cluster" in planned.said
    )
    assert "restore __kgitops" in planned.said
    applied = kgitops("apply", project.folder, "--auto-approve")
    assert applied.code == 5, applied.said
    created = kgitops("vc", "create", "--virtual-cluster", "x", "-c", url(project))
    assert created.code == 5, created.said
    with closing(connect(url(project), base=Path())) as cluster:
        state = cluster.read_state()
        assert [*state.topics] == [f"{UUID}.Orders"]
        assert state.registry is None
    adopted = topic(f"{UUID}.Orders", partitions=3, replicationFactor=3)
    project.write(adopted)
    project.write_file(cluster={"url": LOWERED})
    assert kgitops("apply", project.folder, "--auto-approve").code == 0
    link = document("TopicLink", "Orders", target={"physicalTopic": f"{UUID}.Orders"})
    link["metadata"] = {"name": "Orders", "virtualCluster": "sales"}
    project.write(adopted, document("VirtualCluster", "sales"), link)
    project.write_file(cluster={"url": LOWERED})
    again = kgitops("apply", project.folder, "--auto-approve")
    assert again.code == 0, again.said
    with closing(connect(url(project), base=Path())) as cluster:
        found = cluster.read_state().virtual_clusters["sales"]
    assert found.links["Orders"].topic == f"{UUID}.Orders"


def test_where_everyone_is_let_in_a_plan_can_be_made_to_fail(
    project: Project, kgitops: Kgitops
) -> None:
    """§24.9 (f), VC-149, VC-391: by a snapshot of brokers that say so, exit 3 and the code."""
    project.write(topic("orders"), document("VirtualCluster", "sales"))
    project.write_file(cluster={"url": LOWERED})
    assert kgitops("apply", project.folder, "--auto-approve").code == 0
    file = project.folder / "cluster.json"
    assert kgitops("snapshot", "-o", file, "-c", url(project)).code == 0

    def plan(allow: str) -> Ran:
        taken = json.loads(file.read_text())
        taken["settings"] = {"allow.everyone.if.no.acl.found": allow}
        file.write_text(json.dumps(taken))
        words = ("--snapshot", file, "--fail-on", "NONE", "--format", "json")
        return kgitops("plan", project.folder, *words)

    for allow, expected in (("true", True), ("false", False)):
        ran = plan(allow)
        assert ran.code == 3, ran.said  # other codes of this grade are there in any case
        sentences = [reason["sentence"] for reason in json.loads(ran.out)["verdict"]["reasons"]]
        found = [text for text in sentences if text.startswith("L-ALLOW-EVERYONE NONE")]
        assert bool(found) is expected


@pytest.mark.parametrize("at", [LOWERED, LOWERED.replace("lowered", "1")])
def test_a_link_may_lead_to_a_topic_whose_own_link_is_restored(
    project: Project, kgitops: Kgitops, at: str
) -> None:
    """Somebody removed the topic's link; the same plan makes it again, and one that leads there."""
    sales, orders = document("VirtualCluster", "sales"), topic("Orders")
    orders["metadata"]["virtualCluster"] = "sales"
    project.write(sales, orders)
    project.write_file(cluster={"url": at})
    assert kgitops("apply", project.folder, "--auto-approve").code == 0
    gone = AlterVirtualClusterRequest(
        virtual_cluster="sales",
        change=ChangeType.REMOVE,
        entity_type=EntityType.TOPIC,
        entity_name="Orders",
    )
    with closing(connect(at.replace("vc.db", f"{project.folder}/vc.db"), base=Path())) as cluster:
        assert send(cluster, gone).ok
    target = {"virtualCluster": "sales", "topic": "Orders"}
    other = document("TopicLink", "stream", target=target)
    other["metadata"]["virtualCluster"] = "sales"
    project.write(sales, orders, other)
    project.write_file(cluster={"url": at})
    applied = kgitops("apply", project.folder, "--auto-approve")
    assert applied.code == 0, applied.said
    assert kgitops("plan", project.folder, "--detailed-exitcode").code == 0
