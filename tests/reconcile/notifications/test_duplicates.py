"""The same plan or failure is told once, and again after things were in order."""

from reconcile.notifications.receivers import event

from kgitops.reconcile.events import EventKind
from kgitops.reconcile.notifications.duplicates import Duplicates

KIND = EventKind


def told(*events) -> list[bool]:
    duplicates = Duplicates()
    return [duplicates.is_new(one) for one in events]


def test_a_plan_is_told_once_by_its_digest():
    again = event(at="2026-11-25T00:00:00Z", sentence="in other words")
    other = event(plan_digest="sha256:2")
    assert told(event(), again, other, event()) == [True, False, True, False]


def test_after_it_was_applied_the_same_plan_is_news():
    applied = event(KIND.APPLIED)
    assert told(event(), applied, event(), applied) == [True, True, True, True]
    assert told(event(), event(KIND.SYNCED), event()) == [True, True, True]


def test_failures_are_told_until_they_end():
    failed = event(KIND.FAILED, plan_digest=None, sentence="the cluster can't be reached")
    other = event(KIND.FAILED, plan_digest=None, sentence="denied")
    recovered = event(KIND.RECOVERED, plan_digest=None)
    assert told(failed, failed, other, recovered, recovered, failed) == [
        True, False, True, True, False, True,
    ]  # fmt: skip


def test_what_happens_again_is_told_again():
    healed = event(KIND.HEALED)
    assert told(healed, healed) == [True, True]


def test_clusters_and_projects_are_apart():
    assert told(event(), event(cluster="dev"), event(project="sales")) == [True, True, True]


def test_memory_is_bounded():
    duplicates = Duplicates()
    for number in range(3000):
        assert duplicates.is_new(event(plan_digest=f"sha256:{number}"))
    assert not duplicates.is_new(event(plan_digest="sha256:2000")), "the last thousand are known"
    assert duplicates.is_new(event(plan_digest="sha256:1999")), "those before are forgotten"
