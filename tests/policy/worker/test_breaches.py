"""When it is no use to go on."""

from policy.worker.judgings import a_policy

from kgitops.policy.worker.breaches import Breaches
from kgitops.policy.worker.limits import Limits
from kgitops.policy.worker.process import Breach


def test_breaches_that_never_end_end_the_run():
    """P201-68: two policies may have six; the seventh is somebody's who is not asked any more."""
    breaches = Breaches([a_policy("good:Accepts"), a_policy("good:Odd")], Limits(breaches=3))

    for number in range(6):
        breaches.blame(Breach("ended its process", (number, number % 2)), "topic/a")
        assert not breaches.are_hopeless
    breaches.blame(Breach("ended its process", (6, 0)), "topic/a")

    assert breaches.are_hopeless
    assert {index: ban.since for index, ban in breaches.banned.items()} == {0: 4, 1: 5}
