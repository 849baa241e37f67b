"""Drift: a plan back to what was last applied, never meant to be executed."""

from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path

from msgspec.structs import replace

from kgitops.apply.objects import with_objects
from kgitops.apply.secrets import forbid_core_dumps, read_secret, source_problem
from kgitops.cluster.port import Authors, ChecksLogins, Cluster, RecordsAuthors, author_of
from kgitops.cluster.refusals import read_all
from kgitops.desired.last_applied import desired_from_registry
from kgitops.desired.state import DesiredState
from kgitops.manifests.value_origin import ValueOrigin, origins_of
from kgitops.model import clock
from kgitops.model.cluster_state import ClusterState
from kgitops.model.errors import FindingsError, KgitopsError
from kgitops.model.json.declared import (
    DesiredObject,
    DesiredTopic,
    DesiredUser,
    credentials_of,
    last_applied,
)
from kgitops.model.registry import Json
from kgitops.model.resources.users import FoundUser, PasswordSource, ScramMechanism
from kgitops.model.source import Finding, Severity
from kgitops.model.verdict import Verdict, decide
from kgitops.plan.document.file import SealedPlan
from kgitops.plan.document.plan import Change, Drift, Plan
from kgitops.plan.planner import make_plan
from kgitops.plan.warnings import warn_of_shown_names
from kgitops.workflow.loading import OnStage, declared_objects, ignore_stage, loaded
from kgitops.workflow.pipeline import seal_now
from kgitops.workflow.project.selection import Workspace
from kgitops.workflow.reading import find_run_to_resume, with_declared_objects
from kgitops.workflow.stages import Planning, with_unfinished_drift

LOGIN_RULE = "login"
"""The rule of drift that only a login shows."""


def plan_drift(
    cluster: Cluster,
    workspace: Workspace,
    on_stage: OnStage = ignore_stage,
    *,
    verify_users: bool = False,
) -> SealedPlan:
    """A plan that would undo the changes of others, with these changes as drift rows.

    The rows name their authors on clusters that record them. With ``verify_users`` each declared
    password logs in once.

    Raises:
        UnreachableError: the cluster can't be read.
        SafetyError: its registry can't be trusted.
    """
    on_stage("reading the cluster")
    unfinished_run, current = read_all(
        lambda: find_run_to_resume(cluster, workspace), cluster.read_state
    )
    authors = cluster.read_authors() if isinstance(cluster, RecordsAuthors) else {}
    on_stage("comparing")
    desired = desired_from_registry(
        workspace.project,
        current.registry,
        safety=replace(workspace.safety, replication_throttle=0),  # nothing moves
        principal=workspace.principal,
    )
    current = with_declared_objects(cluster, desired, current)
    plan = make_plan(
        _without_irreversible(desired, current),
        current,
        target_name=workspace.target_name,
        capabilities=cluster.capabilities,
        advise=False,
    )
    plan = replace(plan, drift=tuple(_rows(plan)))
    plan = with_unfinished_drift(plan, Planning(cluster=cluster, desired=desired, current=current))
    if plan.changes:
        on_stage("loading the manifests")
        plan = with_declared_origins(plan, workspace)
    # Findings about unplannable objects are not mistakes here: they are only reported.
    warnings = [replace(finding, severity=Severity.WARNING) for finding in plan.findings]
    warnings += warn_of_shown_names({row.address for row in plan.drift} & desired.addresses)
    plan = replace(plan, findings=(), warnings=(*plan.warnings, *warnings))
    if verify_users:
        with loaded(workspace, on_stage) as declared:
            on_stage("logging in as each user")
            plan = _with_login_drift(cluster, plan, declared.desired, workspace.base)
    rows = sorted(_with_authors(plan.drift, authors), key=lambda row: (row.address, row.path))
    return seal_now(replace(plan, drift=tuple(rows)), current, unfinished_run=unfinished_run)


def drift_verdict(plan: Plan) -> Verdict:
    """The verdict of a plan of drift: a password that does not log in is a change, too."""
    verdict = plan.verdict
    if any(row.rule == LOGIN_RULE for row in plan.drift):
        return decide(verdict.reasons, changes=True)
    return verdict


def _without_irreversible(desired: DesiredState, current: ClusterState) -> DesiredState:
    """Without irreversible differences: partitions that others added, records that are gone."""
    return desired.with_objects(
        _keep_irreversible(item, current) if isinstance(item, DesiredTopic) else item
        for item in desired.objects
    )


def _keep_irreversible(topic: DesiredTopic, current: ClusterState) -> DesiredTopic:
    state = current.topics.get(topic.name)
    owner = current.registry.owners.get(topic.address) if current.registry else None
    if state is None or owner is None or state.topic_id != owner.topic_id:
        # The offsets belong to a topic that is gone.
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
    """The plan's rows, and rows for re-created topics, which a plan takes for foreign ones."""
    for row in plan.drift:
        if row.rule != "accepted":
            yield row
        elif row.path != "assignments":  # more partitions have more of them
            yield replace(row, rule="stays")  # only irreversible differences are accepted here
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
            # The placement of replicas is drift only if it was applied.
            placed = field.path != "assignments" or owner.last_applied["assignments"]
            if placed and not field.path.startswith("lastApplied."):
                yield Drift(
                    address=change.address,
                    path=field.path,
                    last_applied=field.after,
                    found=field.before,
                    rule="restored",
                )


def _with_authors(rows: Iterable[Drift], authors: Authors) -> Iterator[Drift]:
    """The rows with their authors, if the cluster knows them."""
    for row in rows:
        author = author_of(authors, row.address, row.path)
        if author is None:
            yield row
        else:
            at = clock.to_text(datetime.fromtimestamp(author.timestamp_ms / 1000, UTC))
            yield replace(row, by=author.principal, at=at)


def with_declared_origins(plan: Plan, workspace: Workspace) -> Plan:
    """The plan with the origins of last applied values, where they are declared as they were.

    Manifests that can't be read, or none, are no reason not to show the drift.
    """
    if not workspace.manifests:
        return plan
    try:
        declared = {item.address: item for item in declared_objects(workspace)}
    except FindingsError:
        unknown = Finding(
            source=None,
            problem="the manifests have findings, so no origin of a value is named",
            advice="see kgitops validate",
            severity=Severity.WARNING,
        )
        return replace(plan, warnings=(*plan.warnings, unknown))
    changes = (_named(change, declared.get(change.address)) for change in plan.changes)
    return replace(plan, changes=tuple(changes))


def _named(change: Change, declared: DesiredObject | None) -> Change:
    owner = change.owner_before
    origins = origins_of(declared.located) if declared is not None else {}
    if declared is None or owner is None or not origins:
        return change
    now = last_applied(declared)
    found: dict[str, ValueOrigin] = {
        field.path: origins[field.path]
        for field in change.fields
        if field.path in origins
        and _value(now, field.path) == _value(owner.last_applied, field.path)
    }
    return replace(change, origins=found) if found else change


def _value(form: Mapping[str, Json], path: str) -> Json:
    """The value of a normal form under a field's path: ``configs.retention.ms``."""
    group, _, key = path.partition(".")
    value = form.get(group)
    return value.get(key) if key and isinstance(value, Mapping) else value


def _with_login_drift(cluster: Cluster, plan: Plan, desired: DesiredState, base: Path) -> Plan:
    """Add the declared passwords that no longer log in, and warn of those that can't be tried.

    Raises:
        UnreachableError: the cluster can't be reached.
        KgitopsError: a password is missing.
    """
    users = [user.address for user in desired.of(DesiredUser)]
    current = with_objects(cluster, cluster.read_state(frozenset()), users)
    due = [(user, key) for user in desired.of(DesiredUser) for key in user.credentials]
    reasons = [_untried(cluster, current, *item) for item in due]
    tried = [item for item, reason in zip(due, reasons, strict=True) if reason is None]
    if tried:
        forbid_core_dumps()
    missing = list(_missing(tried, base))
    if missing:
        raise KgitopsError(f"{'; '.join(missing)}; set them and verify again")
    rows = [
        Drift(
            address=user.address,
            path=f"scram.{mechanism}.password",
            last_applied="as declared",
            found="another one",
            rule=LOGIN_RULE,
        )
        for user, mechanism in tried
        if not _holds(cluster, user, mechanism, base)
    ]
    warnings = [
        Finding(
            source=user.located.at("spec", "scram"),
            problem=f"{user.address}: the password of {mechanism} was not verified: {reason}",
            advice="see docs/guides/users.md",
            severity=Severity.WARNING,
        )
        for (user, mechanism), reason in zip(due, reasons, strict=True)
        if reason is not None
    ]
    drift = sorted((*plan.drift, *rows), key=lambda row: (row.address, row.path))
    return replace(plan, drift=tuple(drift), warnings=(*plan.warnings, *warnings))


def _untried(
    cluster: Cluster, current: ClusterState, user: DesiredUser, mechanism: ScramMechanism
) -> str | None:
    """Explain why no login is tried; None if one is."""
    if not isinstance(cluster, ChecksLogins) or not cluster.offers_login(mechanism):
        return f"the listener that kgitops connects to offers no {mechanism}"
    owner = current.registry.owners.get(user.address) if current.registry else None
    applied = {} if owner is None or owner.spent else credentials_of(owner.last_applied["scram"])
    was = applied.get(mechanism)
    if was is None or was.version != user.credentials[mechanism].version:
        return "what is declared was not applied yet"
    found = current.find(FoundUser, user.address)
    if found is None or mechanism not in found.held:
        return "the user has no such mechanism any more"
    return None if _readable(user.credentials[mechanism].password) else "its password has no source"


def _readable(source: PasswordSource) -> PasswordSource | None:
    """Return where the password can be read; a generated one is in its file."""
    if source.generate is not None:
        file = source.generate.file
        return None if file is None else PasswordSource(file=file)
    return source if source.known else None


def _missing(tried: list[tuple[DesiredUser, ScramMechanism]], base: Path) -> Iterator[str]:
    for user, mechanism in tried:
        source = _readable(user.credentials[mechanism].password)
        problem = source and source_problem(source, base)
        if problem:
            yield f"{user.address} has no password for {mechanism}: {problem}"


def _holds(cluster: Cluster, user: DesiredUser, mechanism: ScramMechanism, base: Path) -> bool:
    source = _readable(user.credentials[mechanism].password)
    if source is None or not isinstance(cluster, ChecksLogins):
        raise AssertionError("it was found out before that a login can be tried")
    return cluster.logs_in(user.name, mechanism, read_secret(source, base))
