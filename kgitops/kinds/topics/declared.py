"""Builds the topics of ``kind: Topic`` documents, checked against Kafka's rules."""

from collections.abc import Sequence

from kgitops.desired.configs import check_min_insync_replicas
from kgitops.desired.expansion.expansion import ExpandedTopic, TopicValues
from kgitops.desired.findings import Findings, check_name, counted, scope_of
from kgitops.manifests.yaml.document import Document
from kgitops.model.json.declared import ConfigsPolicy, DeletionPolicy, DesiredTopic
from kgitops.model.resources.addresses import local_topic_address, topic_address
from kgitops.model.resources.names import REGISTRY_TOPIC, is_internal, topic_name_problem
from kgitops.model.resources.topics import Assignment
from kgitops.model.resources.virtual_clusters import MAX_LOCAL_NAME, LocalName


def build_topic(topic: ExpandedTopic, document: Document, findings: Findings) -> DesiredTopic:
    """Build the topic in normal form; problems that Kafka would refuse go to ``findings``."""
    name, spec, configs = topic.metadata.name, topic.spec, topic.configs
    scope = scope_of(topic.metadata.virtual_cluster)
    _check_name(name, scope, document, findings)
    _check_sharing(scope, spec.share_with, document, findings)
    _check_size(spec, document, findings)
    assignment = _assignment(spec, document, findings)
    if assignment is None:
        partitions, replication_factor = spec.partitions or 1, spec.replication_factor or 1
    else:
        partitions, replication_factor = len(assignment), len(assignment[0])
    desired = DesiredTopic(
        address=topic_address(name)
        if scope is None
        else local_topic_address(LocalName(scope, name)),
        name=name,
        partitions=partitions,
        replication_factor=replication_factor,
        assignment=assignment,
        configs=configs.read(spec.configs, document) if spec.configs else {},
        delete_records_before=spec.delete_records_before,
        deletion_policy=DeletionPolicy(spec.deletion_policy or "Protect"),
        deletion_policy_written=spec.deletion_policy is not None,
        configs_policy=ConfigsPolicy(spec.configs_policy),
        virtual_cluster=scope,
        share_with=tuple(sorted(set(spec.share_with))),
        labels=topic.metadata.labels,
        located=document,
    )
    if desired.configs:
        configs.check_together(desired.configs, document)
        check_min_insync_replicas(desired.configs, desired.replication_factor, document, findings)
    if desired.delete_records_before:
        _check_delete_records(desired, document, findings)
    return desired


def _check_name(name: str, scope: str | None, document: Document, findings: Findings) -> None:
    if problem := topic_name_problem(name):
        advice = "use up to 249 letters, digits, '.', '_' and '-'"
        findings.error(document, ("metadata", "name"), problem, advice)
    elif is_internal(name):
        owner = "kgitops keeps its registry in it" if name == REGISTRY_TOPIC else "brokers own it"
        findings.error(
            document,
            ("metadata", "name"),
            f"the topic {name} can't be declared: {owner}",
            "remove the document",
        )
    elif scope is not None and len(name) > MAX_LOCAL_NAME:
        findings.error(
            document,
            ("metadata", "name"),
            f"the topic name has {len(name)} characters, {MAX_LOCAL_NAME} are allowed in a virtual "
            "cluster: on the cluster a UUID and a dot precede it",
            "shorten it",
        )


def _check_sharing(
    scope: str | None, share_with: Sequence[str], document: Document, findings: Findings
) -> None:
    """Check shareWith: it names virtual clusters, for a topic that is in one (VC-040)."""
    if share_with and scope is None:
        findings.error(
            document,
            ("spec", "shareWith"),
            "only a topic in a virtual cluster says whom it is shared with",
            "remove shareWith, or add metadata.virtualCluster",
            key=True,
        )
        return
    for index, name in enumerate(share_with):
        path = ("spec", "shareWith", index)
        check_name(name, document, path, findings)
        if name == scope:
            problem = f"the topic is in {name} itself"
            findings.error(document, path, problem, "name other virtual clusters, or remove it")


def _check_size(spec: TopicValues, document: Document, findings: Findings) -> None:
    counts = (spec.partitions, spec.replication_factor)
    names = ("partitions", "replicationFactor")
    if spec.assignments is not None:
        for name, count in zip(names, counts, strict=True):
            if count is not None:
                findings.error(
                    document,
                    ("spec", name),
                    f"spec.{name} can't be combined with spec.assignments, which decides it",
                    "remove one of them",
                    key=True,
                )
    elif counts == (None, None):
        findings.error(
            document,
            ("spec",),
            "the topic has no size",
            "write spec.partitions and spec.replicationFactor, or spec.assignments, or a profile",
        )
    elif None in counts:
        there, missing = names if counts[1] is None else reversed(names)
        findings.error(
            document,
            ("spec", there),
            f"spec.{there} needs spec.{missing} as well",
            f"add spec.{missing}",
            key=True,
        )


def _assignment(spec: TopicValues, document: Document, findings: Findings) -> Assignment | None:
    """Return the assignment if one is declared and legal (A4-45)."""
    assignments = spec.assignments
    if assignments is None:
        return None
    if not assignments:
        findings.error(
            document, ("spec", "assignments"), "spec.assignments is empty", "assign partition 0"
        )
        return None
    before = len(findings.found)
    missing = next(number for number in range(len(assignments) + 1) if number not in assignments)
    if missing < len(assignments):
        findings.error(
            document,
            ("spec", "assignments"),
            f"spec.assignments has {len(assignments)} partitions but none with the id {missing}",
            "number the partitions from 0 without a gap",
        )
    size = len(next(iter(assignments.values())))
    for partition, replicas in assignments.items():
        problem = _replicas_problem(partition, replicas, size)
        if problem:
            findings.error(document, ("spec", "assignments", partition), *problem)
    if len(findings.found) > before:
        return None
    return tuple(tuple(assignments[partition]) for partition in range(len(assignments)))


def _replicas_problem(partition: int, replicas: list[int], size: int) -> tuple[str, str] | None:
    if not replicas:
        return f"partition {partition} has no replicas", "name at least one broker"
    twice = next((broker for broker in replicas if replicas.count(broker) > 1), None)
    if twice is not None:
        return f"partition {partition} names broker {twice} twice", "name each broker once"
    if len(replicas) != size:
        return (
            f"partition {partition} has {counted(len(replicas), 'replica')}, another has {size}",
            "give every partition the same number of replicas",
        )
    return None


def _check_delete_records(topic: DesiredTopic, document: Document, findings: Findings) -> None:
    for partition in topic.delete_records_before:
        if partition >= topic.partitions:
            findings.error(
                document,
                ("spec", "deleteRecordsBefore", partition),
                f"the topic has no partition {partition}: it has {topic.partitions}",
                "remove the line",
                key=True,
            )
    policy = topic.configs.get("cleanup.policy", "delete")
    if "delete" not in policy.split(","):
        findings.error(
            document,
            ("spec", "deleteRecordsBefore"),
            f"Kafka deletes no records of a topic whose cleanup.policy is {policy or 'empty'}",
            "remove deleteRecordsBefore, or add delete to cleanup.policy",
            key=True,
        )
