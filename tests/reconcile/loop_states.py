"""States of a loop as values: what listeners, metrics and the page are asked about."""

from pathlib import Path

from msgspec.structs import replace

from kgitops.model.verdict import ExitCode, Reason
from kgitops.reconcile.loop_status import LoopStatus, UnitStatus
from kgitops.reconcile.revision import Revision
from kgitops.reconcile.status import PendingPlan, Suspension, TurnOutcome, TurnResult

REVISION = Revision(
    name="3f1c0c5e6f0e4a529d2b0d7f3f1b9a11deadbeef",
    folder=Path("/nowhere/checkout"),
    branch="https://example.com/org/payments main",
    signed_by="alice@example.com",
)
SUSPENSION = Suspension(
    by="User:alice",
    since="2026-11-24T08:00:00Z",
    reason="migration of the brokers",
    until="2026-11-26T08:00:00Z",
)
DIGEST = "sha256:" + "ab" * 32
PENDING = PendingPlan(
    digest=DIGEST,
    path="/nowhere/plans/plan.json",
    since="2026-11-23T10:00:00Z",
    expires="2026-11-26T10:00:00Z",
    actions={"delete": 2, "update": 1},
    levels={"data-loss": 2, "disruptive": 1},
    changes={"delete": {"data-loss": 2}, "update": {"disruptive": 1}},
)


def turn(number: int = 1, **given: object) -> TurnResult:
    """A turn that found nothing to do, but for what is given."""
    plain = TurnResult(
        project="payments",
        cluster="prod",
        number=number,
        mode="converge",
        started=f"2026-11-24T10:{number % 60:02}:00Z",
        ended=f"2026-11-24T10:{number % 60:02}:04Z",
        seconds=4.25,
        outcome=TurnOutcome.IN_SYNC,
        exit=ExitCode.SUCCESS,
        revision=REVISION.name,
        registry_records=41,
        stages={"fetch": 0.2, "read": 1.5, "plan": 2.0, "policy": 0.25, "apply": 0.3},
    )
    return replace(plain, **given)


def failed(number: int = 2) -> TurnResult:
    """A turn that reached no broker."""
    sentence = "no broker of b1.example.com:9093 answers; see that it is up"
    return turn(
        number,
        outcome=TurnOutcome.FAILED,
        exit=ExitCode.UNREACHABLE,
        reasons=(Reason(exit=ExitCode.UNREACHABLE, sentence=sentence),),
    )


def unit(**given: object) -> UnitStatus:
    """A unit that is in sync after one turn, but for what is given."""
    plain = UnitStatus(
        project="payments",
        cluster="prod",
        mode="converge",
        turns=(turn(),),
        next_turn="2026-11-24T10:06:00Z",
        last_success="2026-11-24T10:01:04Z",
        revision=REVISION,
    )
    return replace(plain, **given)


def loop(*units: UnitStatus, **given: object) -> LoopStatus:
    """A loop with these units that was last seen to run when its clock said 1000."""
    plain = LoopStatus(
        version="0.1.0",
        started="2026-11-24T09:00:00Z",
        heartbeat=1000.0,
        interval=300.0,
        units=units,
    )
    return replace(plain, **given)
