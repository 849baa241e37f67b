"""Drift: a plan back to what was last applied, never meant to be executed."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from datetime import UTC, datetime

from kgitops.cluster.port import Authors, Cluster, KeepsAuthors, author_of
from kgitops.desired.last_applied import desired_from_registry
from kgitops.desired.state import DesiredState, DesiredTopic
from kgitops.model import clock
from kgitops.model.cluster_state import ClusterState
from kgitops.model.source import Severity
from kgitops.plan.document.file import SealedPlan
from kgitops.plan.document.plan import Drift, Plan
from kgitops.plan.planner import make_plan
from kgitops.workflow.pipeline import seal_now
from kgitops.workflow.project.selection import Workspace
from kgitops.workflow.stages import OnStage, in_silence
from kgitops.workflow.unfinished_throttles import with_own_drift


def plan_drift(
    cluster: Cluster, workspace: Workspace, on_stage: OnStage = in_silence
) -> SealedPlan:
    """What it would take to undo what others did, with their changes as drift rows.

    The rows say by whom on clusters that keep a record of it.

    Raises:
        UnreachableError: the cluster can't be read.
        SafetyError: its registry can't be trusted.
    """
    on_stage("reading the cluster")
    current = cluster.read_state()
    authors = cluster.read_authors() if isinstance(cluster, KeepsAuthors) else {}
    on_stage("comparing")
    desired = desired_from_registry(
        workspace.project,
        current.registry,
        safety=replace(workspace.safety, replication_throttle=0),  # nothing is going to move
        principal=workspace.principal,
    )
    plan = make_plan(
        _that_can_be_undone(desired, current),
        current,
        target_name=workspace.target_name,
        capabilities=cluster.capabilities,
        advise=False,
    )
    plan = replace(plan, drift=tuple(_rows(plan)))
    plan = with_own_drift(cluster, plan, workspace.project)
    rows = sorted(_signed(plan.drift, authors), key=lambda row: (row.address, row.path))
    # What a plan can't be made of is nobody's mistake here: it can only be told.
    told = tuple(replace(finding, severity=Severity.WARNING) for finding in plan.findings)
    plan = replace(plan, drift=tuple(rows), findings=(), warnings=(*plan.warnings, *told))
    return seal_now(plan, current)


def _that_can_be_undone(desired: DesiredState, current: ClusterState) -> DesiredState:
    """Without what can't be taken back: partitions that others added, records that are gone."""
    return replace(desired, topics=tuple(_as_it_became(topic, current) for topic in desired.topics))


def _as_it_became(topic: DesiredTopic, current: ClusterState) -> DesiredTopic:
    state = current.topics.get(topic.name)
    owner = current.registry.owners.get(topic.address) if current.registry else None
    if state is None or owner is None or state.topic_id != owner.topic_id:
        # The offsets were those of a topic that is gone.
        topic = replace(topic, delete_records_before={})
    if state is None or state.num_partitions <= topic.partitions:
        return topic
    added = state.assignment[topic.partitions :]
    return replace(
        topic,
        partitions=state.num_partitions,
        assignment=None if topic.assignment is None else topic.assignment + added,
    )


def _rows(plan: Plan) -> Iterator[Drift]:
    """The plan's rows, and those of topics that were made anew, which are strangers to a plan."""
    for row in plan.drift:
        if row.rule != "accepted":
            yield row
        elif row.path != "assignments":  # there are more of them, where there are more partitions
            yield replace(row, rule="stays")  # nothing is accepted here but what had to be
    for change in plan.changes:
        owner = change.owner_before
        topic = next((e.topic_id for e in change.preconditions if e.topic_id), None)
        if owner is None or owner.topic_id is None or topic in (None, owner.topic_id):
            continue
        yield Drift(
            address=change.address,
            path="topic_id",
            last_applied=owner.topic_id,
            found=topic,
            rule="recreated",
        )
        for field in change.fields:
            # Where replicas stand is drift only if that was applied.
            placed = field.path != "assignments" or owner.last_applied["assignments"]
            if placed and not field.path.startswith("lastApplied."):
                yield Drift(
                    address=change.address,
                    path=field.path,
                    last_applied=field.after,
                    found=field.before,
                    rule="restored",
                )


def _signed(rows: Iterable[Drift], authors: Authors) -> Iterator[Drift]:
    """The rows with who did it, where the cluster knows."""
    for row in rows:
        author = author_of(authors, row.address, row.path)
        if author is None:
            yield row
        else:
            at = clock.to_text(datetime.fromtimestamp(author.timestamp_ms / 1000, UTC))
            yield replace(row, by=author.principal, at=at)
