"""Plans the replicas of a topic, and the throttle around moves: set first, removed last."""

from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct, field
from msgspec.structs import replace

from kgitops.model.cluster_state import Broker, ClusterState
from kgitops.model.json.declared import DesiredTopic
from kgitops.model.placement import PlacementError, place, reassign
from kgitops.model.requests import AlterBrokerRequest, AlterStep, AlterTopicRequest
from kgitops.model.resources.addresses import broker_address
from kgitops.model.resources.kinds import Kind
from kgitops.model.resources.topic_configs import normal_value
from kgitops.model.resources.topics import (
    FOLLOWER_REPLICAS,
    LEADER_REPLICAS,
    Assignment,
    TopicState,
    add_throttled_replicas,
    throttled_brokers,
    throttled_replicas,
)
from kgitops.model.source import Finding, Severity
from kgitops.model.values import overlaid
from kgitops.plan.context import PlanContext
from kgitops.plan.document import risks
from kgitops.plan.document.plan import Action, Change, FieldChange, PlannedRequest, Precondition
from kgitops.plan.document.risks import worst_first
from kgitops.plan.draft import PlanDraft
from kgitops.plan.normal_form import broker_view
from kgitops.plan.shown_values import UNFINISHED, ContradictionError, Shown
from kgitops.plan.stale_throttles import RestoredConfigs


class TargetReplicas(Struct, frozen=True, kw_only=True):
    """A topic's whole assignment with new partitions (``grown``), and after moves (``final``).

    A new partition starts with as many replicas as partition 0 has, as Kafka requires (A4-72).
    """

    grown: Assignment
    final: Assignment


def plan_replicas(
    context: PlanContext, topic: DesiredTopic, state: TopicState | None
) -> TargetReplicas | None:
    """Return the assignment after the plan; None, with findings, if Kafka can't do it.

    A declared replication factor is reached by moving as few replicas as possible; it does not
    matter on which brokers they are, so a topic with that factor has no difference.
    """
    problems = _problems(context, topic, state)
    if problems:
        context.stop(topic.address, *problems)
        return None
    now: Assignment = state.assignment if state else ()
    try:
        brokers = context.current.brokers
        earlier = _earlier(context, topic, now)
        return earlier or _place(brokers, topic, now)
    except PlacementError as error:
        context.stop(
            topic.address,
            Finding(
                source=topic.located.at("spec", "replicationFactor"),
                problem=f"the topic {topic.name!r} can't be placed: {error}",
                advice="lower replicationFactor, or add brokers",
            ),
        )
        return None


def _earlier(context: PlanContext, topic: DesiredTopic, now: Assignment) -> TargetReplicas | None:
    """Return the placement that an earlier plan chose, if the planner could have chosen it."""
    grown, final = context.earlier.placements.get(topic.address, ((), ()))
    if topic.assignment is not None or len(grown) != max(topic.partitions, len(now)):
        return None
    # Replicas of partitions that only stay may have moved since.
    moves, grown = final != grown, now + grown[len(now) :]
    final = final if moves else grown
    registered = frozenset(broker.id for broker in context.current.brokers)
    factor = topic.replication_factor
    factor_now = len(now[0]) if now else factor
    placed = all(_is_placed(each, factor_now, registered) for each in grown[len(now) :])
    if not placed or len(final) != len(grown):
        return None
    if all(len(replicas) == factor for replicas in grown):
        return TargetReplicas(grown=grown, final=grown) if final == grown else None
    if not all(
        _is_placed(after, factor, registered) and _is_least_move(before, after, registered)
        for before, after in zip(grown, final, strict=True)
    ):
        return None
    return TargetReplicas(grown=grown, final=final)


def _is_placed(replicas: tuple[int, ...], factor: int, registered: frozenset[int]) -> bool:
    return len(replicas) == factor == len(registered.intersection(replicas))


def _is_least_move(
    before: tuple[int, ...], after: tuple[int, ...], registered: frozenset[int]
) -> bool:
    """Return whether replicas only come or only go, and a leader that stays is still first."""
    kept = [broker for broker in before if broker in registered]
    stays = set(kept) <= set(after) or set(after) <= set(kept)
    leads = not kept or kept[0] not in after or after[0] == kept[0]
    return stays and leads


def _place(brokers: tuple[Broker, ...], topic: DesiredTopic, now: Assignment) -> TargetReplicas:
    factor = topic.replication_factor
    factor_now = len(now[0]) if now else factor
    if topic.assignment is not None:
        added = topic.assignment[len(now) :]
        if any(len(replicas) != factor_now for replicas in added):
            added = reassign(brokers, added, replication_factor=factor_now)
        return TargetReplicas(grown=now + added, final=topic.assignment)
    grown = now
    if len(now) < topic.partitions:
        grown += place(
            brokers,
            partitions=topic.partitions,
            replication_factor=factor_now,
            existing=now,
            seed=topic.name,
        )
    if all(len(replicas) == factor for replicas in grown):
        return TargetReplicas(grown=grown, final=grown)
    return TargetReplicas(grown=grown, final=reassign(brokers, grown, replication_factor=factor))


def _problems(context: PlanContext, topic: DesiredTopic, state: TopicState | None) -> list[Finding]:
    located = topic.located
    declared = "assignments" if topic.assignment is not None else "partitions"
    problems = []
    if state is not None and topic.partitions < state.num_partitions:
        problems.append(
            Finding(
                source=located.at("spec", declared),
                problem=f"the topic {topic.name!r} can't shrink from {state.num_partitions} to "
                f"{topic.partitions} partitions, because Kafka only adds partitions",
                advice=f"write {state.num_partitions} partitions, or declare a new topic and move "
                "its producers and consumers",
            )
        )
    if topic.assignment is not None:
        brokers = {broker.id for broker in context.current.brokers}
        unknown = sorted({broker for row in topic.assignment for broker in row} - brokers)
        if unknown:
            problems.append(
                Finding(
                    source=located.at("spec", "assignments"),
                    problem=f"the topic {topic.name!r} is assigned to unknown brokers "
                    f"{', '.join(map(str, unknown))}",
                    advice=f"use the brokers {', '.join(map(str, sorted(brokers)))}",
                )
            )
    if state is not None and state.reassigning and _moves(topic, state):
        problems.append(
            Finding(
                source=located.at("spec"),
                problem=f"the replicas of the topic {topic.name!r} are being reassigned already",
                advice="wait until that reassignment has ended, then plan again",
            )
        )
    return problems


def _moves(topic: DesiredTopic, state: TopicState) -> bool:
    if topic.assignment is not None:
        return topic.assignment[: state.num_partitions] != state.assignment
    return any(len(replicas) != topic.replication_factor for replicas in state.assignment)


_KEYS = (LEADER_REPLICAS, FOLLOWER_REPLICAS)


class TopicThrottle(Struct, frozen=True, kw_only=True):
    """The configs that mark a topic's replicas as throttled, and their values afterwards."""

    marks: Mapping[str, str] = field(default_factory=dict)
    restored: RestoredConfigs = field(default_factory=dict)


NO_THROTTLE = TopicThrottle()


def topic_throttle(
    state: TopicState, replicas: TargetReplicas, *, rate: int, stale: RestoredConfigs
) -> TopicThrottle:
    """Return the configs that mark moving replicas as throttled, in addition to existing marks.

    Nothing is marked if nothing is copied. Marks that an unfinished run ``stale`` are taken over,
    and removed in the end.
    """
    if not stale and replicas.grown == replicas.final:
        return NO_THROTTLE
    held = {key: state.configs[key] for key in _KEYS if key in state.configs}
    theirs = {**held, **stale}
    ours = throttled_replicas(replicas.grown, replicas.final) if rate else {}
    lists = {
        key: add_throttled_replicas(theirs.get(key), ours[key]) for key in _KEYS if key in ours
    }
    marks = {key: text for key, text in lists.items() if text is not None}
    marks = {**{key: held[key] for key in stale if key in held}, **marks}
    return TopicThrottle(
        marks={key: normal_value(key, text) for key, text in marks.items()},
        restored={key: theirs.get(key) for key in marks},
    )


def add_throttles(
    draft: PlanDraft, current: ClusterState, rate: int, stale: Mapping[int, RestoredConfigs]
) -> None:
    """Add a change for each broker that limits its replication rate during the plan's moves.

    A rate that is set already was set by somebody else and stays in effect for the moves. Rates
    that an unfinished run ``stale`` are taken over. A fenced broker accepts no config, and copies
    nothing.
    """
    needed = _needed(draft.changes, current)
    moves = sorted({p.id for c in draft.changes for p in c.requests if _is_move(p)})
    setting: dict[str, list[str]] = {}
    for broker in sorted(current.brokers, key=lambda broker: broker.id):
        needs = needed.get(broker.id, {}) if rate else {}
        mine = stale.get(broker.id, {})
        if broker.fenced or not (needs or mine):
            continue
        held = broker.throttles or {}
        theirs = overlaid(held, mine)
        draft.warnings += _already(broker, theirs, needs)
        free = [key for key in sorted(needs) if key not in theirs]
        if broker.throttles is None or not (free or mine):
            continue
        limited = {key: held[key] for key in sorted(mine) if key in held}
        limited |= dict.fromkeys(free, str(rate))
        restored = {key: theirs.get(key) for key in limited}
        waits = moves if mine else sorted({move for names in needs.values() for move in names})
        change = _broker_change(broker, limited, restored, waits)
        draft.changes.append(change)
        for move in waits:
            setting.setdefault(move, []).append(change.requests[0].id)
    if setting:
        draft.changes[:] = [_after_setting(change, setting) for change in draft.changes]


def shown_broker(change: Change) -> Shown:
    """Derive what is shown of a broker's throttle: until the replicas have moved, or no longer."""
    setting, *undoing = change.requests
    held: Mapping[str, str] = (change.before or {})["throttles"]
    restored: dict[str, str | None] = {}
    for planned in undoing:
        if not isinstance(planned.request, AlterBrokerRequest):
            raise ContradictionError("has a request for something else")
        restored |= planned.request.configs
    if not isinstance(setting.request, AlterBrokerRequest):
        raise ContradictionError("has a request for something else")
    limited = setting.request.configs
    moves = any(len(planned.depends_on) > 1 for planned in undoing)
    return Shown(
        actions=(Action.UPDATE,),
        after={
            **(change.before or {}),
            "throttles": dict(sorted(overlaid(held, restored).items())),
        },
        fields=tuple(
            FieldChange(
                path=f"throttles.{key}",
                before=held.get(key),
                after=limited[key] if moves else restored[key],
                risk=risks.REPLICATION_THROTTLE,
                note="until the replicas have moved" if moves else UNFINISHED,
            )
            for key in sorted(limited)
        ),
        risks=worst_first({risks.REPLICATION_THROTTLE}),
        because="replicas are going to move" if moves else "an unfinished run left it throttled",
    )


def _needed(
    changes: Iterable[Change], current: ClusterState
) -> Mapping[int, Mapping[str, Sequence[str]]]:
    """Return the rates that each broker needs, each with the ids of the moves that need it."""
    needed: dict[int, dict[str, list[str]]] = {}
    for change in changes:
        for move in change.requests:
            if not _is_move(move):
                continue
            for broker, keys in throttled_brokers(_before(change, current), _target(move)).items():
                for key in keys:
                    needed.setdefault(broker, {}).setdefault(key, []).append(move.id)
    return needed


def _broker_change(
    broker: Broker, limited: Mapping[str, str], restored: RestoredConfigs, moves: Sequence[str]
) -> Change:
    address = broker_address(broker.id)
    held = broker.throttles or {}
    before = {key: held.get(key) for key in limited}
    expects = _expects(address, before)
    put = PlannedRequest(
        id=f"{address}#1",
        request=AlterBrokerRequest(broker=broker.id, configs=limited),
        expects=expects,
    )
    # One for each key: if somebody changes one of them in the meantime, the other is still ours.
    undoing = (
        PlannedRequest(
            id=f"{address}#{number}",
            request=AlterBrokerRequest(broker=broker.id, configs={key: restored[key]}),
            depends_on=(put.id, *moves),
            undoes=put.id,
            expects=_expects(address, {key: limited[key]}),
        )
        for number, key in enumerate(sorted(limited), start=2)
    )
    return Change(
        address=address,
        kind=Kind.BROKER,
        source=None,
        before=broker_view(broker),
        preconditions=(expects,),
        requests=(put, *undoing),
    )


def _expects(address: str, rates: Mapping[str, str | None]) -> Precondition:
    fields = {f"throttles.{key}": value for key, value in rates.items()}
    return Precondition(object=address, exists=True, fields=fields)


def _already(broker: Broker, theirs: Mapping[str, str], keys: Iterable[str]) -> list[Finding]:
    """Warn of existing limits, which decide how long the moves take."""
    name = broker_address(broker.id)
    if broker.throttles is None:
        return [
            _warning(
                f"the replication throttle of {name} can't be read, so none is set on it",
                "give kgitops DescribeConfigs on the cluster, or throttle the move yourself",
            )
        ]
    return [
        _warning(
            f"{name} has {key}={theirs[key]} already; the move keeps to it",
            "nothing to do if this is intended; if it is a leftover, remove it first",
        )
        for key in sorted(keys)
        if key in theirs
    ]


def _warning(problem: str, advice: str) -> Finding:
    return Finding(source=None, problem=problem, advice=advice, severity=Severity.WARNING)


def _is_move(planned: PlannedRequest) -> bool:
    return _step(planned) is AlterStep.REPLICAS


def _step(planned: PlannedRequest) -> AlterStep | None:
    return planned.request.step if isinstance(planned.request, AlterTopicRequest) else None


def _target(planned: PlannedRequest) -> Assignment:
    request = planned.request
    return request.requested_state.assignment if isinstance(request, AlterTopicRequest) else ()


def _before(change: Change, current: ClusterState) -> Assignment:
    """Return the assignment right before the move, including new partitions."""
    grown = [_target(item) for item in change.requests if _step(item) is AlterStep.PARTITIONS]
    if grown:
        return grown[-1]
    names = {
        item.request.topic
        for item in change.requests
        if isinstance(item.request, AlterTopicRequest)
    }
    return next((current.topics[name].assignment for name in names), ())


def _after_setting(change: Change, setting: Mapping[str, Sequence[str]]) -> Change:
    if not any(planned.id in setting for planned in change.requests):
        return change
    return replace(
        change,
        requests=tuple(
            replace(planned, depends_on=(*planned.depends_on, *setting.get(planned.id, ())))
            for planned in change.requests
        ),
    )
