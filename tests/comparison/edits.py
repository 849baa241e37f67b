"""Pairs of states that have nearly all in common, as those have that people compare.

A document is edited as JSON, in any place, and read again; an edit that makes it invalid is undone.
"""

import json
from collections.abc import Callable, Iterator
from copy import deepcopy
from typing import TypeVar

from cluster.snapshot_strategies import states
from hypothesis import strategies as st
from model.request_strategies import any_text
from msgspec.structs import replace
from report.plans import (
    any_plan,
    judged_plan,
    no_changes,
    refused_plan,
    three_denials,
    twelve_changes,
)
from report.tenant_plans import farewell_plan, golden_plan

from kgitops.cluster.snapshot import read_snapshot, write_snapshot
from kgitops.desired.claims import ClaimKind
from kgitops.manifests.value_origin import OriginKind, ValueOrigin
from kgitops.model.cluster_state import ClusterState
from kgitops.model.errors import KgitopsError
from kgitops.model.json.codec import decode
from kgitops.model.json.strict import ShapeError
from kgitops.model.lowered import Grade, LoweringLine
from kgitops.model.registry import Json
from kgitops.model.source import Source
from kgitops.plan.document.documents import PlanDocument, plan_to_json, read_plan_document
from kgitops.plan.document.plan import (
    Basis,
    Change,
    LastRun,
    NamedTombstone,
    Plan,
    PlannedRequest,
    Takeover,
)

S = TypeVar("S", ClusterState, Plan)
_Place = tuple[str | int, ...]

_sources = st.builds(Source, file=any_text, line=st.integers(1, 99), column=st.integers(1, 99))
_texts = st.lists(any_text, max_size=2).map(tuple)
_takeovers = st.builds(
    Takeover,
    kind=st.sampled_from(ClaimKind),
    identity=any_text,
    name=any_text,
    identities=_texts,
    objects=st.integers(0, 9),
    released=st.booleans(),
    last_run=st.none() | st.builds(LastRun, id=any_text, started=any_text, holder=any_text),
)
_lines = st.builds(
    LoweringLine,
    code=any_text,
    grade=st.none() | st.sampled_from(Grade),
    virtual_cluster=any_text,
    subject=any_text,
    reason=any_text,
)
_bases = st.builds(
    Basis,
    tombstone=st.none() | st.builds(NamedTombstone, name=any_text, reason=any_text),
    affects=_texts,
    taken_from=st.none() | any_text,
    first_acl=st.booleans(),
)
_origins = st.builds(ValueOrigin, kind=st.sampled_from(OriginKind), name=any_text, source=_sources)


@st.composite
def plans(draw: st.DrawFn) -> Plan:
    """A plan that has any part a plan can have; an address has one change."""
    made = (judged_plan, twelve_changes, refused_plan, three_denials, no_changes)
    built = st.sampled_from((*made, golden_plan, farewell_plan)).map(lambda make: make())
    plan = draw(built | any_plan)
    changes = {change.address: draw(_completed(change)) for change in plan.changes[:6]}
    return replace(
        plan,
        changes=tuple(changes.values()),
        target=replace(plan.target, unpinned=draw(st.none() | _sources)),
        base=replace(plan.base, defaults=draw(st.dictionaries(any_text, any_text, max_size=2))),
        lowering=plan.lowering[:3] or tuple(draw(st.lists(_lines, max_size=2))),
        allow_takeover=draw(_texts),
        takeovers=tuple(draw(st.lists(_takeovers, max_size=2))),
    )


@st.composite
def _completed(draw: st.DrawFn, change: Change) -> Change:
    """The change with the parts that ``any_plan`` leaves empty."""
    return replace(
        change,
        requests=tuple(draw(_with_physical(request)) for request in change.requests),
        basis=draw(st.none() | _bases),
        derived_from=draw(_texts),
        labels=draw(st.dictionaries(any_text, any_text, max_size=2)),
        origins=draw(st.dictionaries(any_text, _origins, max_size=2)),
    )


def _with_physical(request: PlannedRequest) -> st.SearchStrategy[PlannedRequest]:
    return st.builds(
        replace, st.just(request), undoes=st.none() | any_text, physical=st.just(()) | _texts
    )


def snapshot_json(state: ClusterState) -> Json:
    return json.loads(write_snapshot(state))


def _state_of(document: Json) -> ClusterState:
    return read_snapshot(json.dumps(document), "a.json")


def plan_json(plan: Plan) -> Json:
    return json.loads(json.dumps(plan_to_json(plan)))


def _plan_of(document: Json) -> Plan:
    return read_plan_document(
        decode(PlanDocument, json.dumps(document), "a.json", exactly=False), exactly=False
    )


@st.composite
def pairs(
    draw: st.DrawFn,
    values: st.SearchStrategy[S],
    document_of: Callable[[S], Json],
    value_of: Callable[[Json], S],
) -> tuple[S, S]:
    """A value, and the same one after one to four edits."""
    old, donor = draw(values), document_of(draw(values))
    new, document = old, document_of(old)
    for _ in range(draw(st.integers(1, 4))):
        edited = deepcopy(document)
        draw(_edits(edited, donor))
        try:
            new = value_of(edited)
        except (KgitopsError, ShapeError, ValueError):
            continue
        document = edited
    return old, new


@st.composite
def _edits(draw: st.DrawFn, document: Json, donor: Json) -> None:
    """Change one place of the document; each of its parts is as likely, large or small."""
    part = draw(st.sampled_from(sorted(document)))
    place = draw(st.sampled_from([(part, *below) for below in _places(document[part])]))
    holder, key = _at(document, place[:-1]), place[-1]
    how = draw(st.sampled_from(("other", "other", "donor", "remove", "again", "turn")))
    value = holder[key]
    if how == "other" and not isinstance(value, dict | list):
        holder[key] = _another(value)
    elif how == "remove":
        del holder[key]
    elif how == "again" and isinstance(value, list) and value:
        value.append(deepcopy(draw(st.sampled_from(value))))
    elif how == "turn" and isinstance(value, list):
        value.reverse()
    else:
        try:
            holder[key] = deepcopy(_at(donor, place))
        except (LookupError, TypeError):
            holder[key] = _another(value)


def snapshots_one_edit_apart(state: ClusterState, donor: ClusterState) -> Iterator[ClusterState]:
    return _one_edit_apart(snapshot_json(state), snapshot_json(donor), _state_of)


def plans_one_edit_apart(plan: Plan, donor: Plan) -> Iterator[Plan]:
    return _one_edit_apart(plan_json(plan), plan_json(donor), _plan_of)


def _one_edit_apart(document: Json, donor: Json, value_of: Callable[[Json], S]) -> Iterator[S]:
    """Each part edited alone, of lists the first row's, as far as the result is valid."""
    for place in _places(document):
        if not place or any(isinstance(step, int) and step for step in place):
            continue
        for other in (lambda value, at: _another(value), lambda _, at: _at(donor, at)):
            edited = deepcopy(document)
            holder = _at(edited, place[:-1])
            try:
                holder[place[-1]] = other(holder[place[-1]], place)
                value = value_of(edited)
            except (KgitopsError, ShapeError, ValueError, LookupError, TypeError):
                continue
            yield value


def _places(value: Json, place: _Place = ()) -> Iterator[_Place]:
    yield place
    items: Iterator[tuple[str | int, Json]] = iter(())
    if isinstance(value, dict):
        items = iter(value.items())
    elif isinstance(value, list):
        items = iter(enumerate(value))
    for key, inner in items:
        yield from _places(inner, (*place, key))


def _at(document: Json, place: _Place) -> Json:
    for key in place:
        document = document[key]
    return document


def _another(value: Json) -> Json:
    """A value of the same type, as far as there is one."""
    match value:
        case bool():
            return not value
        case int():
            return value + 1
        case str():
            return str(int(value) + 1) if value.isdecimal() else f"{value}x"
        case list():
            return []
        case dict():
            return {}
        case _:
            return "x"


snapshot_pairs = pairs(states, snapshot_json, _state_of)
plan_pairs = pairs(plans(), plan_json, _plan_of)
