"""A fleet reports what a cluster's gateway hides, as a plan of the cluster alone does."""

from pathlib import Path

from builders import a_binding
from cli.projects import UID, acl, as_yaml, topic
from fleet.both_ways import Given, check_a_fleet_agrees, snapshot_of
from laws.twin_clusters import embedded
from msgspec.structs import replace

from kgitops.model.requests import CreateAclRequest


def test_objects_that_do_not_change_are_reported_too(tmp_path: Path) -> None:
    """An ACL of nobody, with a host; a fleet leaves out what it need not look at."""
    project = tmp_path / "payments"
    (project / "manifests").mkdir(parents=True)
    (project / "manifests" / "all.yaml").write_text(as_yaml([topic("orders"), acl("billing")]))
    gateway = {"bootstrapServers": "kafka.example.com:9092"}
    content = {
        "apiVersion": "kgitops/v1",
        "kind": "Project",
        "metadata": {"name": "payments", "uid": UID},
        "spec": {"clusters": {"prod": {"url": "kafka://b:1", "gateway": gateway}}},
    }
    (project / "kgitops.yaml").write_text(as_yaml([content]))
    with embedded(tmp_path, "lowered") as twin:
        twin.ask(CreateAclRequest(binding=a_binding("User:other", host="10.0.0.1")))
        state = replace(snapshot_of(twin.cluster), backend="kafka")
    plan = check_a_fleet_agrees(Given(project=project, cluster="prod", state=state), tmp_path)
    assert plan is not None
    assert [(line.code, line.subject) for line in plan.lowering] == [
        ("L-GATEWAY", "kafka.example.com:9092"),
        ("L-GATEWAY-HOST", "acl/User:other/Allow/Read/topic/literal/orders@10.0.0.1"),
    ]
