"""Laws of access: what a plan says is lost, and that no order of its requests opens a window."""

from collections.abc import Callable, Sequence
from itertools import product

import pytest
from builders import a_binding, a_desired, a_quota, an_acl, applied, plan_of
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from laws.cluster_model import may
from strategies import HOSTS, TOPICS, bindings
from tiers import examples

from kgitops.model.requests import CreateAclRequest, DeleteAclRequest
from kgitops.model.resources.acls import AclBinding, Operation
from kgitops.plan import access, order
from kgitops.plan.document.plan import AccessLoss, Plan, PlannedRequest

Acls = frozenset[AclBinding]
Question = tuple[str, str, Operation, str]

OTHER = a_quota()
OPERATIONS = (Operation.READ, Operation.WRITE, Operation.DESCRIBE, Operation.ALTER)
QUESTIONS: Sequence[Question] = tuple(
    product(
        ("User:billing", "User:audit", "User:new"), (*HOSTS[1:], "10.9.9.9"), OPERATIONS,
        (*TOPICS, "else"),
    )
)  # fmt: skip
# Few names, so that most rules meet.
_patterns = st.sampled_from(
    [("literal", "orders"), ("literal", "*"), ("prefixed", "o"), ("prefixed", "orders")]
)
_meeting = st.builds(
    lambda principal, operation, pattern, host, permission: a_binding(
        principal, operation, pattern[1], pattern=pattern[0], host=host, permission=permission
    ),
    st.sampled_from(("User:billing", "User:*")),
    st.sampled_from(("Read", "Describe", "All")),
    _patterns,
    st.sampled_from(HOSTS),
    st.sampled_from(("Allow", "Deny")),
)
_rules = st.frozensets(_meeting | _meeting | bindings, max_size=5)


@st.composite
def edits(draw: st.DrawFn) -> tuple[Acls, Acls]:
    """Rules before and after: some stay, some go, some come."""
    before = draw(_rules)
    return before, frozenset(acl for acl in sorted(before) if draw(st.booleans())) | draw(_rules)


def plan_between(before: Acls, after: Acls) -> Plan:
    return plan_of(
        a_desired(OTHER, *map(an_acl, sorted(after))),
        applied(OTHER, *map(an_acl, sorted(before))),
    )


def allowed(acls: Acls) -> set[Question]:
    return {question for question in QUESTIONS if may(acls, *question)}


def every_loss_is_told(edit: tuple[Acls, Acls], _: st.DataObject) -> None:
    """Whatever somebody could do and can't any more is covered by a row of the plan."""
    before, after = edit
    losses = plan_between(before, after).access_losses
    for question in allowed(before) - allowed(after):
        assert any(covers(loss, question) for loss in losses)


def only_losses_are_told(edit: tuple[Acls, Acls], _: st.DataObject) -> None:
    """An Allow that stays, for the same and as wide, loses nothing."""
    before, after = edit
    if before <= after and not any(acl.permission_type == "Deny" for acl in after - before):
        assert not plan_between(before, after).access_losses
    for loss in plan_between(before, after).access_losses:
        assert not loss.resource.startswith("topic") or any(
            covers(loss, question) for question in everything_asked(loss, before, after)
        )


def no_order_opens_a_window(edit: tuple[Acls, Acls], data: st.DataObject) -> None:
    """At every instant all may what they may before and after, and nobody may more than that."""
    before, after = edit
    at_least, at_most = allowed(before) & allowed(after), allowed(before) | allowed(after)
    now = before
    left = list(plan_between(before, after).requests)
    done: set[str] = set()
    while left:
        ready = [planned for planned in left if done.issuperset(planned.depends_on)]
        planned = data.draw(st.sampled_from(ready), label="next")
        now = executed(now, planned)
        done.add(planned.id)
        left.remove(planned)
        assert at_least <= allowed(now) <= at_most
    assert now == after


def covers(loss: AccessLoss, question: Question) -> bool:
    principal, host, operation, topic = question
    resource, _, where = loss.resource.partition(" from ")
    kind, name, pattern = resource.split(" ")
    reached = name in ("*", topic) if pattern == "(literal)" else topic.startswith(name)
    return (
        kind == "topic"
        and reached
        and loss.principal in (principal, "User:*")
        and where in ("", host)
        and loss.operation == operation.value
    )


def everything_asked(loss: AccessLoss, before: Acls, after: Acls) -> set[Question]:
    """The questions that are lost, and new names that a pattern reaches and no list can hold."""
    operation = Operation(loss.operation)
    name = loss.resource.split(" ")[1]
    names = (*TOPICS, "else", "something", name, f"{name}-and-more")
    principals = (loss.principal, "User:new", "User:billing")
    hosts = (*HOSTS[1:], "10.9.9.9")
    return {
        (principal, host, operation, topic)
        for principal, host, topic in product(principals, hosts, names)
        if may(before, principal, host, operation, topic)
        and not may(after, principal, host, operation, topic)
    }


def executed(acls: Acls, planned: PlannedRequest) -> Acls:
    match planned.request:
        case CreateAclRequest(binding=binding):
            return acls | {binding}
        case DeleteAclRequest(binding=binding):
            return acls - {binding}
        case _:
            raise AssertionError(planned)


Law = Callable[[tuple[Acls, Acls], st.DataObject], None]


def tried(law: Law, number: int, *phases: Phase) -> Callable[[], None]:
    more = {"phases": phases, "database": None, "derandomize": True} if phases else {}
    return settings(max_examples=number, **more)(  # type: ignore[arg-type]
        given(edits(), st.data())(law)
    )


@pytest.mark.hypothesis
@pytest.mark.parametrize("law", [every_loss_is_told, only_losses_are_told, no_order_opens_a_window])
def test_the_law_holds(law: Law) -> None:
    tried(law, examples(400))()


def forget_what_is_implied(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(access, "_granted", lambda acl: frozenset({acl.operation}))


def forget_narrow_denies(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(access, "_meet", lambda allow, _, *, ranges: allow)


def overlook_what_stays(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(access._AccessComparison, "lost", lambda _, question: access._granted(question))


def wait_for_nothing(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(order.GlobalEdges, "first", lambda *_: iter(()))


@pytest.mark.parametrize(
    ("law", "mutate"),
    [
        (every_loss_is_told, forget_what_is_implied),
        (every_loss_is_told, forget_narrow_denies),
        (only_losses_are_told, overlook_what_stays),
        (no_order_opens_a_window, wait_for_nothing),
    ],
)
def test_the_law_catches_a_planner_that_would(
    law: Law, mutate: Callable[[pytest.MonkeyPatch], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    mutate(monkeypatch)
    with pytest.raises(AssertionError):
        tried(law, 500, Phase.generate)()
