"""A plan, findings, an apply and policies that hold a text wherever they hold text of others."""

from datetime import date

from msgspec.structs import replace
from report.plans import MIGRATION, TOPIC_ID, binding, make_plan, twelve_changes
from report.tenant_plans import created, grant, made_topic, member, removed

from kgitops.apply.events import ApplyStarted, Event, StepDone, StepFailed, Waiting, WaitReason
from kgitops.apply.result import ApplyResult, StepFailure
from kgitops.model import requests as req
from kgitops.model.lowered import Grade, LoweringLine
from kgitops.model.resources.acls import Operation, ResourceType
from kgitops.model.resources.addresses import (
    acl_address,
    quota_address,
    topic_address,
    virtual_cluster_address,
)
from kgitops.model.resources.kinds import Kind
from kgitops.model.resources.topics import RequestedTopicState
from kgitops.model.resources.virtual_clusters import EntityType, VirtualCluster
from kgitops.model.source import Finding, Severity, Source
from kgitops.model.verdict import ExitCode, Reason, decide
from kgitops.plan.document import risks
from kgitops.plan.document.plan import (
    AccessLoss,
    Action,
    Change,
    Desired,
    Drift,
    FieldChange,
    Kept,
    LoadedPolicy,
    Plan,
    PlannedRequest,
    PlanTarget,
    PolicyResult,
    Precondition,
)
from kgitops.policy.evaluate.bundle import (
    CelExpression,
    CelPolicy,
    CelValidation,
    Level,
    Outcome,
    PythonPolicy,
    RequestMatch,
    Waiver,
)
from kgitops.policy.testing import virtual_cluster
from kgitops.workflow.policy_descriptions import PolicyDescription
from kgitops.workflow.policy_tests.mutants.inspection import SettingOf
from kgitops.workflow.policy_tests.report import (
    CaseOutcome,
    Covered,
    MutationOutcome,
    PolicyTestReport,
    SuiteOutcome,
    Survivor,
)
from kgitops.workflow.policy_tests.report import Failure as FailedExpectation


def poisoned(text: str, *, many: int = 2) -> Plan:
    """A plan whose names, values, reasons, files, policies and waivers are all ``text``.

    ``many`` creations besides: above 20 they are folded where a view folds.
    """
    topic = twelve_changes().changes[0]
    field = FieldChange(
        path=f"configs.{text}",
        before=text,
        after=f"{text}.",
        risk=risks.CONFIG_CHANGE,
        note=text,
    )
    change = replace(
        topic,
        address=topic_address(text),
        because=text,
        source=Source(text, 1, 1),
        before={"name": text, "labels": {text: text}},
        fields=(field, replace(field, after=None, note=f"{text} will apply ({text})")),
        impact={"partitions": 1, "active_groups": [text], text: text},
        requests=tuple(_planned(text, n, request) for n, request in enumerate(_requests(text))),
        preconditions=(Precondition(object=text, exists=True, owner=text, fields={text: text}),),
        policies=_results(text),
    )
    finding = Finding(source=Source(text, 1, 1), problem=text, advice=text)
    return make_plan(
        change,
        _created(topic, text),
        replace(topic, address=acl_address(binding(text, text)), kind=Kind.ACL),
        replace(topic, address=quota_address((("user", text),)), kind=Kind.QUOTA),
        replace(topic, address=text, policies=change.policies),
        *_tenants(text),
        *(replace(_created(topic, f"{text}{n}"), because=text) for n in range(many)),
        lowering=(
            LoweringLine(code="L-NATIVE", grade=None, reason=text),
            LoweringLine(
                code="L-GROUP",
                grade=Grade.CLIENT,
                virtual_cluster=text,
                subject=text,
                reason=text,
                remedy=text,
            ),
        ),
        target=PlanTarget(name=text, backend=text, cluster_id=text),
        desired=Desired(project=text, identity=text, digest=text, git_sha=text, dirty=True),
        principal=text,
        policies_loaded=_policies(text),
        drift=(
            Drift(address=topic_address(text), path=text, last_applied=text, found="", rule=text),
            Drift(
                address=text,
                path="",
                last_applied=None,
                found=None,
                rule="stays",
                by=text,
                at="2026-11-21T09:12:00Z",
            ),
        ),
        kept=(Kept(address=text, rule=text),),
        access_losses=(AccessLoss(principal=text, operation=text, resource=text),),
        warnings=(replace(finding, severity=Severity.WARNING),),
        findings=(finding,),
        refusals=(Reason(exit=ExitCode.REFUSED, sentence=text),),
        allow_deletes={text: 1},
        allow_empty_folders=(text,),
    )


def _tenants(text: str) -> tuple[Change, ...]:
    """A virtual cluster, a topic, links, members and a right, all called ``text``."""
    copied = req.CopyGroupOffsetsRequest(virtual_cluster=text, group=text, source=text)
    link = member(text, EntityType.TOPIC, text, topic=text, replaces=f"{text}.")
    made = (
        created(text),
        made_topic(text, text),
        link,
        member(text, EntityType.GROUP, text, copied, adopts=text),
        member(text, EntityType.USER, text, moved_from=text),
        replace(removed(text, EntityType.CLIENT_ID, text), because=text),
        grant(text, text, Operation.READ, ResourceType.TOPIC, text),
    )
    return tuple(
        replace(
            change,
            source=Source(text, 1, 1),
            derived_from=(text, virtual_cluster_address(text)),
            requests=tuple(replace(planned, physical=(text,)) for planned in change.requests),
        )
        for change in made
    )


def poisoned_clusters(text: str) -> dict[str, VirtualCluster]:
    """Two virtual clusters that share a topic, in which everything is called ``text``."""
    return {
        name: virtual_cluster(
            name,
            users=[text],
            client_ids=[text],
            groups=[text],
            transactional_ids=[text],
            links={text: text},
        )
        for name in (text, f"{text}.")
    }


def poisoned_findings(text: str) -> list[Finding]:
    """One at a place and one nowhere."""
    finding = Finding(source=Source(text, 1, 1), problem=text, advice=text)
    return [finding, replace(finding, source=None)]


def poisoned_events(text: str) -> list[Event]:
    """One of each that holds text of others."""
    step = {"step": text, "address": text, "api": text}
    return [
        ApplyStarted(run_id=text, project=text, planned=1),
        StepDone(**step),
        StepFailed(**step, sentence=text),
        Waiting(reason=WaitReason.LOCK, sentence=text, steps=(text,)),
    ]


def poisoned_result(text: str) -> ApplyResult:
    """An apply that failed with a broker's words."""
    return ApplyResult(
        run_id=text,
        failed=(StepFailure(step=text, address=text, sentence=text),),
        not_attempted=(text,),
        verdict=decide([Reason(exit=ExitCode.PARTIAL, sentence=f"{text}.")], changes=False),
    )


def poisoned_policies(text: str) -> list[PolicyDescription]:
    """A policy in CEL and one in Python, as ``policy list`` and ``policy explain`` show them."""
    source = Source(text, 1, 1)
    told = {
        "name": text,
        "level": Level.SOFT,
        "digest": text,
        "description": text,
        "remediation": text,
        "source": source,
    }
    named = (CelExpression(name=text, expression=text, source=source),)
    rules = (
        CelValidation(expression=text, message=text, field=text, source=source),
        CelValidation(expression=text, message_expression=text, source=source),
    )
    policies = (
        CelPolicy(
            **told,
            match=RequestMatch(requests=(text,), names=(text,)),
            match_conditions=named,
            variables=named,
            validations=rules,
        ),
        PythonPolicy(**told, class_=text, configs={text: text}),
    )
    waiver = Waiver(
        name=text,
        policy=text,
        address=text,
        owner=text,
        reason=text,
        ticket=text,
        expires=date(2027, 1, 31),
        fingerprint=text,
        source=source,
    )
    return [
        PolicyDescription(
            policy=policy,
            cluster=text,
            default=Level.HARD,
            levels={text: Level.SOFT, f"{text}.": None},
            judges=(text,),
            docstring="" if isinstance(policy, CelPolicy) else text,
            settings=(SettingOf(key=text, meaning=text, default=text, given=text),),
            waivers=(waiver,),
            today=date(2026, 11, 21),
        )
        for policy in policies
    ]


def poisoned_tests(text: str) -> PolicyTestReport:
    """What came of testing policies: a case that failed, a rule not covered, a mutant alive."""
    source = Source(text, 1, 1)
    failure = FailedExpectation(source=source, expected=text, came=text, advice=text)
    case = CaseOutcome(name=text, source=source, failures=(failure,))
    suite = SuiteOutcome(name=text, policy=text, source=source, cases=(case,))
    covered = Covered(policy=text, rule=text, source=source, fired=True, silent=False)
    survivor = Survivor(source=source, what=text, excerpt=text)
    return PolicyTestReport(
        suites=(suite,),
        untested=(text,),
        covered=(covered, replace(covered, source=None)),
        least_covered=100.0,
        mutation=MutationOutcome(total=2, caught=1, timed_out=0, survivors=(survivor,)),
        least_score=90.0,
    )


def _created(change: Change, text: str) -> Change:
    return replace(
        change,
        address=topic_address(text),
        actions=(Action.CREATE,),
        risks=(risks.TOPIC_CREATE,),
        source=Source(text, 1, 1),
        before=None,
        after={"partitions": 1, "configs": {text: text}},
    )


def _requests(text: str) -> tuple[req.Request, ...]:
    state = RequestedTopicState(
        name=text, topic_id=None, assignment=((1,),), configs={text: text}, requested_configs={}
    )
    return (
        req.CreateTopicRequest(topic=text, requested_state=state),
        req.CreateAclRequest(binding=binding(text, text)),
        req.AlterClientQuotaRequest(entity=(("user", text),), quotas={text: 1.0}),
        req.DeleteTopicRequest(topic=text, topic_id=TOPIC_ID),
    )


def _planned(text: str, number: int, request: req.Request) -> PlannedRequest:
    return PlannedRequest(
        id=f"{text}#{number}",
        request=request,
        depends_on=(f"{text}#{number - 1}",) if number else (),
        expects=Precondition(object=text, exists=True, fields={text: text}),
    )


def _policies(text: str) -> tuple[LoadedPolicy, ...]:
    return tuple(
        LoadedPolicy(
            name=f"{text}{level}",
            level=level,
            digest=text,
            description=text,
            remediation=text,
            source=Source(text, 1, 1),
        )
        for level in Level
        if level is not Level.OFF
    )


def _results(text: str) -> tuple[PolicyResult, ...]:
    told = [
        PolicyResult(
            policy=policy.name,
            level=policy.level,
            outcome=Outcome.DENIED,
            message=text,
            request=text,
            field=text,
            source=Source(text, 2, 3),
            fingerprint=text,
        )
        for policy in _policies(text)
    ]
    soft = next(result for result in told if result.level is Level.SOFT)
    waived = [
        replace(
            soft,
            outcome=Outcome.WAIVED,
            message=f"{text}{expires}",
            waiver=replace(
                MIGRATION, name=text, owner=text, reason=text, ticket=text, expires=expires
            ),
        )
        for expires in (text, "2027-01-31")
    ]
    crashed = replace(told[0], message=f"{text}!", source=None, fingerprint=None)
    return (*told, *waived, crashed)
