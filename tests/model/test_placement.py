"""Placing replicas: evenly, rack-aware, and with few moves."""

import random
import subprocess
import sys
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgitops.model import placement
from kgitops.model.cluster_state import Broker
from kgitops.model.placement import PlacementError, place, place_in_turn, racks_in_order, reassign
from kgitops.model.resources.topics import Assignment


def _brokers(racks: int, size: int) -> list[Broker]:
    """``racks`` equal racks, ids striped over them."""
    return [Broker(id=id_, rack=f"r{id_ % racks}") for id_ in range(racks * size)]


def _spread(counts: Counter[int], brokers: list[Broker]) -> int:
    loads = [counts[broker.id] for broker in brokers]
    return max(loads) - min(loads)


def _leaders(assignment: Assignment) -> Counter[int]:
    return Counter(replicas[0] for replicas in assignment)


def _replicas(assignment: Assignment) -> Counter[int]:
    return Counter(id_ for replicas in assignment for id_ in replicas)


@st.composite
def _equal_racks(draw: st.DrawFn) -> tuple[list[Broker], int]:
    """Brokers in equal racks, and a replication factor that they can hold."""
    brokers = _brokers(draw(st.integers(1, 5)), draw(st.integers(1, 4)))
    return brokers, draw(st.integers(1, min(6, len(brokers))))


@st.composite
def _any_cluster(draw: st.DrawFn) -> tuple[list[Broker], int]:
    """Brokers anywhere, some fenced, and a replication factor that the others can hold."""
    ids = draw(st.lists(st.integers(0, 40), min_size=1, max_size=12, unique=True))
    racks = st.sampled_from([None, "a", "b", "c"])
    brokers = [Broker(id=id_, rack=draw(racks), fenced=draw(st.integers(0, 4)) == 0) for id_ in ids]
    live = sum(not broker.fenced for broker in brokers)
    if not live:
        brokers.append(Broker(id=99))
        live = 1
    return brokers, draw(st.integers(1, min(5, live)))


@st.composite
def _any_topic(draw: st.DrawFn) -> tuple[list[Broker], Assignment, int]:
    """A cluster, a topic that lies on it in any way, and another replication factor."""
    brokers, target = draw(_any_cluster())
    ids = [broker.id for broker in brokers]
    replicas = st.lists(st.sampled_from(ids), min_size=1, max_size=5, unique=True).map(tuple)
    return brokers, tuple(draw(st.lists(replicas, max_size=12))), target


SEEDS = st.sampled_from(["", "orders", "payments.v1"])


@given(_any_cluster(), st.integers(1, 20), SEEDS)
def test_replicas_are_on_distinct_unfenced_brokers_in_as_many_racks_as_there_are(
    cluster, partitions, seed
):
    """A4-38: with RF <= racks one replica a rack; else no rack has two more than one with room."""
    brokers, factor = cluster
    placed = place(brokers, partitions=partitions, replication_factor=factor, seed=seed)
    rack_of = {broker.id: broker.rack for broker in brokers if not broker.fenced}
    size = Counter(rack_of.values())
    assert len(placed) == partitions
    for replicas in placed:
        assert len(set(replicas)) == len(replicas) == factor
        assert set(replicas) <= rack_of.keys()
        used = Counter(rack_of[id_] for id_ in replicas)
        assert len(used) == min(factor, len(size))
        with_room = [used[rack] for rack in size if used[rack] < size[rack]]
        assert max(used.values()) - min(with_room, default=max(used.values())) <= 1


@given(_equal_racks(), st.integers(1, 40), SEEDS)
def test_equal_racks_are_loaded_evenly(cluster, partitions, seed):
    """A4-38: leaders and replicas differ by at most one between brokers."""
    brokers, factor = cluster
    placed = place(brokers, partitions=partitions, replication_factor=factor, seed=seed)
    assert _spread(_leaders(placed), brokers) <= 1
    assert _spread(_replicas(placed), brokers) <= 1


@given(_equal_racks(), st.integers(1, 20), st.integers(0, 20), SEEDS)
def test_growing_a_topic_ends_where_creating_it_with_more_partitions_does(
    cluster, first, more, seed
):
    """So growth keeps a topic even, however often it happens (A4-38)."""
    brokers, factor = cluster
    whole = place(brokers, partitions=first + more, replication_factor=factor, seed=seed)
    start = place(brokers, partitions=first, replication_factor=factor, seed=seed)
    rest = place(
        brokers, partitions=first + more, replication_factor=factor, seed=seed, existing=start
    )
    assert start + rest == whole


@given(_equal_racks(), st.integers(1, 20), st.integers(0, 20), SEEDS)
def test_taking_turns_on_equal_racks_equals_searching_for_the_emptiest(cluster, first, more, seed):
    brokers, factor = cluster
    racks = list(racks_in_order(brokers, seed).values())
    start = place(brokers, partitions=first, replication_factor=factor, seed=seed)
    shape = {"partitions": first + more, "replication_factor": factor, "existing": start}
    found = place_in_turn(racks, **shape)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(placement, "place_in_turn", lambda *_, **__: None)
        patch.setattr(placement, "_CACHED_PARTITIONS", 0)
        assert found in (None, place(brokers, seed=seed, **shape))


def test_only_a_topic_on_equal_racks_that_was_placed_in_turn_continues_so():
    shape = {"partitions": 4, "replication_factor": 3}
    racks = list(racks_in_order(_brokers(3, 2), "orders").values())
    start = place(_brokers(3, 2), seed="orders", **shape)
    assert place_in_turn(racks, existing=(), **shape) == start
    assert place_in_turn(racks, existing=start[:3], **shape) == start[3:]
    assert place_in_turn(racks, existing=start[1:3], **shape) is None
    assert place_in_turn([[1, 2], [3, 4], [5]], existing=(), **shape) is None


@given(_equal_racks(), st.integers(0, 15), st.integers(1, 15))
def test_growing_a_topic_that_was_placed_otherwise_keeps_its_replicas_even(cluster, old, new):
    brokers, factor = cluster
    existing = place(brokers, partitions=old, replication_factor=factor, seed="x") if old else ()
    rest = place(
        brokers, partitions=old + new, replication_factor=factor, seed="y", existing=existing
    )
    assert len(rest) == new
    assert _spread(_replicas(existing + rest), brokers) <= 1


@given(_any_topic(), st.integers(1, 12))
def test_no_other_leaders_of_new_partitions_would_be_more_even(topic, more):
    brokers, existing, factor = topic
    rest = place(
        brokers, partitions=len(existing) + more, replication_factor=factor, existing=existing
    )
    leaders = _leaders(existing + rest)
    for replicas in rest:
        assert all(leaders[replicas[0]] - leaders[id_] <= 1 for id_ in replicas)


@given(_any_topic(), st.integers(0, 8), SEEDS)
def test_only_the_partitions_that_a_topic_lacks_are_placed(topic, more, seed):
    brokers, existing, factor = topic
    partitions = max(1, len(existing) + more)
    rest = place(
        brokers, partitions=partitions, replication_factor=factor, existing=existing, seed=seed
    )
    assert len(existing) + len(rest) == partitions


@given(_any_topic(), st.randoms(use_true_random=False), SEEDS)
def test_the_order_of_the_brokers_changes_nothing(topic, rng: random.Random, seed):
    brokers, existing, factor = topic
    shuffled = rng.sample(brokers, len(brokers))
    shape = {"partitions": len(existing) + 5, "replication_factor": factor, "existing": existing}
    assert place(brokers, seed=seed, **shape) == place(shuffled, seed=seed, **shape)
    assert _outcome(brokers, existing, factor) == _outcome(shuffled, existing, factor)


def _outcome(brokers: list[Broker], current: Assignment, factor: int) -> Assignment | str:
    try:
        return reassign(brokers, current, replication_factor=factor)
    except PlacementError as error:
        return str(error)


def test_another_process_places_alike():
    """The placement of a topic does not depend on Python's hash seed."""
    program = (
        "from kgitops.model.cluster_state import Broker;"
        "from kgitops.model.placement import place;"
        "print(place([Broker(id=i, rack=str(i % 3)) for i in range(9)],"
        "partitions=7, replication_factor=3, seed='orders'))"
    )
    outputs = {
        subprocess.run(
            [sys.executable, "-c", program],
            env={"PYTHONHASHSEED": number},
            check=True,
            capture_output=True,
            text=True,
        ).stdout
        for number in ("1", "2")
    }
    assert outputs == {
        f"{place(_striped(), partitions=7, replication_factor=3, seed='orders')}\n",
    }


def _striped() -> list[Broker]:
    return [Broker(id=id_, rack=str(id_ % 3)) for id_ in range(9)]


def test_topics_of_one_partition_start_on_different_brokers():
    brokers = _brokers(3, 3)
    leaders = Counter(
        place(brokers, partitions=1, replication_factor=3, seed=f"topic-{n}")[0][0]
        for n in range(900)
    )
    assert set(leaders) == {broker.id for broker in brokers}
    assert max(leaders.values()) < 2 * min(leaders.values())


def test_topics_pair_a_broker_with_every_broker_of_the_other_racks():
    """When a broker fails its load is taken over by many, not by two."""
    brokers = _brokers(3, 3)
    peers = {
        id_
        for n in range(200)
        for replicas in place(brokers, partitions=1, replication_factor=3, seed=f"topic-{n}")
        if 0 in replicas
        for id_ in replicas
    }
    assert peers == {0, 1, 2, 4, 5, 7, 8}


@given(_any_topic())
def test_changing_the_replication_factor_moves_no_more_than_it_must(topic):
    """Each partition gains what it lacks, loses what is surplus, and the rest stays.

    A live leader stays, and a replica on a fenced broker is the first to go.
    """
    brokers, current, factor = topic
    live = {broker.id for broker in brokers if not broker.fenced}
    fenced = {broker.id for broker in brokers if broker.fenced}
    resized = reassign(brokers, current, replication_factor=factor)
    for before, after in zip(current, resized, strict=True):
        assert len(set(after)) == len(after) == factor
        gained, lost = set(after) - set(before), set(before) - set(after)
        assert len(gained) == max(0, factor - len(before))
        assert len(lost) == max(0, len(before) - factor)
        assert gained <= live
        if before[0] in live or before[0] in after:
            assert after[0] == before[0]
        if lost - fenced:
            assert not set(after) & fenced


@given(_equal_racks(), st.integers(1, 20), st.integers(1, 6))
def test_another_replication_factor_is_as_rack_aware_as_a_new_topic(cluster, partitions, target):
    brokers, factor = cluster
    target = min(target, len(brokers))
    racks = len({broker.rack for broker in brokers})
    current = place(brokers, partitions=partitions, replication_factor=factor)
    for replicas in reassign(brokers, current, replication_factor=target):
        used = Counter(id_ % racks for id_ in replicas)
        assert len(used) == min(target, racks)
        assert max(used.values()) - min(used.values()) <= 1


@given(_equal_racks(), st.integers(1, 20))
def test_replicas_added_to_a_topic_without_any_load_brokers_evenly(cluster, partitions):
    brokers, factor = cluster
    current = place(brokers, partitions=partitions, replication_factor=1)
    resized = reassign(brokers, current, replication_factor=factor)
    assert _spread(_replicas(resized), brokers) <= 1


@given(_any_topic())
def test_no_other_choice_would_load_brokers_more_evenly(topic):
    """Among equally rack-aware ones that move as little and leave the leaders alone."""
    brokers, current, factor = topic
    rack_of = {broker.id: broker.rack for broker in brokers if not broker.fenced}
    resized = reassign(brokers, current, replication_factor=factor)
    loads = _replicas(resized)
    for before, after in zip(current, resized, strict=True):
        gained = set(after) - set(before)
        chosen = gained or (set(after[1:]) if len(before) > factor else set())
        spare = set(rack_of) - set(after) if gained else set(before) - set(after)
        for old in chosen & set(rack_of):
            for new in spare & set(rack_of):
                racks = [rack_of.get(id_, object()) for id_ in after]
                crowds = racks.count(rack_of[new]) + 1 - racks.count(rack_of[old])
                if rack_of[new] == rack_of[old] or crowds <= 0:
                    assert loads[old] - loads[new] <= 1


def test_the_same_replication_factor_moves_nothing():
    brokers = _brokers(3, 2)
    current = ((0, 3), (3, 0), (5, 2))
    assert reassign(brokers, current, replication_factor=2) == current


def test_a_replica_of_a_broker_that_is_gone_is_replaced():
    """Kafka refuses an assignment that names an unregistered broker (A4-45)."""
    brokers = _brokers(3, 1)
    assert reassign(brokers, ((7, 1), (0, 7)), replication_factor=2) == ((1, 2), (0, 1))


def test_a_rack_that_has_none_gets_the_new_replica():
    brokers = [Broker(id=0, rack="a"), Broker(id=1, rack="a"), Broker(id=2, rack="b")]
    assert reassign(brokers, ((0,), (0,), (1,)), replication_factor=2) == ((0, 2), (0, 2), (1, 2))


def test_a_replica_that_doubles_a_rack_goes_first():
    brokers = [Broker(id=0, rack="a"), Broker(id=1, rack="a"), Broker(id=2, rack="b")]
    assert reassign(brokers, ((0, 1, 2),), replication_factor=2) == ((0, 2),)


def test_too_few_brokers_are_refused():
    brokers = [*_brokers(2, 1), Broker(id=9, fenced=True)]
    with pytest.raises(PlacementError, match=r"^3 replicas need as many brokers, and 2 are unfen"):
        place(brokers, partitions=1, replication_factor=3)
    with pytest.raises(PlacementError, match=r"^a partition on 2 brokers needs one more, and no"):
        reassign(brokers, ((0, 1),), replication_factor=3)


@pytest.mark.parametrize("factor", [0, -1])
def test_a_replication_factor_below_one_is_refused(factor):
    brokers = _brokers(3, 1)
    with pytest.raises(PlacementError, match=f"at least 1 replica, not {factor}$"):
        place(brokers, partitions=1, replication_factor=factor)
    with pytest.raises(PlacementError, match=f"at least 1 replica, not {factor}$"):
        reassign(brokers, ((0,),), replication_factor=factor)


def test_a_topic_without_partitions_is_refused():
    with pytest.raises(PlacementError, match=r"at least 1 partition, not 0$"):
        place(_brokers(3, 1), partitions=0, replication_factor=1)


def test_a_topic_can_not_shrink():
    with pytest.raises(PlacementError, match=r"with 2 partitions can't be reduced to 1$"):
        place(_brokers(3, 1), partitions=1, replication_factor=1, existing=((0,), (1,)))
