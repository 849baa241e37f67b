"""Laws of lowering for random virtual clusters and requests, with crashes at any point."""

from collections.abc import Sequence
from contextlib import suppress

from hypothesis import given, settings
from hypothesis import strategies as st
from lowering.fleets import TOPICS, fleets
from lowering.modelled_brokers import Brokers, CrashError
from msgspec.structs import replace
from tiers import examples

from kgitops.lowering.lifting import lift
from kgitops.lowering.lowerer import Lowerer
from kgitops.model.cluster_state import ClusterState
from kgitops.model.lowered import Lowered
from kgitops.model.requests import Request
from kgitops.model.results import ErrorCode


def batches(asked: Sequence[Request]) -> list[list[Request]]:
    """Batches as an apply sends them: one api each, and no object twice."""
    found: list[list[Request]] = []
    for request in asked:
        if found and type(found[-1][0]) is type(request) and request not in found[-1]:
            found[-1].append(request)
        else:
            found.append([request])
    return found


def comparable(state: ClusterState) -> object:
    """The comparable parts of a logical state; only brokers know the ids of topics."""
    found = {
        name: replace(
            vc, links={key: replace(link, topic_id=None) for key, link in vc.links.items()}
        )
        for name, vc in state.virtual_clusters.items()
    }
    return (
        state.lowered or Lowered(),
        state.acls,
        {e: dict(q.quotas) for e, q in state.quotas.items()},
        found,
        set(state.topics),
    )


@settings(max_examples=examples(150))
@given(fleets())
def test_what_is_lifted_is_what_was_asked_for(asked: list[Request]) -> None:
    """VC-168, VC-219, VC-220, VC-322, VC-326: in batches, with one set of indexes all along,
    nothing is missing, nothing is left over, and the registry says all of it."""
    brokers = Brokers(topics=TOPICS)
    lowering = Lowerer(brokers.logical, brokers.new_uuid)
    for batch in batches(asked):
        step = lowering.lower_batch(batch)
        brokers.take(step)
        assert comparable(lift(brokers.state)) == comparable(step.state)
        assert step.state.lowered is None or not step.state.lowered.missing_acls
        assert step.state.lowered is None or not step.state.lowered.missing_quotas


@settings(max_examples=examples(100))
@given(fleets(), st.data())
def test_asking_again_after_a_crash_ends_in_the_same_place(
    asked: list[Request], data: st.DataObject
) -> None:
    """VC-063, VC-175, VC-329: the process dies after any write or any physical request of the last
    batch; asked again, there is one topic by one uuid, nothing is lost from ownership and nothing
    left over."""
    *before, last = batches(asked)
    undisturbed, crashing = Brokers(topics=TOPICS), Brokers(topics=TOPICS)
    for brokers in (undisturbed, crashing):
        for batch in before:
            brokers.ask(*batch)
    begun = undisturbed.events
    results = undisturbed.ask(*last)
    most = max(undisturbed.events - begun - 1, 0)
    # A uuid is remembered from the first write on, so that before it there is nothing to find.
    crashing.crash_at = begun + data.draw(
        st.integers(min(1, most), most), label="events until the crash"
    )
    with suppress(CrashError):
        crashing.ask(*last)
    crashing.crash_at = None
    again = crashing.ask(
        *(request for request, result in zip(last, results, strict=True) if result.ok)
    )

    # Who is removed here and added there by one batch may be gone from here when it is asked again.
    assert {result.code for result in again} <= {ErrorCode.NONE, ErrorCode.RESOURCE_NOT_FOUND}
    assert crashing.minted == undisturbed.minted
    assert crashing.state.topics == undisturbed.state.topics
    assert crashing.state.acls == undisturbed.state.acls
    assert crashing.state.quotas == undisturbed.state.quotas
    assert comparable(crashing.logical) == comparable(undisturbed.logical)
