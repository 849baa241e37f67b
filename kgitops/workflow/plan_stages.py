"""The stages that a plan passes through: usage, unfinished runs, group names, grades, brokers.

The use of topics is asked for where it matters: docs/decisions/0010.
"""

from collections.abc import Callable, Iterable

from msgspec.structs import replace

from kgitops.apply.context import ApplySettings
from kgitops.apply.journal.damage import require_sound
from kgitops.apply.journal.reading import latest_values
from kgitops.apply.lock_claims import live_claim
from kgitops.apply.run.resume import begun_changes, newest_unfinished, pending_undo_requests
from kgitops.apply.steps.runs import RecordedOutcome
from kgitops.apply.steps.steps import batches, build_steps
from kgitops.cluster.port import Cluster
from kgitops.desired.matching.reported_types import with_reported_types
from kgitops.desired.state import DesiredState, Project
from kgitops.lowering.report.report import failing_lines
from kgitops.model.cluster_state import Capabilities, ClusterState, Validator, VirtualClusterSupport
from kgitops.model.errors import StaleError
from kgitops.model.json.declared import CONFIGURED, DesiredAcl, DesiredTopic
from kgitops.model.lowered import Grade, LoweringLine
from kgitops.model.requests import AlterVirtualClusterRequest, Request, api_name
from kgitops.model.resources.acls import host_range
from kgitops.model.resources.config_resources import ConfigResourceType
from kgitops.model.resources.kinds import Kind
from kgitops.model.resources.topic_configs import is_throttle
from kgitops.model.resources.virtual_clusters import ChangeType, EntityType, physical_id
from kgitops.model.results import ErrorCode, RequestResult, is_lost_race
from kgitops.model.source import Finding, Severity
from kgitops.model.verdict import ExitCode, Reason
from kgitops.model.wording import counted
from kgitops.plan.acls.missing_names import warn_of_missing_names
from kgitops.plan.document.broker_validation import checkable, record_validation
from kgitops.plan.document.documents import RunToResume
from kgitops.plan.document.plan import Plan, PlannedRequest
from kgitops.plan.shown.derive import add_usage, topics_at_stake
from kgitops.workflow.loading import OnStage, ignore_stage
from kgitops.workflow.object_stages import managed_users
from kgitops.workflow.project.selection import Workspace


def with_offsets(cluster: Cluster, desired: DesiredState, current: ClusterState) -> ClusterState:
    """Add the offsets of topics with ``deleteRecordsBefore`` to the state.

    Raises:
        UnreachableError: the cluster can't be reached.
    """
    declared = (topic.name for topic in desired.of(DesiredTopic) if topic.delete_records_before)
    names = frozenset(name for name in declared if name in current.topics)
    if not names:
        return current
    return current.with_usage(cluster.read_usage(names, offsets_only=True))


def with_brokers_configs(
    cluster: Cluster, desired: DesiredState, current: ClusterState
) -> DesiredState:
    """Let the brokers decide on the declared configs that kgitops has no definition of.

    Raises:
        FindingsError: the brokers don't know one either, or its value is of another type.
        UnreachableError: they can't be asked.
    """
    if not desired.unknown_configs:
        return desired
    keys: dict[ConfigResourceType | None, set[str]] = {}
    for unknown in desired.unknown_configs:
        keys.setdefault(unknown.kind, set()).add(unknown.key)
    named: dict[ConfigResourceType | None, Iterable[str]] = {
        kind.resource: [item.name for item in desired.of(kind)] for kind in CONFIGURED
    }
    named[None] = current.topics  # brokers describe only a topic that exists
    named[ConfigResourceType.BROKER] = [str(it.id) for it in current.brokers if not it.fenced]
    types = {
        kind: cluster.read_config_types(kind, name, frozenset(asked))
        for kind, asked in keys.items()
        if (name := min(named[kind], default=None)) is not None
    }
    return with_reported_types(desired, types, current)


def with_host_ranges(
    cluster: Cluster, desired: DesiredState, current: ClusterState
) -> Capabilities:
    """Return what the cluster can do; how it matches ranges is asked only where there are any.

    Raises:
        UnreachableError: it can't be asked.
    """
    hosts = (
        acl.host for acl in (*(item.binding for item in desired.of(DesiredAcl)), *current.acls)
    )
    is_asked = any("/" in host and host_range(host) is not None for host in hosts)
    ranges = is_asked and cluster.matches_host_ranges()
    return replace(cluster.capabilities, host_ranges=ranges)


def with_users_to_plan(cluster: Cluster, state: ClusterState, *, wanted: bool) -> ClusterState:
    """Add all users if they are ``wanted``, or if some project manages any.

    Raises:
        UnreachableError: they can't be read.
    """
    read = wanted or managed_users(state)
    return state.with_objects(cluster.read(Kind.USER), Kind.USER) if read else state


def with_impact(cluster: Cluster, plan: Plan) -> Plan:
    """Add the usage of the topics that the plan may hurt.

    Raises:
        UnreachableError: the cluster can't be reached.
    """
    names = topics_at_stake(plan)
    return add_usage(plan, cluster.read_usage(names)) if names else plan


def find_pending_undo_requests(
    cluster: Cluster, current: ClusterState, project: Project
) -> tuple[PlannedRequest, ...]:
    """The requests with which the project's unfinished runs would undo temporary settings.

    Raises:
        UnreachableError: the journal can't be read.
        SafetyError: it is damaged.
    """
    # Ten thousand topics have few different keys.
    keys: set[str] = set().union(*(topic.configs for topic in current.topics.values()))
    throttled = any(broker.throttles for broker in current.brokers) or any(map(is_throttle, keys))
    return pending_undo_requests(cluster.registry.read() or (), project) if throttled else ()


def find_run_to_resume(cluster: Cluster, workspace: Workspace) -> RunToResume | None:
    """Find the project's unfinished run; call it first, because a state read next costs less.

    Raises:
        UnreachableError: the registry can't be read.
        SafetyError: the registry can't be trusted.
    """
    entries = cluster.registry.read()
    if not entries:
        return None
    require_sound(entries)
    run = newest_unfinished(latest_values(entries), workspace.project)
    if run is None:
        return None
    claim = live_claim(entries, cluster.registry.now_ms())
    return RunToResume(
        run_id=run.id,
        started=run.started,
        holder=run.holder,
        done=sum(step.outcome is RecordedOutcome.DONE for step in run.steps.values()),
        locked_by=claim.holder if claim else None,
        resume=workspace.resume_command,
    )


def with_missing_names(
    plan: Plan, desired: DesiredState, current: ClusterState, every_topic: Iterable[str]
) -> Plan:
    """Warn of rights on topics and groups that do not exist once the plan is applied."""
    warnings = warn_of_missing_names(desired, plan.changes, current, every_topic)
    return replace(plan, warnings=(*plan.warnings, *warnings)) if warnings else plan


def mark_drift_from_unfinished_run(cluster: Cluster, plan: Plan, project: Project) -> Plan:
    """Mark drift that an unfinished run of this project caused as its own.

    Raises:
        UnreachableError: the journal can't be read.
        SafetyError: it is damaged.
    """
    if not plan.drift:
        return plan
    made = {
        (change.address, field.path, field.after)
        for change in begun_changes(cluster.registry.read() or (), project)
        for field in change.fields
    }
    return replace(
        plan,
        drift=tuple(
            replace(row, rule="unfinished") if (row.address, row.path, row.found) in made else row
            for row in plan.drift
        ),
    )


def with_group_collisions(cluster: Cluster, current: ClusterState, plan: Plan) -> Plan:
    """Warn of each group of a new virtual cluster whose physical id exists already (VC-117).

    A Kafka without virtual clusters can only tell before the virtual cluster exists: later its own
    members use the same id (VC-113). Nothing is read if the plan adds no such group.

    Raises:
        UnreachableError: the cluster can't be reached.
    """
    if cluster.capabilities.virtual_clusters is not VirtualClusterSupport.LOWERED:
        return plan
    groups = {
        physical_id(request.virtual_cluster, request.entity_name): change
        for change in plan.changes
        for request in (planned.request for planned in change.requests)
        if isinstance(request, AlterVirtualClusterRequest)
        and request.entity_type is EntityType.GROUP
        and request.change is ChangeType.ADD
        and request.entity_name is not None
        and request.virtual_cluster not in current.virtual_clusters
    }
    if not groups:
        return plan
    existing = cluster.read_group_offsets(frozenset(groups))
    collisions = [
        Finding(
            source=groups[group].source,
            problem=f"GROUP_NAME_COLLISION: there is a group {group} already, outside of any "
            f"virtual cluster, whose offsets would be those of {groups[group].address}",
            advice="leave it if it was this virtual cluster's before, else delete it if it is "
            "not needed, or give the virtual cluster or the group another name",
            severity=Severity.WARNING,
        )
        for group in sorted(groups)
        if group in existing
    ]
    return replace(plan, warnings=(*plan.warnings, *collisions))


def with_grades_refused(plan: Plan, threshold: Grade | None) -> Plan:
    """Deny the plan if its lowering report has a line as bad as ``threshold`` (``--fail-on``, §18).

    Each code has one reason, with its first subject; the report shows every line.
    """
    if threshold is None:
        return plan
    codes: dict[str, list[LoweringLine]] = {}
    for line in failing_lines(plan.lowering, threshold):
        codes.setdefault(line.code, []).append(line)
    reasons = [_reason(lines, threshold) for _, lines in sorted(codes.items())]
    return replace(plan, refusals=(*plan.refusals, *reasons))


def _reason(lines: list[LoweringLine], threshold: Grade) -> Reason:
    line = lines[0]
    about = " ".join(part for part in (line.virtual_cluster, line.subject) if part)
    more = f" (and {len(lines) - 1:,} more)" if len(lines) > 1 else ""
    return Reason(
        exit=ExitCode.DENIED,
        sentence=f"{line.code} {line.grade}{f' {about}' if about else ''}{more}: "
        f"{line.reason.rstrip('.')}; {line.remedy or 'remove it'}, or drop --fail-on {threshold}",
    )


_EMBEDDED = "embedded"


def validate_on_brokers(
    plan: Plan,
    cluster: Cluster,
    on_stage: OnStage = ignore_stage,
    *,
    is_denied: Callable[[Request], bool] = lambda _: False,
) -> Plan:
    """Let the brokers validate the requests ahead (``validate_only``); nothing is changed.

    The batches are those of an apply: a controller also limits requests that it only validates
    (A4-03). Embedded brokers judge by the project's policies too, without the requests planned
    before: denials that ``is_denied`` reports already are dropped.

    Raises:
        StaleError: another client changed an object meanwhile.
    """
    capabilities = cluster.capabilities
    is_embedded = capabilities.backend == _EMBEDDED
    denied = _denied(plan) if is_embedded else frozenset()
    requests = {
        planned.id: planned.request
        for planned in checkable(plan)
        if planned.id not in denied
        and capabilities.validation.get(api_name(planned.request)) is Validator.BROKER
    }
    if not requests:
        return plan
    steps = build_steps(plan)
    results: dict[str, RequestResult] = {}
    for batch in batches([steps[name] for name in requests], ApplySettings()):
        on_stage(f"asking the brokers ({len(results):,} of {counted(len(requests), 'request')})")
        answers = cluster.execute(
            [requests[step.id] for step in batch], validate_only=True, principal=plan.principal
        )
        results |= {step.id: answer for step, answer in zip(batch, answers, strict=True)}
    if is_embedded:
        results = {
            name: answer
            for name, answer in results.items()
            if answer.code is not ErrorCode.POLICY_VIOLATION or not is_denied(requests[name])
        }
    for name, answer in results.items():
        if is_lost_race(requests[name], answer):
            raise StaleError(
                f"{steps[name].address} has changed on the cluster since it was read: the broker "
                f"answered {api_name(requests[name])} with {answer}; plan again"
            )
    return record_validation(plan, results)


def _denied(plan: Plan) -> frozenset[str]:
    """The ids of requests that policies deny already."""
    return frozenset(
        result.request
        for change in plan.changes
        for result in change.policies
        if result.stops and result.request is not None
    )
