"""Command lines with their preparation, several for each exit code (docs/reference/exit-codes.md).

Codes that need two processes or a signal are in test_locked.py and test_interrupted.py.
"""

import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from datetime import timedelta

from cli.conftest import Kgitops
from cli.policed import THREE, TWO, policy, write_policies
from cli.projects import Document, Project, acl, quota, tombstone, topic
from msgspec import Struct
from msgspec.structs import replace

from kgitops.cluster.embedded.store.file import open_store
from kgitops.model import requests as req
from kgitops.model.resources.acls import (
    AclBinding,
    Operation,
    PatternType,
    PermissionType,
    ResourceType,
)
from kgitops.model.resources.topics import RequestedTopicState
from kgitops.plan.document.file import SealedPlan, seal, to_text
from kgitops.plan.reading import read_plan

Words = tuple[object, ...]
Arrange = Callable[[Project, Kgitops], Words]


class Case(Struct, frozen=True):
    """The command that ``arrange`` leads up to exits with ``code``, and ``says`` this."""

    arrange: Arrange
    code: int
    says: str


CASES: list[Case] = []


def case(code: int, says: str) -> Callable[[Arrange], Arrange]:
    """The command that this function leads up to exits with ``code``, and ``says`` this."""

    def note(arrange: Arrange) -> Arrange:
        CASES.append(Case(arrange, code, says))
        return arrange

    return note


# What cases begin with.


def applied(project: Project, kgitops: Kgitops, *documents: Document) -> None:
    """The project with these documents, applied."""
    project.write(*documents or (topic(), acl(), quota()))
    assert kgitops("apply", project.folder, "--auto-approve").code == 0


def planned(project: Project, kgitops: Kgitops, *documents: Document) -> SealedPlan:
    """A saved plan of the project with these documents."""
    project.write(*documents or (topic(), acl(), quota()))
    kgitops("plan", project.folder, "-o", project.plan_file)
    return saved(project)


def saved(project: Project) -> SealedPlan:
    return read_plan(project.plan_file.read_text(), "plan.json")


def reseal(project: Project, sealed: SealedPlan, *, older_by: timedelta) -> None:
    """The same plan, made earlier."""
    older = seal(
        sealed.plan,
        captured_at=sealed.captured_at,
        created=sealed.created - older_by,
        expires=sealed.expires - older_by,
        nonce=sealed.nonce,
    )
    project.plan_file.write_text(to_text(older))


def apply_saved(project: Project) -> Words:
    return "apply", project.plan_file


def current(project: Project, name: str = "orders") -> RequestedTopicState:
    """The topic as it is, to ask for another one."""
    with closing(project.connect()) as cluster:
        found = cluster.read_state().topics[name]
    return RequestedTopicState(
        name=name, topic_id=found.topic_id, assignment=found.assignment, configs=found.configs
    )


def with_retention(project: Project, value: str) -> req.AlterTopicRequest:
    state = current(project)
    assert state.topic_id
    wanted = {"retention.ms": value}
    return req.AlterTopicRequest(
        topic=state.name,
        topic_id=state.topic_id,
        step=req.AlterStep.CONFIGS,
        requested_state=replace(state, configs=wanted, requested_configs=wanted),
    )


def creation(name: str) -> req.CreateTopicRequest:
    state = RequestedTopicState(name=name, topic_id=None, assignment=((1, 2), (2, 3)))
    return req.CreateTopicRequest(topic=name, requested_state=state)


BILLING_READS = AclBinding(
    resource_type=ResourceType.TOPIC,
    resource_name="orders",
    pattern_type=PatternType.LITERAL,
    principal="User:billing",
    host="*",
    operation=Operation.READ,
    permission_type=PermissionType.ALLOW,
)


# 0: success, also when there are changes.


@case(0, "1 to create")
def plan_with_changes(project: Project, kgitops: Kgitops) -> Words:
    project.write(topic())
    return "plan", project.folder


@case(0, "No changes")
def plan_without_changes(project: Project, kgitops: Kgitops) -> Words:
    applied(project, kgitops)
    return "plan", project.folder, "--detailed-exitcode"


@case(0, "Applied: 3 done.")
def apply_of_paths(project: Project, kgitops: Kgitops) -> Words:
    project.write(topic(), acl(), quota())
    return "apply", project.folder, "--auto-approve"


@case(0, "Applied: 3 done.")
def apply_of_a_saved_plan(project: Project, kgitops: Kgitops) -> Words:
    sealed = planned(project, kgitops)
    return "apply", project.plan_file, "--expect-digest", sealed.plan_digest


@case(0, "No changes")
def apply_with_nothing_to_do_and_nobody_to_ask(project: Project, kgitops: Kgitops) -> Words:
    applied(project, kgitops)
    return "apply", project.folder


@case(0, "Nothing to resume")
def resume_with_nothing_unfinished(project: Project, kgitops: Kgitops) -> Words:
    applied(project, kgitops)
    return "apply", "--resume", "-c", f"embedded:{project.store}"


@case(0, "1 to create")
def show(project: Project, kgitops: Kgitops) -> Words:
    planned(project, kgitops, topic())
    return "show", project.plan_file


@case(0, "Valid: 1 topic")
def validate(project: Project, kgitops: Kgitops) -> Words:
    project.write(topic())
    return "validate", project.folder


@case(0, "No drift")
def drift_of_nothing(project: Project, kgitops: Kgitops) -> Words:
    applied(project, kgitops)
    return "drift", project.folder, "--detailed-exitcode"


# 2: success with changes, told only to who asks.


@case(2, "1 to create")
def detailed_plan(project: Project, kgitops: Kgitops) -> Words:
    project.write(topic())
    return "plan", project.folder, "--detailed-exitcode"


@case(2, "1 to create")
def detailed_show(project: Project, kgitops: Kgitops) -> Words:
    planned(project, kgitops, topic())
    return "show", project.plan_file, "--detailed-exitcode"


@case(2, "DRIFT (1")
def detailed_drift(project: Project, kgitops: Kgitops) -> Words:
    applied(project, kgitops, topic(configs={"retention.ms": 1000}))
    project.change_behind(with_retention(project, "2000"))
    return "drift", project.folder, "--detailed-exitcode"


# 1: findings, and what Kafka can't do.


@case(1, "all.yaml:9:19: spec.partitions")
def a_finding_in_a_manifest(project: Project, kgitops: Kgitops) -> Words:
    project.write(topic(partitions=0))
    return "plan", project.folder


@case(1, "all.yaml:9:19: spec.partitions")
def a_finding_of_validate(project: Project, kgitops: Kgitops) -> Words:
    project.write(topic(partitions=0))
    return "validate", project.folder


@case(1, "all.yaml:9:19: spec.partitions")
def a_finding_stops_an_apply(project: Project, kgitops: Kgitops) -> Words:
    project.write(topic(partitions=0), acl())
    return "apply", project.folder, "--auto-approve"


@case(1, "kgitops.yaml:1:1")
def a_finding_in_the_project_file(project: Project, kgitops: Kgitops) -> Words:
    project.write(topic())
    (project.folder / "kgitops.yaml").write_text("[]")
    return "plan", project.folder


@case(1, "partitions")
def fewer_partitions(project: Project, kgitops: Kgitops) -> Words:
    applied(project, kgitops, topic(partitions=3))
    project.write(topic(partitions=2))
    return "plan", project.folder


@case(1, "partitions")
def fewer_partitions_in_a_saved_plan(project: Project, kgitops: Kgitops) -> Words:
    applied(project, kgitops, topic(partitions=3))
    planned(project, kgitops, topic(partitions=2))
    return apply_saved(project)


@case(1, "replication")
def more_replicas_than_brokers(project: Project, kgitops: Kgitops) -> Words:
    project.write(topic(replicationFactor=4))
    return "apply", project.folder, "--auto-approve"


@case(1, "the Tombstone gone names topic/wild, which nobody manages")
def a_tombstone_for_what_nobody_manages(project: Project, kgitops: Kgitops) -> Words:
    applied(project, kgitops)
    project.change_behind(creation("wild"))
    project.write(topic(), acl(), quota(), tombstone("topic/wild"))
    return "plan", project.folder


# 3: denied by policy.


@case(3, "the hard policy replicas denies topic/orders: replication factor 2")
def a_denied_plan_applied(project: Project, kgitops: Kgitops) -> Words:
    project.write(TWO)
    write_policies(project, policy())
    assert kgitops("plan", project.folder, "-o", project.plan_file).code == 3
    return apply_saved(project)


@case(3, "DENIED by replicas")
def a_denied_plan(project: Project, kgitops: Kgitops) -> Words:
    project.write(TWO)
    write_policies(project, policy())
    return "plan", project.folder


@case(3, "DENIED by replicas")
def a_denied_plan_of_a_part(project: Project, kgitops: Kgitops) -> Words:
    """Policies count whatever part is planned."""
    project.write(TWO)
    write_policies(project, policy())
    return "plan", project.folder / "manifests" / "all.yaml"


@case(3, "DENIED by replicas")
def a_denied_plan_shown_again(project: Project, kgitops: Kgitops) -> Words:
    project.write(TWO)
    write_policies(project, policy())
    kgitops("plan", project.folder, "-o", project.plan_file)
    return "show", project.plan_file


@case(3, "DENIED by replicas")
def a_denied_apply(project: Project, kgitops: Kgitops) -> Words:
    project.write(TWO)
    write_policies(project, policy(level="soft"))
    return "apply", project.folder, "--auto-approve"


@case(3, "the policy replicas, which was soft when the plan was made, is advisory now")
def a_policy_that_was_lowered_after_the_plan(project: Project, kgitops: Kgitops) -> Words:
    project.write(THREE)
    write_policies(project, policy(level="soft"))
    assert kgitops("plan", project.folder, "-o", project.plan_file).code == 0
    project.write_file(cluster={"policyLevels": {"replicas": "advisory"}}, policies=["policies"])
    return apply_saved(project)


@case(3, "the policy replicas, which was info when the plan was made, is not loaded any more")
def a_policy_that_was_removed_after_the_plan(project: Project, kgitops: Kgitops) -> Words:
    project.write(THREE)
    write_policies(project, policy(level="info"))
    assert kgitops("plan", project.folder, "-o", project.plan_file).code == 0
    project.write_file()
    return apply_saved(project)


@case(3, "the hard policy replicas denies topic/orders: this must be true: requested.repl")
def a_policy_that_was_changed_after_the_plan(project: Project, kgitops: Kgitops) -> Words:
    project.write(THREE)
    advisory = policy(level="advisory", expression="requested.replicationFactor == 2")
    write_policies(project, advisory)
    assert kgitops("plan", project.folder, "-o", project.plan_file).code == 0
    write_policies(project, policy(expression="requested.replicationFactor == 2"))
    return apply_saved(project)


@case(3, "the policy replicas failed on topic/orders")
def a_policy_that_fails(project: Project, kgitops: Kgitops) -> Words:
    project.write(THREE)
    write_policies(project, policy(expression="requested.configs['no'] == 'such key'"))
    return "plan", project.folder


# 4: what the plan was made from has changed.


@case(4, "topic/orders")
def the_topic_was_changed(project: Project, kgitops: Kgitops) -> Words:
    applied(project, kgitops, topic(configs={"retention.ms": 1000}))
    planned(project, kgitops, topic(configs={"retention.ms": 3000}))
    project.change_behind(with_retention(project, "2000"))
    return apply_saved(project)


@case(4, "topic/orders")
def the_topic_was_deleted_and_made_anew(project: Project, kgitops: Kgitops) -> Words:
    applied(project, kgitops, topic(configs={"retention.ms": 1000}))
    planned(project, kgitops, topic(configs={"retention.ms": 3000}))
    topic_id = current(project).topic_id
    assert topic_id
    project.change_behind(
        req.DeleteTopicRequest(topic="orders", topic_id=topic_id), creation("orders")
    )
    return apply_saved(project)


@case(4, "topic/orders")
def the_topic_exists_by_now(project: Project, kgitops: Kgitops) -> Words:
    planned(project, kgitops)
    project.change_behind(creation("orders"))
    return apply_saved(project)


@case(4, "acl/User:billing")
def the_binding_exists_by_now(project: Project, kgitops: Kgitops) -> Words:
    planned(project, kgitops)
    project.change_behind(req.CreateAclRequest(binding=BILLING_READS))
    return apply_saved(project)


@case(4, "topic/orders")
def another_project_owns_it_by_now(project: Project, kgitops: Kgitops) -> Words:
    planned(project, kgitops, topic())
    other = Project(project.folder.parent / "search", name="search", uid="search-1")
    other.write(topic()).write_file(cluster={"url": "embedded:../payments/.kgitops/local.db"})
    assert kgitops("apply", other.folder, "--auto-approve").code == 0
    return apply_saved(project)


@case(4, "registry")
def the_registry_was_replaced(project: Project, kgitops: Kgitops) -> Words:
    applied(project, kgitops, topic())
    planned(project, kgitops, topic(), acl())
    with closing(open_store(project.store)) as store, store.writing():
        store.set_meta("registry_topic_id", "another")
    return apply_saved(project)


# 5: a safety rule refuses.


@case(5, "topic/orders is protected")
def a_protected_topic(project: Project, kgitops: Kgitops) -> Words:
    applied(project, kgitops)
    project.write(acl(), quota())
    return "plan", project.folder


@case(5, "topic/orders is protected")
def a_protected_topic_in_a_saved_plan(project: Project, kgitops: Kgitops) -> Words:
    applied(project, kgitops)
    planned(project, kgitops, acl(), quota())
    return apply_saved(project)


@case(5, "topic/orders is protected")
def a_refused_plan_shown_again(project: Project, kgitops: Kgitops) -> Words:
    applied(project, kgitops)
    planned(project, kgitops, acl(), quota())
    return "show", project.plan_file


@case(5, "topic/orders is protected")
def a_refused_apply(project: Project, kgitops: Kgitops) -> Words:
    applied(project, kgitops)
    project.write(acl(), quota())
    return "apply", project.folder, "--auto-approve"


@case(5, "belongs to the project 'payments'")
def a_foreign_topic(project: Project, kgitops: Kgitops) -> Words:
    applied(project, kgitops)
    other = Project(project.folder.parent / "search", name="search", uid="search-1")
    other.write(topic()).write_file(cluster={"url": "embedded:../payments/.kgitops/local.db"})
    return "plan", other.folder


@case(5, "declares nothing")
def an_empty_project(project: Project, kgitops: Kgitops) -> Words:
    applied(project, kgitops)
    (project.folder / "manifests" / "all.yaml").write_text("# all documents were moved away\n")
    return "plan", project.folder


@case(5, "--allow-deletes Acl=11")
def too_many_deletions(project: Project, kgitops: Kgitops) -> Words:
    readers = [acl(f"reader-{number}") for number in range(11)]
    applied(project, kgitops, topic(), *readers)
    project.write(topic())
    return "apply", project.folder, "--auto-approve"


@case(5, "safety.maxDeletes is 0")
def a_limit_that_was_lowered_after_the_plan(project: Project, kgitops: Kgitops) -> Words:
    applied(project, kgitops)
    planned(project, kgitops, topic(), quota())
    project.write_file(safety={"maxDeletes": 0})
    return apply_saved(project)


@case(5, "formerly: [payments]")
def a_renamed_project(project: Project, kgitops: Kgitops) -> Words:
    applied(project, kgitops)
    project.write_file(metadata={"name": "billing"})
    return "plan", project.folder


@case(5, "takeFrom: [payments]")
def a_copied_project(project: Project, kgitops: Kgitops) -> Words:
    applied(project, kgitops)
    project.write_file(metadata={"uid": "another"})
    return "plan", project.folder


@case(5, "format version 99")
def a_store_of_a_newer_kgitops(project: Project, kgitops: Kgitops) -> Words:
    applied(project, kgitops)
    with closing(sqlite3.connect(project.store)) as store:
        store.execute("PRAGMA user_version = 99")
    return "plan", project.folder


@case(5, "newer kgitops")
def a_registry_of_a_newer_kgitops(project: Project, kgitops: Kgitops) -> Words:
    applied(project, kgitops)
    with closing(project.connect()) as cluster:
        cluster.registry.append([("own/topic/x", {"schema_version": 99})])
    return "drift", project.folder


# 6: partly applied.


def _refusing_brokers(project: Project) -> None:
    """Brokers whose authorizer was taken away since the plan was made refuse ACLs."""
    project.write_file(cluster={"url": "embedded:.kgitops/local.db?authorizer=disabled"})


@case(6, "1 done, 1 failed; 2 planned")
def a_broker_refuses_some_requests(project: Project, kgitops: Kgitops) -> Words:
    """P108-23: what brokers accepted while it was planned is no promise."""
    planned(project, kgitops, topic(), acl())
    _refusing_brokers(project)
    return apply_saved(project)


@case(6, "SECURITY_DISABLED")
def a_resume_meets_the_same_refusal(project: Project, kgitops: Kgitops) -> Words:
    planned(project, kgitops, topic(), acl())
    _refusing_brokers(project)
    assert kgitops(*apply_saved(project)).code == 6
    return "apply", project.folder, "--resume", "--auto-approve"


# 64: a command line that can't be meant; tests of wrong words have many more.


@case(64, "--snapshot state.json does not exist")
def a_snapshot_that_does_not_exist(project: Project, kgitops: Kgitops) -> Words:
    project.write(topic())
    return "plan", project.folder, "--snapshot", "state.json"


# 8: the cluster can't be reached, its store can't be read.


@case(8, "is damaged")
def a_truncated_store(project: Project, kgitops: Kgitops) -> Words:
    applied(project, kgitops)
    project.store.write_bytes(project.store.read_bytes()[:5000])
    return "plan", project.folder


@case(8, "the file is empty")
def an_empty_store(project: Project, kgitops: Kgitops) -> Words:
    applied(project, kgitops)
    project.store.write_bytes(b"")
    return "apply", project.folder, "--auto-approve"


@case(8, "is not the store of an embedded cluster")
def a_store_that_is_something_else(project: Project, kgitops: Kgitops) -> Words:
    project.write(topic())
    project.store.parent.mkdir()
    project.store.write_text("dear diary, today I deleted a topic " * 100)
    return "drift", project.folder


@case(8, "it is a folder")
def a_folder_for_a_store(project: Project, kgitops: Kgitops) -> Words:
    project.write(topic())
    project.store.mkdir(parents=True)
    return "snapshot", project.folder


@case(8, "file exists; check the file and its folder")
def a_store_below_a_file(project: Project, kgitops: Kgitops) -> Words:
    project.write(topic())
    (project.folder / "file").write_text("")
    return "export", "-o", "exported", "-c", f"embedded:{project.folder}/file/local.db"


@case(8, "is damaged")
def a_store_with_a_record_that_rotted(project: Project, kgitops: Kgitops) -> Words:
    applied(project, kgitops)
    with closing(sqlite3.connect(project.store)) as store, store:
        store.execute("UPDATE log SET records = replace(records, 'orders', 'odders')")
    return "plan", project.folder


@case(8, "is not a snapshot")
def a_truncated_snapshot(project: Project, kgitops: Kgitops) -> Words:
    applied(project, kgitops)
    state = project.folder / "state.json"
    kgitops("snapshot", project.folder, "-o", state)
    state.write_text(state.read_text()[:-100])
    return "plan", project.folder, "--snapshot", state


# 9: the plan file can't be trusted.


@case(9, "was changed")
def a_plan_that_was_edited(project: Project, kgitops: Kgitops) -> Words:
    planned(project, kgitops)
    text = project.plan_file.read_text()
    project.plan_file.write_text(text.replace("User:billing", "User:mallory"))
    return apply_saved(project)


@case(9, "was changed")
def a_plan_with_a_longer_life(project: Project, kgitops: Kgitops) -> Words:
    expires = planned(project, kgitops).expires
    text = project.plan_file.read_text()
    project.plan_file.write_text(text.replace(f"{expires:%Y-%m-%d}T", "2999-01-01T"))
    return apply_saved(project)


@case(9, "was changed")
def an_edited_plan_shown(project: Project, kgitops: Kgitops) -> Words:
    planned(project, kgitops)
    text = project.plan_file.read_text()
    project.plan_file.write_text(text.replace("User:billing", "User:mallory"))
    return "show", project.plan_file


@case(9, "was reformatted")
def a_plan_that_was_reformatted(project: Project, kgitops: Kgitops) -> Words:
    planned(project, kgitops)
    content = json.loads(project.plan_file.read_text())
    project.plan_file.write_text(json.dumps(content, indent=4))
    return apply_saved(project)


@case(9, "the plan expired at")
def an_expired_plan(project: Project, kgitops: Kgitops) -> Words:
    reseal(project, planned(project, kgitops), older_by=timedelta(days=2))
    return apply_saved(project)


@case(9, "the plan expired at")
def a_refused_plan_that_expired(project: Project, kgitops: Kgitops) -> Words:
    """The first of 64, 8, 7, 9, 1, 3, 5, 4, 2 wins."""
    applied(project, kgitops)
    reseal(project, planned(project, kgitops, acl(), quota()), older_by=timedelta(days=2))
    return apply_saved(project)


@case(9, "was made for the cluster")
def a_refused_plan_for_another_cluster(project: Project, kgitops: Kgitops) -> Words:
    applied(project, kgitops)
    planned(project, kgitops, acl(), quota())
    assert kgitops("snapshot", "-c", "embedded:other.db", "-o", "other.json").code == 0
    return "apply", project.plan_file, "-c", "embedded:other.db"


@case(9, "the plan expired at")
def an_expired_plan_whose_policy_is_gone(project: Project, kgitops: Kgitops) -> Words:
    a_policy_that_was_removed_after_the_plan(project, kgitops)
    reseal(project, saved(project), older_by=timedelta(days=2))
    return apply_saved(project)


@case(9, "the plan says that it was made at")
def a_plan_of_tomorrow(project: Project, kgitops: Kgitops) -> Words:
    reseal(project, planned(project, kgitops), older_by=timedelta(days=-1))
    return apply_saved(project)


@case(9, "was already applied")
def a_plan_applied_twice(project: Project, kgitops: Kgitops) -> Words:
    planned(project, kgitops)
    assert kgitops("apply", project.plan_file).code == 0
    return apply_saved(project)


@case(9, "), this is embedded:other.db (id ")
def a_plan_for_another_cluster(project: Project, kgitops: Kgitops) -> Words:
    planned(project, kgitops)
    return "apply", project.plan_file, "-c", "embedded:other.db"


@case(9, "was made for the project 'payments'")
def a_plan_for_another_project(project: Project, kgitops: Kgitops) -> Words:
    planned(project, kgitops)
    project.write_file(metadata={"name": "search", "uid": "another"})
    return apply_saved(project)


@case(9, "and no kgitops.yaml is here")
def a_plan_whose_project_is_gone(project: Project, kgitops: Kgitops) -> Words:
    planned(project, kgitops)
    (project.folder / "kgitops.yaml").unlink()
    return apply_saved(project)


@case(9, "was made without a project file, and the project here is 'payments'")
def a_plan_without_a_project_beside_one(project: Project, kgitops: Kgitops) -> Words:
    planned(project, kgitops)
    beside = project.folder / "kgitops.yaml"
    written = beside.read_text()
    beside.unlink()
    manifests, target = project.folder / "manifests", f"embedded:{project.folder}/cluster.db"
    ran = kgitops("plan", manifests, "-c", target, "-o", project.plan_file)
    assert ran.code == 0, ran.said
    beside.write_text(written)
    return apply_saved(project)


@case(9, "format version '2.0'")
def a_plan_of_a_newer_format(project: Project, kgitops: Kgitops) -> Words:
    planned(project, kgitops)
    text = project.plan_file.read_text()
    project.plan_file.write_text(text.replace('"format_version": "1.0"', '"format_version": "2.0"'))
    return apply_saved(project)


@case(9, "is cut off")
def a_truncated_plan(project: Project, kgitops: Kgitops) -> Words:
    planned(project, kgitops)
    text = project.plan_file.read_text()
    project.plan_file.write_text(text[: len(text) // 2])
    return apply_saved(project)


@case(9, "is cut off")
def an_empty_plan(project: Project, kgitops: Kgitops) -> Words:
    planned(project, kgitops)
    project.plan_file.write_text("")
    return apply_saved(project)


@case(9, "is not UTF-8")
def a_plan_of_other_bytes(project: Project, kgitops: Kgitops) -> Words:
    planned(project, kgitops)
    project.plan_file.write_bytes(b"\xff\xfe\x00")
    return apply_saved(project)


@case(9, "expected was sha256:00")
def another_plan_than_was_reviewed(project: Project, kgitops: Kgitops) -> Words:
    planned(project, kgitops)
    return "apply", project.plan_file, "--expect-digest", f"sha256:{'0' * 64}"


@case(9, "expected was sha256:00")
def paths_that_plan_to_something_else_than_was_reviewed(
    project: Project, kgitops: Kgitops
) -> Words:
    project.write(topic())
    digest = f"sha256:{'0' * 64}"
    return "apply", project.folder, "--auto-approve", "--expect-digest", digest
