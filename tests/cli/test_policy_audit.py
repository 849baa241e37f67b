"""``kgitops policy audit``: what is on the cluster already, and breaks a policy."""

import json
import shutil
from datetime import UTC, datetime
from pathlib import Path

import pytest
from cli.conftest import Kgitops
from cli.policed import TWO, SetClock, in_process, policy, set_clock, waiver, write_policies
from cli.projects import Project, acl, as_yaml, document, quota
from strategies import SALTED

from kgitops.cluster.connect import connect
from kgitops.cluster.embedded.adapter import EmbeddedCluster
from kgitops.model import requests as req
from kgitops.model.resources.config_resources import ConfigResourceType
from kgitops.model.resources.topics import RequestedTopicState
from kgitops.model.resources.users import ScramMechanism

__all__ = ["in_process", "set_clock"]


@pytest.fixture
def held(in_process: None, project: Project, kgitops: Kgitops) -> Project:
    """A project whose topic has two replicas, as was allowed, and a topic that nobody declares.

    The audits of other projects here judge in a process of their own.
    """
    project.write(TWO, acl(), quota())
    assert kgitops("apply", project.folder, "--auto-approve").code == 0
    cluster = connect(f"embedded:{project.store}", base=project.folder)
    assert isinstance(cluster, EmbeddedCluster)
    made = RequestedTopicState(name="strange", topic_id=None, assignment=((1,),), configs={})
    (result,) = cluster.execute(
        [req.CreateTopicRequest(topic="strange", requested_state=made)],
        validate_only=False,
        principal="User:somebody",
    )
    assert result.ok
    cluster.close()
    return project


def test_what_breaks_a_policy_is_told_declared_or_not(held: Project, kgitops: Kgitops) -> None:
    """A plan has nothing to say of it."""
    write_policies(held, policy())
    assert "No changes" in kgitops("plan", held.folder).out
    ran = kgitops("policy", "audit", held.folder)
    assert ran.code == 3
    assert "! topic orders  " in ran.out
    assert "manifests/all.yaml:" in ran.out
    assert "      replicas (hard): replication factor 2\n" in ran.out
    assert "! topic strange  not declared here\n" in ran.out
    assert "Audit: 2 of 4 objects break 1 policy." in ran.out


def test_it_changes_nothing(held: Project, kgitops: Kgitops) -> None:
    write_policies(held, policy())
    before = held.store.read_bytes()
    assert kgitops("policy", "audit", held.folder).code == 3
    assert held.store.read_bytes() == before


@pytest.mark.parametrize(
    ("level", "code"), [("hard", 3), ("soft", 3), ("advisory", 0), ("info", 0)]
)
def test_only_a_policy_that_denies_gives_exit_3(
    level: str, code: int, held: Project, kgitops: Kgitops
) -> None:
    write_policies(held, policy(level=level))
    ran = kgitops("policy", "audit", held.folder)
    assert ran.code == code
    assert f"replicas ({level}): replication factor 2" in ran.out


def test_a_waiver_lifts_it_here_too(held: Project, kgitops: Kgitops, set_clock: SetClock) -> None:
    """But it is told, with its last day."""
    set_clock(datetime(2026, 11, 20, tzinfo=UTC))
    write_policies(held, policy(level="soft"), waiver())
    ran = kgitops("policy", "audit", held.folder)
    assert "replicas (soft, waived until 2026-11-21): replication factor 2" in ran.out
    assert ran.code == 3, "the topic that nobody declares has no waiver"


def test_acls_and_quotas_are_judged_and_labels_are_those_of_the_documents(
    held: Project, kgitops: Kgitops
) -> None:
    labelled_topic = {**TWO, "metadata": {**TWO["metadata"], "labels": {"team": "x"}}}
    held.write(labelled_topic, acl(), quota())
    labelled = policy("labelled", expression="'team' in requested.labels")
    anyone = policy(
        "anyone", expression="false", match={"requests": ["CreateAcl", "AlterClientQuota"]}
    )
    write_policies(held, labelled, anyone)
    told = json.loads(kgitops("policy", "audit", held.folder, "--format", "json").out)
    assert told["judged"] == 4
    by_address = {item["address"]: item for item in told["objects"]}
    assert "topic/orders" not in by_address
    assert by_address["topic/strange"]["source"] is None
    assert by_address["topic/strange"]["owner"] is None
    kinds = sorted(address.partition("/")[0] for address in by_address)
    assert kinds == ["acl", "quota", "topic"]
    (of_acl,) = [item for address, item in by_address.items() if address.startswith("acl/")]
    assert of_acl["policies"][0]["policy"] == "anyone"
    assert (of_acl["owner"] is None, of_acl["source"]["line"] > 0) == (False, True)


def test_users_and_configs_of_groups_and_client_metrics_are_judged_declared_or_not(
    project: Project, kgitops: Kgitops, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WORD", "a password")
    scram = [{"mechanism": "SCRAM-SHA-512", "password": {"env": "WORD"}}]
    project.write(
        document("User", "sales-app", scram=scram),
        document("ConsumerGroup", "billing", configs={"consumer.session.timeout.ms": 50000}),
        document("ClientMetrics", "lag", configs={"interval.ms": 60000}),
    )
    assert kgitops("apply", project.folder, "--auto-approve").code == 0
    project.change_behind(
        req.SaltedCredentialsRequest(
            user="strange", mechanism=ScramMechanism.SHA_256, iterations=4096, salted=SALTED
        )
    )
    for kind, key in (
        (ConfigResourceType.GROUP, "consumer.session.timeout.ms"),
        (ConfigResourceType.CLIENT_METRICS, "interval.ms"),
    ):
        project.change_behind(
            req.AlterConfigResourceRequest(
                resource_type=kind, resource_name="strange", configs={key: "51000"}
            )
        )
    strong = {"class": "kgitops.policies:ScramStrength"}
    project.write_file(policies=[strong, "policies"])
    requests = {"requests": ["AlterConfigResource"]}
    folder = project.folder / "policies"
    folder.mkdir()
    frozen = policy("frozen", expression="false", match=requests)
    (folder / "frozen.yaml").write_text(as_yaml([frozen]))
    told = json.loads(kgitops("policy", "audit", project.folder, "--format", "json").out)
    assert (told["judged"], told["users_read"], told["groups_read"]) == (6, True, True)
    found = {item["address"]: item["policies"][0] for item in told["objects"]}
    assert found.keys() == {
        "user/strange",
        "group/billing",
        "group/strange",
        "client-metrics/lag",
        "client-metrics/strange",
    }
    assert "would log in by SCRAM-SHA-256" in found["user/strange"]["message"]


def test_without_policies_and_without_violations(held: Project, kgitops: Kgitops) -> None:
    assert "the project has no policies" in kgitops("policy", "audit", held.folder).out
    write_policies(held, policy(expression="true"))
    ran = kgitops("policy", "audit", held.folder)
    assert (ran.code, "none of 4 objects breaks a policy" in ran.out) == (0, True)


REQUESTS = ("CreateTopic", "CreateAcl", "AlterClientQuota", "CreateVirtualCluster")
ADVICE = """\
apiVersion: kgitops/v1
kind: Policy
metadata: {name: never}
spec:
  description: Advises against everything.
  level: advisory
  match: {requests: [%s, AlterVirtualCluster]}
  validations: [{expression: "false", message: no}]
---
apiVersion: kgitops/v1
kind: Policy
metadata: {name: names}
spec:
  description: Sees a topic by the name that its clients know.
  level: advisory
  match: {requests: [CreateTopic], names: ["Orders"]}
  validations: [{expression: "false", message: no}]
"""


def test_an_audit_says_of_a_new_cluster_what_its_plan_said(
    kgitops: Kgitops, tmp_path: Path
) -> None:
    """Of virtual clusters as well: topics by their local names, links, members, scoped rights."""
    folder = tmp_path / "project"
    example = Path(__file__).parents[2] / "examples" / "virtual-clusters"
    shutil.copytree(example, folder, ignore=shutil.ignore_patterns(".kgitops"))
    file = folder / "kgitops.yaml"
    file.write_text(file.read_text().replace("spec:\n", "spec:\n  policies: [policies]\n", 1))
    (folder / "policies").mkdir()
    (folder / "policies" / "never.yaml").write_text(ADVICE % ", ".join(REQUESTS))
    plan = json.loads(kgitops("plan", folder, "--format", "json").out)
    planned = {
        (change["address"], row["policy"])
        for change in plan["changes"]
        for row in change["policies"]
        if row["outcome"] != "passed"
    }
    assert ("vc/emea.sales/topic/Orders", "names") in planned
    assert kgitops("apply", folder, "--auto-approve").code == 0
    ran = kgitops("policy", "audit", folder, "--format", "json")
    audit = json.loads(ran.out)
    assert {
        (item["address"], row["policy"]) for item in audit["objects"] for row in item["policies"]
    } == planned
    assert all(item["source"] is not None for item in audit["objects"])
    assert audit["judged"] >= len(plan["changes"])
