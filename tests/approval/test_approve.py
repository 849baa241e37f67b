"""Nothing that a plan's own verdict refuses gets through, and nothing gets round the gate."""

import dataclasses
from datetime import UTC, datetime, timedelta

import pytest
from builders import a_cluster, a_desired, a_topic, plan_of
from msgspec.structs import replace

from kgitops.approval import ApprovedPlan, approve
from kgitops.model.errors import FindingsError, KgitopsError
from kgitops.model.source import Finding, Source
from kgitops.model.verdict import ExitCode, Reason
from kgitops.plan.document.file import SealedPlan, seal
from kgitops.plan.document.plan import Plan

NOW = datetime(2026, 11, 21, 9, 12, 7, tzinfo=UTC)


def _sealed(**changes: object) -> SealedPlan:
    plan: Plan = replace(plan_of(a_desired(a_topic()), a_cluster()), **changes)
    return seal(plan, captured_at="", created=NOW, expires=NOW + timedelta(days=1), nonce="n")


def test_a_plan_without_a_reason_to_stop_is_approved() -> None:
    sealed = _sealed()
    assert sealed.plan.changes
    assert approve(sealed).sealed is sealed


def test_an_empty_plan_is_approved() -> None:
    assert approve(_sealed(changes=())).sealed.plan.changes == ()


@pytest.mark.parametrize(
    "code",
    [
        ExitCode.ERROR,
        ExitCode.DENIED,
        ExitCode.STALE,
        ExitCode.REFUSED,
        ExitCode.LOCKED,
        ExitCode.UNREACHABLE,
        ExitCode.UNTRUSTED,
        ExitCode.USAGE,
    ],
)
def test_a_refused_plan_exits_with_its_own_code_and_sentence(code: ExitCode) -> None:
    with pytest.raises(KgitopsError, match="because of this") as caught:
        approve(_sealed(refusals=(Reason(exit=code, sentence="because of this"),)))
    assert caught.value.exit is code


def test_with_several_reasons_the_first_by_rank_gives_the_code_and_all_are_said() -> None:
    refusals = (
        Reason(exit=ExitCode.REFUSED, sentence="it is protected"),
        Reason(exit=ExitCode.DENIED, sentence="a policy says no"),
    )
    with pytest.raises(KgitopsError) as caught:
        approve(_sealed(refusals=refusals))
    assert caught.value.exit is ExitCode.DENIED
    assert str(caught.value) == "a policy says no\nit is protected"


def test_findings_come_out_as_findings() -> None:
    finding = Finding(source=Source("a.yaml", 3, 1), problem="fewer partitions", advice="add some")
    with pytest.raises(FindingsError) as caught:
        approve(_sealed(findings=(finding,)))
    assert caught.value.findings == (finding,)


@pytest.mark.parametrize("gate", [None, object(), "open"])
def test_an_approved_plan_cannot_be_made_otherwise(gate: object) -> None:
    with pytest.raises(TypeError, match="approve"):
        ApprovedPlan(_sealed(), gate)


def test_an_approved_plan_cannot_be_exchanged_for_another() -> None:
    approved = approve(_sealed())
    with pytest.raises(TypeError, match="approve"):
        dataclasses.replace(approved, sealed=_sealed(changes=()), gate=None)
