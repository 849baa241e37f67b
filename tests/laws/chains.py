"""Several plans in a row, by one team or several, on a cluster that others change in between."""

from collections.abc import Callable, Iterator, Sequence

import pytest
from builders import plan_of
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from laws.cluster_model import Model, written
from msgspec import Struct
from msgspec.structs import replace
from strategies import BROKERS, HIGH_WATERMARK, Team, foreign_requests, projects

from kgitops.desired.state import DesiredState
from kgitops.model.cluster_state import ClusterState
from kgitops.model.resources.groups import FoundGroup
from kgitops.model.resources.kinds import Kind
from kgitops.plan.document.plan import Plan

_COMMITTED = FoundGroup(name="etl", known=True, offsets={("orders", 0): 3})


class Turn(Struct, frozen=True, kw_only=True):
    """One plan, what it was made from, and the cluster after it, if nothing stopped it."""

    desired: DesiredState
    before: ClusterState
    plan: Plan
    after: ClusterState | None


def turns(
    data: st.DataObject, teams: Sequence[Team], count: int, *, resources: bool = True
) -> Iterator[Turn]:
    """Others change the cluster, a team plans and applies, and again.

    ``resources``: there are groups and client metrics, too; saved states hold none.
    """
    model = Model(
        ClusterState(
            cluster_id="law", backend="model", brokers=BROKERS, asked=frozenset({Kind.USER})
        )
    )
    if resources:
        model = replace(model, state=model.state.with_objects([_COMMITTED]))
    history: dict[Team, list[DesiredState]] = {}
    for _ in range(count):
        model = model.execute_all(
            data.draw(foreign_requests(model.state, resources=resources), label="others")
        )
        model = replace(model, state=_disturbed(data, model.state))
        team = data.draw(st.sampled_from(teams))
        commits = history.setdefault(team, [])
        desired = data.draw(_revisions(team, commits, model.state, resources), label="desired")
        rate = data.draw(st.sampled_from([0, 1000]), label="throttle")
        desired = replace(desired, safety=replace(desired.safety, replication_throttle=rate))
        seen = model.state
        if data.draw(st.integers(0, 4), label="offsets unreadable if 4") == 4:
            seen = replace(seen, usage={})
        plan = plan_of(desired, seen)
        if plan.verdict.stops:
            yield Turn(desired=desired, before=seen, plan=plan, after=None)
            continue
        model = model.apply(plan)
        commits.append(desired)
        after = model.state if seen.usage or not model.state.usage else _unreadable(model.state)
        yield Turn(desired=desired, before=seen, plan=plan, after=after)


@st.composite
def _revisions(
    draw: st.DrawFn,
    team: Team,
    commits: Sequence[DesiredState],
    state: ClusterState,
    resources: bool,
) -> DesiredState:
    """The next commit, or an old one: it was reverted, or an old pipeline runs again."""
    if commits and draw(st.integers(0, 2)) == 2:
        # Those that buried something are the ones to be afraid of.
        buried = [commit for commit in commits if commit.tombstones]
        return draw(st.sampled_from(buried if buried and draw(st.booleans()) else commits))
    before = commits[-1] if commits else None
    return draw(projects(team, before, state, users=True, resources=resources))


def _unreadable(state: ClusterState) -> ClusterState:
    return replace(state, usage={})


def _disturbed(data: st.DataObject, state: ClusterState) -> ClusterState:
    """Clients have written, and perhaps one topic's replicas are on the move."""
    state = written(state, HIGH_WATERMARK)
    moving = data.draw(st.sampled_from([None, None, None, *sorted(state.topics)]), label="moving")
    topics = {
        name: replace(topic, reassigning=name == moving) for name, topic in state.topics.items()
    }
    return replace(state, topics=topics)


Law = Callable[[Turn, Sequence[Turn]], None]
"""Checks one turn, given those before it."""


def obey(
    data: st.DataObject,
    laws: Sequence[Law],
    teams: Sequence[Team],
    count: int = 4,
    *,
    resources: bool = True,
) -> None:
    """Check every turn of a chain against all laws."""
    earlier: list[Turn] = []
    for turn in turns(data, teams, count, resources=resources):
        for law in laws:
            law(turn, earlier)
        earlier.append(turn)


def assert_caught(
    attempt: Callable[[st.DataObject], None], by: type[Exception] = AssertionError
) -> None:
    """The attempt must fail somewhere: a part of the product was just broken on purpose.

    What another part refuses is caught ``by`` the error that this raises.
    """
    run = settings(max_examples=2000, phases=[Phase.generate], database=None, derandomize=True)(
        given(st.data())(attempt)
    )
    with pytest.raises(by):
        run()
