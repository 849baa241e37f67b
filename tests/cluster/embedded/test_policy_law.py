"""The law: of each request, plan, dry run and real run have the same verdict, in one batch."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from itertools import count

import pytest
from cluster.clusters import NOON
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from laws.chains import assert_caught
from strategies import (
    BROKERS,
    HIGH_WATERMARK,
    ITERATIONS,
    SALTED,
    TEAMS,
    TOPICS,
    foreign_requests,
    projects,
)
from tiers import examples, is_full
from used import used, with_users

from kgitops.cluster.embedded import policy_hook as broker_policies
from kgitops.cluster.embedded.adapter import EmbeddedCluster
from kgitops.cluster.embedded.boot import boot
from kgitops.cluster.embedded.controls import topics as topic_control
from kgitops.cluster.embedded.draft import Draft
from kgitops.cluster.embedded.options import ClockAndIds
from kgitops.model.requests import (
    AlterUserScramCredentialsRequest,
    Request,
    SaltedCredentialsRequest,
    request_address,
)
from kgitops.model.resources.users import ScramMechanism
from kgitops.model.results import ErrorCode, RequestResult
from kgitops.plan.planner import make_plan
from kgitops.policy import (
    AclManagementPolicy,
    BaseTopicPolicy,
    ClientQuotaManagementPolicy,
    ClusterState,
    PolicyViolation,
    UserManagementPolicy,
)
from kgitops.policy.api.interfaces import Configurable
from kgitops.policy.api.requests import PolicyRequest
from kgitops.policy.evaluate.bundle import Bundle, Level, PythonPolicy, RequestRulings, Waiver
from kgitops.policy.evaluate.judge import InProcessEvaluator
from kgitops.policy.python_rule import PythonRule
from kgitops.workflow.reading import with_offsets

PRINCIPAL = "User:payments"
PLACEHOLDER = Bundle(policies=(PythonPolicy(name="x", level=Level.HARD, digest="", class_="a:B"),))


# Policies of every kind: on what is asked, what is there, both, who asks, and what fails


@dataclass
class PartitionCap(BaseTopicPolicy):
    most: int

    def validate_create_topic(self, request, cluster_state: ClusterState) -> None:
        self._check(request, cluster_state, 0)

    def validate_alter_topic(self, request, cluster_state: ClusterState) -> None:
        before = cluster_state.topic_state(request.topic)
        self._check(request, cluster_state, before.num_partitions if before else 0)

    def _check(self, request, cluster_state: ClusterState, before: int) -> None:
        total = cluster_state.partitions() - before + request.requested_state.num_partitions
        if total > self.most:
            raise PolicyViolation(f"{total} partitions are more than {self.most}")


@dataclass
class Replication(BaseTopicPolicy):
    least: int

    def validate_create_topic(self, request, cluster_state) -> None:
        state = request.requested_state
        if state.replication_factor < self.least and state.generated_replica_assignments:
            raise PolicyViolation(f"{state.replication_factor} replicas", field="replicationFactor")

    def validate_alter_topic(self, request, cluster_state) -> None:
        lists = request.requested_state.replicas_assignments.values()
        if min(map(len, lists)) < self.least:
            raise PolicyViolation(f"{request.requested_state.assignment}")


@dataclass
class FrozenConfig(BaseTopicPolicy):
    key: str

    def validate_create_topic(self, request, cluster_state) -> None:
        if self.key in request.requested_state.requested_configs:
            raise PolicyViolation(request.requested_state.configs[self.key])

    def validate_alter_topic(self, request, cluster_state: ClusterState) -> None:
        before = cluster_state.topic_state(request.topic)
        was = before.configs.get(self.key) if before else None
        will = request.requested_state.configs.get(self.key)
        if was != will:
            raise PolicyViolation(f"{was} to {will} by {request.requested_state.requested_configs}")


@dataclass
class Protected(BaseTopicPolicy):
    topic: str

    def validate_delete_topic(self, request, cluster_state: ClusterState) -> None:
        there = cluster_state.topic_state(request.topic)
        if request.topic == self.topic and there is not None:
            raise PolicyViolation(f"{there.num_partitions} partitions stay")

    def validate_delete_records(self, request, cluster_state) -> None:
        if request.topic == self.topic:
            raise PolicyViolation(f"{dict(request.deleted_message_offsets)}")


@dataclass
class Access(AclManagementPolicy, ClientQuotaManagementPolicy):
    word: str
    ceiling: float

    def validate_create_acl(self, request, cluster_state: ClusterState) -> None:
        if self.word in str(request.binding):
            raise PolicyViolation(f"{self.word} beside {len(cluster_state.acls())}")

    def validate_delete_acl(self, request, cluster_state: ClusterState) -> None:
        if self.word in str(request.binding) and request.binding in cluster_state.acls():
            raise PolicyViolation(f"{self.word} stays")

    def validate_alter_client_quota(self, request, cluster_state: ClusterState) -> None:
        total = sum(request.requested_state.quotas.values())
        if total > self.ceiling:
            raise PolicyViolation(f"{dict(cluster_state.quotas(request.entity))} to {total}")


@dataclass
class Credentials(UserManagementPolicy):
    mechanism: str
    least: int

    def validate_alter_user_scram_credentials(self, request, cluster_state: ClusterState) -> None:
        held = dict(cluster_state.user_credentials(request.user))
        if request.iterations is None:
            if len(held) == 1:
                raise PolicyViolation(f"{request.user} has only {held}")
        elif request.mechanism == self.mechanism:
            raise PolicyViolation(f"{self.mechanism} beside {held}", field="scram")
        elif request.iterations < self.least:
            raise PolicyViolation(f"{request.iterations} iterations")


@dataclass
class Fails(BaseTopicPolicy):
    topic: str

    def validate_create_topic(self, request: PolicyRequest, cluster_state) -> None:
        if getattr(request, "topic", None) == self.topic:
            raise ZeroDivisionError

    validate_alter_topic = validate_create_topic
    validate_delete_topic = validate_create_topic


user_policies: st.SearchStrategy[Configurable] = st.builds(
    Credentials, st.sampled_from(ScramMechanism), st.sampled_from(ITERATIONS)
)
policies: st.SearchStrategy[Configurable] = st.one_of(
    st.builds(PartitionCap, st.integers(1, 12)),
    st.builds(Replication, st.integers(1, 3)),
    st.builds(FrozenConfig, st.sampled_from(("retention.ms", "cleanup.policy", "preallocate"))),
    st.builds(Protected, st.sampled_from(TOPICS)),
    st.builds(Access, st.sampled_from(("All", "User:*", "Deny")), st.sampled_from((2.0, 2000.0))),
    user_policies,
    st.builds(Fails, st.sampled_from(TOPICS)),
)
waivers = st.builds(
    lambda policy, name: Waiver(
        name="w",
        policy=policy,
        address=f"topic/{name}",
        owner="o",
        reason="r",
        ticket="t",
        expires=date(2999, 1, 1),
    ),
    st.sampled_from(("policy-0", "policy-1")),
    st.sampled_from(TOPICS),
)


seen: Counter[int | str] = Counter()
"""How often each code was the verdict, and how often of a request about a user."""


def one_verdict_in_three_places(data: st.DataObject) -> None:
    """A plan, a dry run and a change are judged alike."""
    _one_verdict(data, policies)


def one_verdict_on_users(data: st.DataObject) -> None:
    """The same where all policies are on users: few of all requests have one that is denied."""
    _one_verdict(data, user_policies)


def _one_verdict(data: st.DataObject, of: st.SearchStrategy[Configurable]) -> None:
    chosen = data.draw(st.lists(of, min_size=1, max_size=4), label="policies")
    levels = [data.draw(st.sampled_from(list(Level)[1:]), label="level") for _ in chosen]
    lifted = data.draw(st.lists(waivers, max_size=1), label="waivers")

    def judge() -> InProcessEvaluator:
        rules = [
            PythonRule(f"policy-{number}", level, policy)
            for number, (level, policy) in enumerate(zip(levels, chosen, strict=True))
        ]
        return InProcessEvaluator(rules, lifted)

    numbers = count()
    cluster = boot(
        None,
        brokers=BROKERS,
        clock_and_ids=ClockAndIds(now=lambda: NOON, new_id=lambda: f"id-{next(numbers)}"),
        policies=PLACEHOLDER,
        open_evaluator=lambda _: judge(),
    )
    try:
        held, cluster.controller.policies = cluster.controller.policies, None
        _disturb(data, cluster)
        requests = _planned(data, cluster)
        accepted = _asked(cluster, requests, validate_only=True)
        assume(all(result.ok for result in accepted))
        cluster.controller.policies = held

        in_the_plan = judge()
        state = with_users(cluster)
        in_the_plan.begin(state, principal=PRINCIPAL)
        batch = _without_what_follows_a_denial(in_the_plan, requests)
        in_the_plan.begin(state, principal=PRINCIPAL)
        said = [_as_answer(judgement) for judgement in in_the_plan.judge_all(batch)]
        before = cluster.read_state()
        for validate_only in (True, True, False):
            assert cluster.read_state() == before
            answers = _asked(cluster, batch, validate_only=validate_only)
            assert [_verdict(answer) for answer in answers] == said
        seen.update(code for code, _ in said)
        seen.update(
            f"user {code.name}"
            for request, (code, _) in zip(batch, said, strict=True)
            if isinstance(request, AlterUserScramCredentialsRequest)
        )
    finally:
        cluster.close()


def _disturb(data: st.DataObject, cluster: EmbeddedCluster) -> None:
    for _ in range(2):
        for request in data.draw(foreign_requests(used(cluster)), label="others"):
            cluster.execute([request], validate_only=False, principal="User:someone")
    for name, usage in used(cluster).usage.items():
        for partition in range(len(usage.high_watermarks)):
            cluster.produce(name, partition, HIGH_WATERMARK, 10)


def _planned(data: st.DataObject, cluster: EmbeddedCluster) -> Sequence[Request]:
    state = with_users(cluster)
    desired = data.draw(projects(TEAMS[0], None, state, users=True), label="desired")
    plan = make_plan(
        desired,
        with_offsets(cluster, desired, state),
        target_name="local",
        capabilities=cluster.capabilities,
    )
    others = data.draw(foreign_requests(state), label="and by hand")
    planned = [_with_password(planned.request) for planned in plan.requests]
    touched = {request_address(request) for request in planned}
    return [*planned, *(item for item in others if request_address(item) not in touched)]


def _with_password(request: Request) -> Request:
    """As an apply sends it."""
    if not isinstance(request, AlterUserScramCredentialsRequest) or request.removes:
        return request
    return SaltedCredentialsRequest(
        user=request.user,
        mechanism=request.mechanism,
        iterations=request.iterations,
        salted=SALTED,
    )


def _without_what_follows_a_denial(
    judge: InProcessEvaluator, requests: Sequence[Request]
) -> list[Request]:
    """A step builds on the one before: where that is denied, the next was never meant."""
    batch: list[Request] = []
    denied: set[str] = set()
    for request in requests:
        if request_address(request) in denied:
            continue
        batch.append(request)
        if judge.judge(request).stops:
            denied.add(request_address(request))
        else:
            judge.accept(request)
    return batch


def _asked(
    cluster: EmbeddedCluster, requests: Sequence[Request], *, validate_only: bool
) -> Sequence[RequestResult]:
    return cluster.execute(requests, validate_only=validate_only, principal=PRINCIPAL)


def _as_answer(judgement: RequestRulings) -> tuple[ErrorCode, str | None]:
    """What a broker has to answer: failures have no words for who asks."""
    stopping = [ruling for ruling in judgement if ruling.stops]
    words = [ruling.message for ruling in stopping if not ruling.crashed]
    if words:
        return ErrorCode.POLICY_VIOLATION, "; ".join(words)
    return (ErrorCode.UNKNOWN_SERVER_ERROR, None) if stopping else (ErrorCode.NONE, None)


def _verdict(answer: RequestResult) -> tuple[int, str | None]:
    is_failure = answer.code is ErrorCode.UNKNOWN_SERVER_ERROR
    return answer.code, None if is_failure else answer.message


@pytest.mark.hypothesis
def test_three_places_have_one_verdict() -> None:
    """P201-11, P201-41, P201-76, P108-20, P108-26: whatever the plan, and whatever the policies."""
    seen.clear()
    settings(max_examples=examples(250))(given(st.data())(one_verdict_in_three_places))()
    settings(max_examples=examples(250))(given(st.data())(one_verdict_on_users))()
    # A law that is only tried where it is easy says nothing.
    if is_full():
        assert seen[ErrorCode.NONE] > 100
        assert seen[ErrorCode.POLICY_VIOLATION] > 20
        assert seen["user NONE"] > 20
        assert seen["user POLICY_VIOLATION"] > 5


@pytest.mark.slow
def test_brokers_that_do_not_ask_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(broker_policies, "_refuse", lambda _: None)
    assert_caught(one_verdict_in_three_places)


@pytest.mark.slow
def test_brokers_that_forget_what_they_accepted_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Draft, "accept", lambda *_: None)
    assert_caught(one_verdict_in_three_places)


@pytest.mark.slow
def test_brokers_that_forget_the_mechanisms_of_users_are_caught(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    real = Draft.accept

    def accept(draft: Draft, request: Request) -> None:
        if not isinstance(request, AlterUserScramCredentialsRequest):
            real(draft, request)

    monkeypatch.setattr(Draft, "accept", accept)
    assert_caught(one_verdict_on_users)


@pytest.mark.slow
def test_brokers_that_trust_a_dry_run_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """What was only judged is not there: the next batch must not see it."""
    real = broker_policies.BrokerPolicies.end

    def believing(policies: broker_policies.BrokerPolicies, image: object) -> None:
        draft = policies._draft
        real(policies, None)
        if draft is not None:
            policies._held = draft.image, draft.authorizer.principal

    monkeypatch.setattr(broker_policies.BrokerPolicies, "end", believing)
    assert_caught(one_verdict_in_three_places)


@pytest.mark.slow
def test_brokers_that_lose_who_placed_replicas_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    real = topic_control.create_topic_request

    def manual(name: str, **how: object) -> object:
        return real(name, **{**how, "generated": False})  # type: ignore[arg-type]

    monkeypatch.setattr(topic_control, "create_topic_request", manual)
    assert_caught(one_verdict_in_three_places)
