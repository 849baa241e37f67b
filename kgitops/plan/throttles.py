"""The replication throttle around moves: set before the first, taken back after the last."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from kgitops.model.addresses import broker_address
from kgitops.model.cluster_state import Broker, ClusterState
from kgitops.model.requests import AlterBrokerRequest, AlterStep, AlterTopicRequest
from kgitops.model.source import Finding, Severity
from kgitops.model.throttles import (
    FOLLOWER_REPLICAS,
    LEADER_REPLICAS,
    beside,
    throttled_brokers,
    throttled_replicas,
)
from kgitops.model.topic_configs import normal_value
from kgitops.model.topics import Assignment, TopicState
from kgitops.plan import risks
from kgitops.plan.normal_form import broker_view
from kgitops.plan.outcome import Outcome
from kgitops.plan.plan import Action, Change, FieldChange, Kind, PlannedRequest, Precondition
from kgitops.plan.topic_replicas import Replicas

_KEYS = (LEADER_REPLICAS, FOLLOWER_REPLICAS)


def topic_throttle(state: TopicState, replicas: Replicas) -> Mapping[str, str]:
    """The configs that mark a topic's replicas as throttled while they move, beside others' marks.

    Empty where nothing is copied, or others throttle every replica of the topic already.
    """
    marks = throttled_replicas(replicas.grown, replicas.final)
    lists = {key: beside(state.configs.get(key), marks[key]) for key in _KEYS if key in marks}
    return {key: normal_value(key, text) for key, text in lists.items() if text is not None}


def add_throttles(outcome: Outcome, current: ClusterState, rate: int) -> None:
    """Put the brokers' rates around the moves of a plan; one change for each broker.

    A rate that is set already is somebody else's and stays: its broker moves replicas under that
    one. A broker that is not alive takes no config, and copies nothing.
    """
    if not rate:
        return
    needed = _needed(outcome.changes, current)
    setting: dict[str, list[str]] = {}
    for broker in current.brokers:
        moves = needed.get(broker.id, {})
        if not moves or broker.fenced:
            continue
        outcome.warnings += _already(broker, moves)
        free = [key for key in sorted(moves) if key not in (broker.throttles or {})]
        if broker.throttles is None or not free:
            continue
        waits = sorted({move for movers in moves.values() for move in movers})
        change = _broker_change(broker, free, rate, waits)
        outcome.changes.append(change)
        for move in waits:
            setting.setdefault(move, []).append(change.requests[0].id)
    if setting:
        outcome.changes[:] = [_after_setting(change, setting) for change in outcome.changes]


def _needed(
    changes: Iterable[Change], current: ClusterState
) -> Mapping[int, Mapping[str, Sequence[str]]]:
    """For each broker the rates that it needs, each with the ids of the moves that need it."""
    needed: dict[int, dict[str, list[str]]] = {}
    for change in changes:
        for move in change.requests:
            if _step(move) is not AlterStep.REPLICAS:
                continue
            for broker, keys in throttled_brokers(_before(change, current), _target(move)).items():
                for key in keys:
                    needed.setdefault(broker, {}).setdefault(key, []).append(move.id)
    return needed


def _broker_change(broker: Broker, keys: Sequence[str], rate: int, moves: Sequence[str]) -> Change:
    address = broker_address(broker.id)
    held = broker.throttles or {}
    before = {key: held.get(key) for key in keys}
    limited = dict.fromkeys(keys, str(rate))
    expects = _expects(address, before)
    put = PlannedRequest(
        id=f"{address}#1",
        request=AlterBrokerRequest(broker=broker.id, configs=limited),
        expects=expects,
    )
    undo = PlannedRequest(
        id=f"{address}#2",
        request=AlterBrokerRequest(broker=broker.id, configs=before),
        depends_on=(put.id, *moves),
        undoes=put.id,
        expects=_expects(address, limited),
    )
    return Change(
        address=address,
        kind=Kind.BROKER,
        actions=(Action.UPDATE,),
        risks=(risks.REPLICATION_THROTTLE,),
        because="replicas are going to move",
        source=None,
        before=broker_view(broker),
        after=broker_view(broker),
        fields=tuple(
            FieldChange(
                path=f"throttles.{key}",
                before=before[key],
                after=limited[key],
                note="until the replicas have moved",
            )
            for key in keys
        ),
        preconditions=(expects,),
        requests=(put, undo),
    )


def _expects(address: str, rates: Mapping[str, str | None]) -> Precondition:
    fields = {f"throttles.{key}": value for key, value in rates.items()}
    return Precondition(object=address, exists=True, fields=fields)


def _already(broker: Broker, keys: Iterable[str]) -> list[Finding]:
    """What others limit already is said, for the move will take as long as that allows."""
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
            f"{name} has {key}={broker.throttles[key]} already; the move keeps to it",
            "nothing to do if someone wants it so; if it is a leftover, remove it first",
        )
        for key in sorted(keys)
        if key in broker.throttles
    ]


def _warning(problem: str, advice: str) -> Finding:
    return Finding(source=None, problem=problem, advice=advice, severity=Severity.WARNING)


def _step(planned: PlannedRequest) -> AlterStep | None:
    return planned.request.step if isinstance(planned.request, AlterTopicRequest) else None


def _target(planned: PlannedRequest) -> Assignment:
    request = planned.request
    return request.requested_state.assignment if isinstance(request, AlterTopicRequest) else ()


def _before(change: Change, current: ClusterState) -> Assignment:
    """Where the replicas stand right before the move: new partitions included."""
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
