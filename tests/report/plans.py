"""Plans to render and to seal: a handful built by hand, and a strategy for any plan at all."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from functools import cache

from hypothesis import strategies as st
from model.request_strategies import any_text, requests, topic_ids
from msgspec.structs import replace

from kgitops.model import requests as req
from kgitops.model.cluster_state import Validator
from kgitops.model.registry import Owner
from kgitops.model.resources.acls import (
    AclBinding,
    Operation,
    PatternType,
    PermissionType,
    ResourceType,
)
from kgitops.model.resources.addresses import acl_address, topic_address
from kgitops.model.resources.kinds import Kind
from kgitops.model.resources.topics import RequestedTopicState
from kgitops.model.source import Finding, Severity, Source
from kgitops.model.verdict import ExitCode, Reason
from kgitops.plan.document import risks
from kgitops.plan.document.file import SealedPlan, seal
from kgitops.plan.document.plan import (
    AccessLoss,
    Action,
    Base,
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
    RegistryEnd,
    WaiverUse,
)
from kgitops.plan.document.risks import Risk, all_risks
from kgitops.policy.evaluate.bundle import Level, Outcome, fingerprint

TOPIC_ID = "pLbTz2s1R5eK0cQyA1b2Cg"


CREATED = datetime(2026, 11, 21, 9, 12, 7, tzinfo=UTC)


def sealed(plan: Plan, nonce: str = "n-1") -> SealedPlan:
    """The plan as it would be saved, good for a day."""
    return seal(
        plan,
        captured_at="2026-11-21T09:12:00Z",
        created=CREATED,
        expires=CREATED + timedelta(hours=24),
        nonce=nonce,
    )


def make_plan(*changes: Change, **more: object) -> Plan:
    """A plan for the cluster prod-eu with these changes."""
    values: dict[str, object] = {
        "target": PlanTarget(
            name="prod-eu", backend="embedded", cluster_id="5L6g3nShTeMCtKA8X86swQ"
        ),
        "desired": Desired(
            project="payments",
            identity="6f1c0c5e-6f0e-4a52-9d2b-0d7f3f1b9a11",
            digest="sha256:" + "d" * 64,
            git_sha="3f2a1b0c9d8e7f6a5b4c3d2e1f0a9b8c7d6e5f4a",
        ),
        "base": Base(
            digest="sha256:" + "b" * 64, registry=RegistryEnd(topic_id="reg", offset=str(2**60))
        ),
        "principal": "User:kgitops",
        "changes": changes,
        "managed_counts": {"Topic": 40, "Acl": 12},
    }
    return Plan(**{**values, **more})  # type: ignore[arg-type]


def create_topic(name: str, *, line: int = 3, partitions: int = 6) -> Change:
    """``+ topic NAME``."""
    state = RequestedTopicState(
        name=name,
        topic_id=None,
        assignment=((1, 2, 3),) * partitions,
        configs={"retention.ms": "604800000"},
        requested_configs={"retention.ms": "604800000"},
        generated_replica_assignments=True,
    )
    return _change(
        topic_address(name),
        Kind.TOPIC,
        Action.CREATE,
        (risks.TOPIC_CREATE,),
        because="it is declared",
        source=Source(f"topics/{name}.yaml", line, 1),
        requests=[req.CreateTopicRequest(topic=name, requested_state=state)],
        after={"name": name, "partitions": partitions, "configs": {"retention.ms": "604800000"}},
        impact={"partitions": partitions},
        owner_after=_owner({"kind": "Topic", "name": name}),
        exists=False,
    )


def delete_topic(name: str, *, topic_id: str = TOPIC_ID) -> Change:
    """``- topic NAME``, 48.2 GiB of it."""
    return _change(
        topic_address(name),
        Kind.TOPIC,
        Action.DELETE,
        (risks.TOPIC_DELETE,),
        because='the tombstone drop-orders-v1 names it: "replaced by orders.v2", JIRA-123',
        source=Source("tombstones.yaml", 12, 3),
        requests=[req.DeleteTopicRequest(topic=name, topic_id=topic_id)],
        before={"name": name, "topic_id": topic_id, "partitions": 12},
        impact={"partitions": 12, "bytes": "51754355917", "records": "18200345"},
        owner_before=_owner({"kind": "Topic", "name": name}, topic_id),
        topic_id=topic_id,
    )


def shrink_topic(name: str) -> Change:
    """``~ topic NAME`` with a shorter retention, more partitions and a config removed."""
    state = RequestedTopicState(
        name=name,
        topic_id=TOPIC_ID,
        assignment=((1, 2, 3),) * 12,
        configs={"retention.ms": "86400000"},
        requested_configs={"retention.ms": "86400000", "max.message.bytes": None},
    )
    grown = RequestedTopicState(
        name=name, topic_id=TOPIC_ID, assignment=((1, 2, 3),) * 24, configs=state.configs
    )
    return _change(
        topic_address(name),
        Kind.TOPIC,
        Action.UPDATE,
        (risks.RETENTION_SHRINK, risks.PARTITIONS_UP, risks.CONFIG_REMOVE),
        because="it differs from its document",
        source=Source("topics/payments.yaml", 3, 1),
        requests=[
            req.AlterTopicRequest(
                topic=name, topic_id=TOPIC_ID, step=req.AlterStep.CONFIGS, requested_state=state
            ),
            req.AlterTopicRequest(
                topic=name, topic_id=TOPIC_ID, step=req.AlterStep.PARTITIONS, requested_state=grown
            ),
        ],
        before={"name": name, "topic_id": TOPIC_ID, "partitions": 12},
        after={"name": name, "topic_id": TOPIC_ID, "partitions": 24},
        fields=(
            FieldChange(
                path="configs.retention.ms",
                before="604800000",
                after="86400000",
                risk=risks.RETENTION_SHRINK,
            ),
            FieldChange(
                path="configs.max.message.bytes",
                before="2097164",
                after=None,
                risk=risks.CONFIG_REMOVE,
                note="1048588 will apply (cluster default)",
            ),
            FieldChange(path="partitions", before="12", after="24", risk=risks.PARTITIONS_UP),
        ),
        impact={"partitions": 12, "bytes": "1610612736", "records": "120000"},
        owner_before=_owner({"kind": "Topic", "name": name}, TOPIC_ID),
        owner_after=_owner({"kind": "Topic", "name": name}, TOPIC_ID),
        topic_id=TOPIC_ID,
    )


def update_topic(name: str) -> Change:
    """``~ topic NAME``, nothing to worry about."""
    state = RequestedTopicState(
        name=name, topic_id=TOPIC_ID, assignment=((1, 2),), configs={"segment.bytes": "536870912"}
    )
    return _change(
        topic_address(name),
        Kind.TOPIC,
        Action.UPDATE,
        (risks.CONFIG_CHANGE,),
        because="it differs from its document",
        source=Source("topics/safe.yaml", 9, 1),
        requests=[
            req.AlterTopicRequest(
                topic=name, topic_id=TOPIC_ID, step=req.AlterStep.CONFIGS, requested_state=state
            )
        ],
        before={"name": name},
        after={"name": name},
        fields=(
            FieldChange(
                path="configs.segment.bytes",
                before="1073741824",
                after="536870912",
                risk=risks.CONFIG_CHANGE,
            ),
        ),
        topic_id=TOPIC_ID,
    )


def adopt_topic(name: str) -> Change:
    """``> topic NAME``."""
    return _change(
        topic_address(name),
        Kind.TOPIC,
        Action.ADOPT,
        (risks.TOPIC_ADOPT,),
        because="it is declared, exists, and nobody manages it",
        source=Source("topics/adopted.yaml", 1, 1),
        before={"name": name},
        after={"name": name},
        owner_after=_owner({"kind": "Topic", "name": name}, TOPIC_ID),
        topic_id=TOPIC_ID,
    )


def forget_topic(name: str) -> Change:
    """``. topic NAME``."""
    return _change(
        topic_address(name),
        Kind.TOPIC,
        Action.FORGET,
        (risks.TOPIC_FORGET,),
        because="its document is gone and its deletionPolicy is Orphan",
        source=None,
        before={"name": name},
        owner_before=_owner({"kind": "Topic", "name": name}, TOPIC_ID),
        topic_id=TOPIC_ID,
    )


def binding(principal: str, topic: str, operation: Operation = Operation.READ) -> AclBinding:
    """An Allow on one topic."""
    return AclBinding(
        resource_type=ResourceType.TOPIC,
        resource_name=topic,
        pattern_type=PatternType.LITERAL,
        principal=principal,
        host="*",
        operation=operation,
        permission_type=PermissionType.ALLOW,
    )


def acl_change(acl: AclBinding, action: Action) -> Change:
    """A binding that is granted or revoked."""
    create = action is Action.CREATE
    return _change(
        acl_address(acl),
        Kind.ACL,
        action,
        (risks.ACL_GRANT if create else risks.ACL_REVOKE,),
        because="it is declared" if create else "its document is gone",
        source=Source("acls/billing.yaml", 4, 1) if create else None,
        requests=[
            req.CreateAclRequest(binding=acl) if create else req.DeleteAclRequest(binding=acl)
        ],
        before=None if create else {"principal": acl.principal},
        after={"principal": acl.principal} if create else None,
        validated=Validator.NOT_SUPPORTED,
        exists=not create,
    )


def quota_change() -> Change:
    """A consumer's quota that is lowered."""
    return _change(
        "quota/user=billing",
        Kind.QUOTA,
        Action.UPDATE,
        (risks.QUOTA_LOWER,),
        because="it differs from its document",
        source=Source("quotas.yaml", 8, 1),
        requests=[
            req.AlterClientQuotaRequest(
                entity=(("user", "billing"),), quotas={"consumer_byte_rate": 5242880.0}
            )
        ],
        before={"entity": {"user": "billing"}},
        after={"entity": {"user": "billing"}},
        fields=(
            FieldChange(
                path="quotas.consumer_byte_rate",
                before="10485760",
                after="5242880",
                risk=risks.QUOTA_LOWER,
            ),
        ),
    )


@cache
def one_change() -> Plan:
    """The usual pull request."""
    return make_plan(create_topic("orders.v2"))


@cache
def twelve_changes() -> Plan:
    """A bit of everything, with warnings, drift and kept objects."""
    return make_plan(
        delete_topic("orders.v1"),
        acl_change(binding("User:billing", "orders.v1"), Action.DELETE),
        shrink_topic("payments"),
        quota_change(),
        update_topic("audit"),
        adopt_topic("legacy.events"),
        forget_topic("scratch"),
        create_topic("orders.v2"),
        create_topic("orders.v2.dlq", partitions=1),
        acl_change(binding("User:billing", "orders.v2"), Action.CREATE),
        acl_change(binding("User:audit", "orders.v2"), Action.CREATE),
        acl_change(binding("User:audit", "orders.v2", Operation.DESCRIBE), Action.CREATE),
        access_losses=(
            AccessLoss(principal="User:billing", operation="Read", resource="topic orders.v1"),
        ),
        drift=(
            Drift(
                address="topic/audit",
                path="configs.segment.bytes",
                last_applied="536870912",
                found="1073741824",
                rule="restored",
            ),
            Drift(
                address="topic/audit",
                path="configs.retention.ms",
                last_applied=None,
                found="-1",
                rule="undeclared",
            ),
        ),
        kept=(
            Kept(address="topic/theirs", rule="foreign"),
            Kept(address="topic/others", rule="foreign"),
            Kept(address="topic/staging-only", rule="excluded"),
        ),
        warnings=(
            Finding(
                source=Source("topics/payments.yaml", 7, 5),
                problem="min.insync.replicas is 3 of 3 replicas",
                advice="leave one broker to lose",
                severity=Severity.WARNING,
            ),
        ),
    )


@cache
def thousand_changes() -> Plan:
    """Where folding has to help and nothing bad may hide."""
    return make_plan(
        *(delete_topic(f"old.{n}") for n in range(3)),
        *(shrink_topic(f"metrics.{n}") for n in range(7)),
        *(update_topic(f"logs.{n}") for n in range(200)),
        *(create_topic(f"team-{n % 9}.events.{n}") for n in range(690)),
        *(acl_change(binding(f"User:app-{n}", "bus"), Action.CREATE) for n in range(100)),
        kept=tuple(Kept(address=f"topic/foreign.{n}", rule="foreign") for n in range(250)),
        allow_deletes={"Topic": 3},
        partial=True,
    )


@cache
def no_changes() -> Plan:
    """The best plan."""
    return make_plan()


@cache
def refused_plan() -> Plan:
    """Two rules refuse and a manifest asks for what Kafka can't do."""
    return make_plan(
        delete_topic("orders.v1"),
        refusals=(
            Reason(
                exit=ExitCode.REFUSED,
                sentence="topic/ledger is protected and its document is gone; "
                "write a Tombstone, or set deletionPolicy first",
            ),
            Reason(
                exit=ExitCode.REFUSED,
                sentence="topic/theirs belongs to project billing; take it out of the manifests",
            ),
        ),
        findings=(
            Finding(
                source=Source("topics/ledger.yaml", 6, 15),
                problem="topic ledger has 12 partitions and Kafka can't go down to 6",
                advice="keep 12, or make a new topic and move the data",
            ),
        ),
    )


POLICIES = tuple(
    LoadedPolicy(
        name=name,
        level=level,
        digest="sha256:" + "c" * 64,
        description=description,
        remediation=remediation,
        source=Source(f"policies/{name}.yaml", 1, 1),
    )
    for name, level, description, remediation in (
        (
            "replication-factor-range",
            Level.HARD,
            "A topic must survive the loss of one broker. Two copies do not.",
            "set replicationFactor to 3",
        ),
        ("team-prefix", Level.HARD, "Names begin with a team's name.", ""),
        ("retention-cap", Level.SOFT, "Disks are finite.", "lower retention.ms to 7 d"),
        ("labels", Level.ADVISORY, "", "name a team in metadata.labels"),
        ("compression", Level.INFO, "Compressed topics cost less.", ""),
    )
)
CRASH = (
    "the policy team-prefix failed on topic/scratch with KeyError: 'team' at rules.py line 3, so "
    "it denies; correct the policy"
)
MIGRATION = WaiverUse(
    name="audit-retention",
    owner="@data-platform",
    reason="until the archive has moved",
    ticket="OPS-12",
    expires="2027-01-31",
)


def judged(change: Change, *results: PolicyResult) -> Change:
    """The change with these results, and a pass of every policy that they don't name."""
    told = {result.policy for result in results}
    passed = tuple(
        PolicyResult(policy=policy.name, level=policy.level, outcome=Outcome.PASSED)
        for policy in POLICIES
        if policy.name not in told
    )
    return replace(change, policies=(*passed, *results))


def violation(
    change: Change, policy: str, message: str, *, waiver: WaiverUse | None = None, line: int = 7
) -> PolicyResult:
    """What ``policy`` says against the change, three lines below where its document begins."""
    file = change.source.file if change.source else None
    return PolicyResult(
        policy=policy,
        level=next(each.level for each in POLICIES if each.name == policy),
        outcome=Outcome.WAIVED if waiver else Outcome.DENIED,
        message=message,
        request=change.requests[0].id if change.requests else None,
        field="configs.retention.ms",
        source=Source(file, line, 24) if file else None,
        fingerprint=fingerprint(policy, change.address, message),
        waiver=waiver,
    )


def denied(change: Change, policy: str, message: str) -> Change:
    """The change with one violation."""
    return judged(change, violation(change, policy, message))


@cache
def passed_plan() -> Plan:
    """Nothing to object."""
    return make_plan(
        judged(create_topic("orders.v2")), judged(update_topic("audit")), policies_loaded=POLICIES
    )


@cache
def judged_plan() -> Plan:
    """Of everything that policies can say one or two."""
    orders, audit, gone = create_topic("orders.v2"), update_topic("audit"), forget_topic("scratch")
    return make_plan(
        judged(
            orders,
            violation(orders, "replication-factor-range", "replication factor 2 is below 3"),
            violation(orders, "retention-cap", "retention 30 d is above 7 d", line=9),
            violation(orders, "labels", "no team is named", line=2),
        ),
        judged(
            audit,
            violation(audit, "retention-cap", "retention 90 d is above 7 d", waiver=MIGRATION),
            violation(audit, "compression", "", line=12),
        ),
        # A policy that crashed: no place, no fingerprint, and it can't be waived.
        judged(
            gone,
            PolicyResult(
                policy="team-prefix",
                level=Level.HARD,
                outcome=Outcome.DENIED,
                message=CRASH,
            ),
        ),
        judged(delete_topic("orders.v1")),
        judged(create_topic("orders.v3")),
        policies_loaded=POLICIES,
    )


@cache
def three_denials() -> Plan:
    """The same words of one policy, and other words of another."""
    names = ("a", "b", "c")
    return make_plan(
        *(
            judged(
                change,
                violation(change, "replication-factor-range", "replication factor 2 is below 3"),
                violation(change, "team-prefix", f"topic {name} does not begin with a team's name"),
            )
            for name in names
            for change in (create_topic(name),)
        ),
        policies_loaded=POLICIES,
    )


@cache
def many_denials(count: int = 30, *, others: int | None = None) -> Plan:
    """Everybody forgot the same, among as many changes, or ``others``, that nobody objects to."""
    others = count if others is None else others
    return make_plan(
        *(
            denied(
                create_topic(f"team-{n % 7}.events.{n}"),
                "replication-factor-range",
                "replication factor 2 is below 3",
            )
            for n in range(count)
        ),
        *(denied(create_topic(f"other.{n}"), "labels", "no team is named") for n in range(others)),
        *(judged(create_topic(f"good.{n}")) for n in range(others)),
        policies_loaded=POLICIES,
    )


ALL_PLANS = {
    "no_changes": no_changes,
    "one_change": one_change,
    "twelve_changes": twelve_changes,
    "thousand_changes": thousand_changes,
    "refused": refused_plan,
    "passed": passed_plan,
    "judged": judged_plan,
    "three_denials": three_denials,
    "many_denials": many_denials,
}

_sources = st.none() | st.builds(
    Source, file=any_text, line=st.integers(1, 9999), column=st.integers(1, 200)
)
_json_objects = st.dictionaries(
    any_text, st.none() | any_text | st.integers(0, 9) | st.lists(any_text, max_size=2), max_size=3
)
_preconditions = st.builds(
    Precondition,
    object=any_text,
    exists=st.booleans(),
    topic_id=st.none() | topic_ids,
    owner=st.none() | any_text,
    fields=st.dictionaries(any_text, st.none() | any_text, max_size=2),
)
_owners = st.none() | st.builds(
    Owner,
    project=any_text,
    last_applied=_json_objects,
    topic_id=st.none() | topic_ids,
    adopted=st.booleans(),
    spent=st.booleans(),
)
_planned_requests = st.builds(
    PlannedRequest,
    id=any_text,
    request=requests,
    depends_on=st.lists(any_text, max_size=2).map(tuple),
    validated=st.sampled_from(Validator),
    expects=_preconditions,
)
_fields = st.builds(
    FieldChange,
    path=any_text,
    before=st.none() | any_text,
    after=st.none() | any_text,
    risk=st.none() | st.sampled_from(all_risks()),
    note=st.none() | any_text,
)
_levels = st.sampled_from([level for level in Level if level is not Level.OFF])
_passed = st.builds(
    PolicyResult, policy=any_text, level=_levels, outcome=st.just(Outcome.PASSED), message=any_text
)
_waivers = st.builds(
    WaiverUse,
    name=any_text,
    owner=any_text,
    reason=any_text,
    ticket=any_text,
    expires=st.dates().map(str) | any_text,
)
_told = {
    "policy": any_text,
    "message": any_text,
    "request": st.none() | any_text,
    "field": st.none() | any_text,
    "source": _sources,
    "fingerprint": st.none() | any_text,
}
_results = (
    _passed
    | st.builds(PolicyResult, outcome=st.just(Outcome.DENIED), level=_levels, **_told)
    | st.builds(
        PolicyResult,
        outcome=st.just(Outcome.WAIVED),
        level=st.just(Level.SOFT),
        waiver=_waivers,
        **_told,
    )
)
_loaded = st.builds(
    LoadedPolicy,
    name=any_text,
    level=_levels,
    digest=any_text,
    description=any_text,
    remediation=any_text,
    source=_sources,
)
changes = st.builds(
    Change,
    address=any_text,
    kind=st.sampled_from(Kind),
    actions=st.lists(st.sampled_from(Action), min_size=1, max_size=2, unique=True).map(tuple),
    risks=st.sets(st.sampled_from(all_risks()), min_size=1, max_size=3).map(risks.worst_first),
    because=any_text,
    policies=st.lists(_results, max_size=3).map(tuple),
    source=_sources,
    before=st.none() | _json_objects,
    after=st.none() | _json_objects,
    fields=st.lists(_fields, max_size=2).map(tuple),
    preconditions=st.lists(_preconditions, max_size=2).map(tuple),
    requests=st.lists(_planned_requests, max_size=2).map(tuple),
    owner_before=_owners,
    owner_after=_owners,
    impact=st.fixed_dictionaries(
        {},
        optional={
            "partitions": st.integers(0, 9),
            "bytes": st.integers(0, 2**63).map(str),
            "records": st.integers(0, 2**63).map(str),
        },
    ),
)
findings = st.builds(
    Finding,
    source=_sources,
    problem=any_text,
    advice=any_text,
    severity=st.sampled_from(Severity),
)
_REFUSALS = (ExitCode.ERROR, ExitCode.DENIED, ExitCode.STALE, ExitCode.REFUSED)
_counts = st.dictionaries(any_text, st.integers(0, 99), max_size=2)
any_plan = st.builds(
    Plan,
    target=st.builds(PlanTarget, name=any_text, backend=any_text, cluster_id=any_text),
    desired=st.builds(
        Desired,
        project=any_text,
        identity=any_text,
        digest=any_text,
        git_sha=st.none() | any_text,
        dirty=st.booleans(),
    ),
    base=st.builds(
        Base,
        digest=any_text,
        registry=st.none()
        | st.builds(RegistryEnd, topic_id=any_text, offset=st.integers(-1, 2**63 - 1).map(str)),
    ),
    principal=any_text,
    policies_loaded=st.lists(_loaded, max_size=3).map(tuple),
    changes=st.lists(changes, max_size=3).map(tuple),
    drift=st.lists(
        st.builds(
            Drift,
            address=any_text,
            path=any_text,
            last_applied=st.none() | any_text,
            found=st.none() | any_text,
            rule=any_text,
        ),
        max_size=2,
    ).map(tuple),
    kept=st.lists(st.builds(Kept, address=any_text, rule=any_text), max_size=2).map(tuple),
    access_losses=st.lists(
        st.builds(
            AccessLoss,
            principal=any_text,
            operation=any_text,
            resource=any_text,
            requester=st.booleans(),
        ),
        max_size=2,
    ).map(tuple),
    warnings=st.lists(findings, max_size=2).map(tuple),
    findings=st.lists(findings, max_size=2).map(tuple),
    refusals=st.lists(
        st.builds(Reason, exit=st.sampled_from(_REFUSALS), sentence=any_text), max_size=2
    ).map(tuple),
    partial=st.booleans(),
    allow_deletes=_counts,
    allow_empty_folders=st.lists(any_text, max_size=2).map(tuple),
    managed_counts=_counts,
)


def _owner(last_applied: dict[str, object], topic_id: str | None = None) -> Owner:
    return Owner(
        project="6f1c0c5e-6f0e-4a52-9d2b-0d7f3f1b9a11",
        topic_id=topic_id,
        last_applied={**last_applied, "deletionPolicy": "Protect"},
    )


def _change(
    address: str,
    kind: Kind,
    action: Action,
    codes: tuple[Risk, ...],
    *,
    requests: Sequence[req.Request] = (),
    validated: Validator = Validator.BROKER,
    exists: bool = True,
    topic_id: str | None = None,
    **more: object,
) -> Change:
    expects = Precondition(object=address, exists=exists, topic_id=topic_id)
    planned = tuple(
        PlannedRequest(
            id=f"{address}#{n}",
            request=request,
            depends_on=(f"{address}#{n - 1}",) if n else (),
            validated=Validator.NOT_SUPPORTED
            if isinstance(request, req.DeleteTopicRequest)
            else validated,
            expects=expects,
        )
        for n, request in enumerate(requests)
    )
    values = {"before": None, "after": None, "preconditions": (expects,), **more}
    return Change(
        address=address,
        kind=kind,
        actions=(action,),
        risks=codes,
        requests=planned,
        **values,  # type: ignore[arg-type]
    )
