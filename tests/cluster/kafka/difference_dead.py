"""Requests while broker 3 is dead, so that replicas that move to it do not arrive.

So these are the reassignments that run while something else is asked.
"""

from collections.abc import Callable, Sequence

from cluster.kafka.difference_world import (
    CONFIGS,
    PARTITIONS,
    TWO,
    Ask,
    Cancellation,
    Case,
    World,
    cut,
    delete,
    move,
)
from cluster_contract.contract import alteration, creation

from kgitops.model.requests import AlterBrokerRequest
from kgitops.model.resources.topics import LEADER_RATE, Assignment, TopicState

DEAD_BROKER = 3
_AWAY: Assignment = ((1, 2), (2, 1))  # none of them on the broker that dies
_TO_DEAD: Assignment = ((3, 2), (2, 1))
_ON_DEAD: Assignment = ((3,), (3,))

_Prepare = Callable[[World, str], Sequence[Ask]]


def _dead(rpc: str, name: str, prepare: _Prepare) -> Case:
    return Case(rpc, name, prepare, dead=True)


def _moving(rpc: str, name: str, then: Callable[[TopicState], Ask]) -> Case:
    """Replicas of partition 0 are on their way to the dead broker when ``then`` is asked."""

    def prepare(world: World, topic_name: str) -> Sequence[Ask]:
        topic = world.topic(topic_name, _AWAY)
        return [move(topic, _TO_DEAD), then(topic)]

    return Case(rpc, name, prepare, dead=True, apart=True)


def _on(assignment: Assignment, ask: Callable[[TopicState], Ask]) -> _Prepare:
    return lambda world, name: [ask(world.topic(name, assignment))]


def _cancelling(*partitions: int) -> Callable[[TopicState], Ask]:
    return lambda topic: Cancellation(moves={topic.name: partitions})


DEAD: Sequence[Case] = (
    _dead(
        "CreateTopic", "one of its brokers is dead", lambda _, n: [creation(n, ((3, 1), (2, 3)))]
    ),
    _dead("CreateTopic", "all its brokers are dead", lambda _, n: [creation(n, ((1,), (3,)))]),
    _dead(
        "CreateTopic",
        "kgitops placed a replica on a broker that died since",
        lambda _, n: [creation(n, ((3, 1), (1, 2)), generated=True)],
    ),
    _dead(
        "CreateTopic",
        "kgitops placed a partition on a broker that died since",
        lambda _, n: [creation(n, ((1,), (3,)), generated=True)],
    ),
    _dead("CreateTopic", "dead and unknown", lambda _, n: [creation(n, ((3, 99),))]),
    _dead(
        "CreateTopic",
        "dead, in lists of unequal length",
        lambda _, n: [creation(n, ((1, 2), (3,)))],
    ),
    _dead(
        "AlterTopic configs",
        "no broker of the topic is alive",
        _on(_ON_DEAD, lambda t: alteration(t, CONFIGS, configs={"retention.ms": "1"})),
    ),
    _dead(
        "AlterTopic partitions",
        "one of the brokers is dead",
        _on(TWO, lambda t: alteration(t, PARTITIONS, assignment=(*TWO, (1, 3)))),
    ),
    _dead(
        "AlterTopic partitions",
        "all the brokers are dead",
        _on(_ON_DEAD, lambda t: alteration(t, PARTITIONS, assignment=(*_ON_DEAD, (1,), (3,)))),
    ),
    _moving(
        "AlterTopic partitions",
        "while replicas move",
        lambda t: alteration(t, PARTITIONS, assignment=(*_AWAY, (1, 2))),
    ),
    _moving(
        "AlterTopic partitions",
        "while replicas move, with as many as there are meanwhile",
        lambda t: alteration(t, PARTITIONS, assignment=(*_AWAY, (1, 2, 3))),
    ),
    _moving(
        "AlterTopic configs",
        "while replicas move",
        lambda t: alteration(t, CONFIGS, configs={"retention.ms": "1"}),
    ),
    _dead("AlterTopic replicas", "to a dead broker", _on(_AWAY, lambda t: move(t, _TO_DEAD))),
    _dead("AlterTopic replicas", "all to dead brokers", _on(_AWAY, lambda t: move(t, _ON_DEAD))),
    _dead("AlterTopic replicas", "from a dead broker", _on(TWO, lambda t: move(t, _AWAY))),
    _dead(
        "AlterTopic replicas", "from a dead broker only", _on(_ON_DEAD, lambda t: move(t, _AWAY))
    ),
    _moving("AlterTopic replicas", "the same again while they move", lambda t: move(t, _TO_DEAD)),
    _moving("AlterTopic replicas", "back while they move", lambda t: move(t, _AWAY)),
    _moving(
        "AlterTopic replicas",
        "elsewhere while they move",
        lambda t: move(t, ((2, 1), (2, 1))),
    ),
    _moving(
        "AlterTopic replicas",
        "to an unknown broker while they move",
        lambda t: move(t, ((1, 99), (2, 1))),
    ),
    _moving("DeleteTopic", "while its replicas move", delete),
    _dead("DeleteTopic", "no broker of it is alive", _on(_ON_DEAD, delete)),
    _dead("DeleteRecords", "no leader is alive", _on(_ON_DEAD, lambda t: cut(t, {0: 0}))),
    _dead(
        "DeleteRecords",
        "the leader died, another took over",
        _on(((3, 1), (2, 1)), lambda t: cut(t, {0: 0, 1: 0})),
    ),
    _dead(
        "AlterBroker",
        "the broker is dead",
        lambda _, __: [AlterBrokerRequest(broker=3, configs={LEADER_RATE: "1000"})],
    ),
    _dead("Cancel moves", "none runs", _on(_AWAY, _cancelling(0))),
    _moving("Cancel moves", "as asked", _cancelling(0)),
    _moving("Cancel moves", "one runs, the other does not", _cancelling(0, 1)),
    _moving("Cancel moves", "a partition that is not there", _cancelling(7)),
    _moving("Cancel moves", "no partitions", _cancelling()),
    _dead(
        "Cancel moves",
        "there is no such topic",
        lambda _, __: [Cancellation(moves={"absent": (0,)})],
    ),
)
