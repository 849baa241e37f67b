"""The stages that a plan passes through once it is made, each of which may add to it."""

from collections.abc import Callable, Iterable

from msgspec import Struct
from msgspec.structs import replace

from kgitops.apply.context import ApplySettings
from kgitops.apply.run.resume import begun_changes, unconfirmed_requests
from kgitops.apply.secrets import sets_password
from kgitops.apply.steps import batches, build_steps
from kgitops.approval import denial_check, judge_plan
from kgitops.cluster.port import Cluster
from kgitops.desired.state import DesiredState
from kgitops.kinds.virtual_clusters.user_rights import with_foreign_users_refused
from kgitops.lowering.report import failing_lines
from kgitops.model.cluster_state import ClusterState, Validator, VirtualClusterSupport
from kgitops.model.errors import StaleError
from kgitops.model.json.declared import DesiredUser
from kgitops.model.lowered import Grade, LoweringLine
from kgitops.model.requests import AlterVirtualClusterRequest, api_name
from kgitops.model.resources.users import ScramMechanism
from kgitops.model.resources.virtual_clusters import ChangeType, EntityType, physical_id
from kgitops.model.results import ErrorCode, RequestResult, is_lost_race
from kgitops.model.source import Finding, Severity
from kgitops.model.verdict import ExitCode, Reason
from kgitops.model.wording import counted
from kgitops.plan.document.broker_validation import checkable, record_validation
from kgitops.plan.document.plan import Plan, PlannedRequest
from kgitops.plan.lowering import with_lowering
from kgitops.plan.missing_names import warn_of_missing_names
from kgitops.plan.shown import add_usage, topics_at_stake
from kgitops.policy.evaluate.bundle import Bundle
from kgitops.workflow.loading import OnStage, ignore_stage
from kgitops.workflow.policies import OpenPolicies


class Planning(Struct, frozen=True, kw_only=True):
    """The inputs of a plan, for its stages.

    ``whole`` is the cluster as policies see it, if ``current`` leaves out what is as declared.
    ``fail_on`` is the grade of lowering at which a plan is denied.
    """

    cluster: Cluster
    desired: DesiredState
    current: ClusterState
    policies: OpenPolicies = OpenPolicies(Bundle())
    whole: ClusterState | None = None
    fail_on: Grade | None = None
    on_stage: OnStage = ignore_stage

    @property
    def seen(self) -> ClusterState:
        """The whole cluster."""
        return self.whole or self.current


Stage = Callable[[Plan, Planning], Plan]


def with_missing_names(plan: Plan, at: Planning) -> Plan:
    """Warn of rights on topics and groups that do not exist once the plan is applied."""
    warnings = warn_of_missing_names(at.desired, plan.changes, at.current, at.seen.topics)
    return replace(plan, warnings=(*plan.warnings, *warnings)) if warnings else plan


def with_unfinished_drift(plan: Plan, at: Planning) -> Plan:
    """Mark drift that an unfinished run of this project caused as its own.

    Raises:
        UnreachableError: the journal can't be read.
        SafetyError: it is damaged.
    """
    if not plan.drift:
        return plan
    made = {
        (change.address, field.path, field.after)
        for change in begun_changes(at.cluster.registry.read() or (), at.desired.project)
        for field in change.fields
    }
    return replace(
        plan,
        drift=tuple(
            replace(row, rule="unfinished") if (row.address, row.path, row.found) in made else row
            for row in plan.drift
        ),
    )


def with_doubtful_passwords(plan: Plan, at: Planning) -> Plan:
    """Warn of passwords that an unfinished run may have set, and that this plan leaves as they are.

    Raises:
        UnreachableError: the journal can't be read.
        SafetyError: it is damaged.
    """
    if not at.desired.of(DesiredUser):
        return plan
    begun = unconfirmed_requests(at.cluster.registry.read() or (), at.desired.project)
    maybe_applied = _passwords_set_by(begun) - _passwords_set_by(plan.requests)
    warnings = [
        Finding(
            source=user.located.at("spec", "scram"),
            problem=f"{user.address}: an apply that did not finish may have set the password of "
            f"{mechanism}, and this plan leaves it as it is",
            advice="run kgitops apply --resume first, which sets it",
            severity=Severity.WARNING,
        )
        for user in at.desired.of(DesiredUser)
        for mechanism in user.credentials
        if (user.name, mechanism) in maybe_applied
    ]
    return replace(plan, warnings=(*plan.warnings, *warnings)) if warnings else plan


def _passwords_set_by(requests: Iterable[PlannedRequest]) -> frozenset[tuple[str, ScramMechanism]]:
    due = (planned.request for planned in requests)
    return frozenset((request.user, request.mechanism) for request in due if sets_password(request))


def with_physical_requests(plan: Plan, at: Planning) -> Plan:
    """Add what each request is on a Kafka without virtual clusters, and what is not exact there."""
    support = at.cluster.capabilities.virtual_clusters
    return with_lowering(plan, at.current, support, at.desired.gateway)


def with_foreign_users(plan: Plan, at: Planning) -> Plan:
    """Add a finding for each user that the principal of the plan may not touch."""
    return with_foreign_users_refused(plan, at.seen)


def with_group_collisions(plan: Plan, at: Planning) -> Plan:
    """Warn of each group of a new virtual cluster whose physical id exists already (VC-117).

    A Kafka without virtual clusters can only tell before the virtual cluster exists: later its own
    members use the same id (VC-113). Nothing is read if the plan adds no such group.

    Raises:
        UnreachableError: the cluster can't be reached.
    """
    if at.cluster.capabilities.virtual_clusters is not VirtualClusterSupport.LOWERED:
        return plan
    groups = {
        physical_id(request.virtual_cluster, request.entity_name): change
        for change in plan.changes
        for request in (planned.request for planned in change.requests)
        if isinstance(request, AlterVirtualClusterRequest)
        and request.entity_type is EntityType.GROUP
        and request.change is ChangeType.ADD
        and request.entity_name is not None
        and request.virtual_cluster not in at.current.virtual_clusters
    }
    if not groups:
        return plan
    existing = at.cluster.read_group_offsets(frozenset(groups))
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


def with_grades_refused(plan: Plan, at: Planning) -> Plan:
    """Deny the plan if its lowering report has a line as bad as ``fail_on`` (``--fail-on``, §18).

    Each code has one reason, with its first subject; the report shows every line.
    """
    threshold = at.fail_on
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


def with_verdicts(plan: Plan, at: Planning) -> Plan:
    """Add the policies' results to each change, and the findings about waivers."""
    at.on_stage("asking the policies")
    return judge_plan(plan, at.policies.evaluator, at.seen, at.desired, at.policies.bundle)


def with_impact(plan: Plan, at: Planning) -> Plan:
    """Add the usage of the topics that the plan may hurt.

    Raises:
        UnreachableError: the cluster can't be reached.
    """
    names = topics_at_stake(plan)
    return add_usage(plan, at.cluster.read_usage(names)) if names else plan


_EMBEDDED = "embedded"


def with_validation(plan: Plan, at: Planning) -> Plan:
    """Let the brokers validate the requests ahead (``validate_only``); nothing is changed.

    The batches are those of an apply: a controller also limits requests that it only validates
    (A4-03). Embedded brokers judge by the project's policies too, without the requests planned
    before: denials that the policies give without these, too, are dropped.

    Raises:
        StaleError: another client changed an object meanwhile.
    """
    cluster, capabilities = at.cluster, at.cluster.capabilities
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
        at.on_stage(f"asking the brokers ({len(results):,} of {counted(len(requests), 'request')})")
        answers = cluster.execute(
            [requests[step.id] for step in batch], validate_only=True, principal=plan.principal
        )
        results |= {step.id: answer for step, answer in zip(batch, answers, strict=True)}
    if is_embedded:
        is_denied = denial_check(at.policies.evaluator, at.seen, principal=plan.principal)
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
