"""The rate of a throttle, of which a plan file may say anything."""

import pytest
from builders import a_desired, a_topic, a_topic_state, applied, plan_of, with_changes
from msgspec.structs import replace

from kgitops.apply.rights.guard import broker_problem
from kgitops.desired.state import Safety
from kgitops.model.cluster_state import Broker
from kgitops.model.resources.kinds import Kind
from kgitops.plan.document.plan import Plan


def moving() -> Plan:
    before = a_topic(assignment=((1, 2), (2, 3)))
    current = with_changes(
        applied(before, brokers=[Broker(id=number) for number in (1, 2, 3)]),
        a_topic_state(assignment=before.assignment),
    )
    moved = a_desired(
        a_topic(assignment=((1, 3), (2, 3))), safety=Safety(replication_throttle=1000)
    )
    return plan_of(moved, current)


def problem(rate: str | None) -> str | None:
    plan = moving()
    change = next(it for it in plan.changes if it.kind is Kind.BROKER)
    first, *rest = change.requests
    configs = {key: rate or value for key, value in first.request.configs.items()}
    forged = replace(first, request=replace(first.request, configs=configs))
    found = Broker(id=first.request.broker)
    return broker_problem(replace(change, requests=(forged, *rest)), found, plan)


def test_the_rate_of_the_project_is_one() -> None:
    assert problem(None) is None


@pytest.mark.parametrize(
    "rate",
    ["0", "-1", "1.5", "1_000", " 1", "\u0661", "9" * 20, pytest.param("9" * 5_000, id="endless")],
)
def test_what_brokers_could_not_keep_is_none(rate: str) -> None:
    said = problem(rate) or ""
    assert said.endswith("set to something that is not a rate")
