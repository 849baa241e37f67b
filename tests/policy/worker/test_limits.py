"""When it is no use to go on."""

from policy.worker.judgings import a_policy

from kgitops.policy.worker.process import Limits, LimitViolation, LimitViolations


def test_breaches_that_never_end_end_the_run():
    """P201-68: two policies may have six; the seventh is somebody's who is not asked any more."""
    violations = LimitViolations(
        [a_policy("good:Accepts"), a_policy("good:Odd")], Limits(violations=3)
    )

    for number in range(6):
        violations.record(LimitViolation("ended its process", (number, number % 2)), "topic/a")
        assert not violations.too_many
    violations.record(LimitViolation("ended its process", (6, 0)), "topic/a")

    assert violations.too_many
    assert {index: ban.since for index, ban in violations.banned.items()} == {0: 4, 1: 5}
