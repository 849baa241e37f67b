"""A state that is not copied looks like a copy that every accepted request has changed."""

from collections.abc import Mapping

from hypothesis import given
from hypothesis import strategies as st
from model.request_strategies import any_text, requests
from policy.worker.test_same_verdicts import creations, names, states

from kgitops.model.cluster_state import ClusterState
from kgitops.model.requests import AlterClientQuotaRequest, DeleteTopicRequest
from kgitops.model.resources.topics import TopicState
from kgitops.policy.state import Overlay, SimulatedState

PREFIXES = ("", "o", "orders", "__")
FLAGS = [(internal, going) for internal in (False, True) for going in (False, True)]
deletions = st.builds(DeleteTopicRequest, topic=names, topic_id=st.just("id"))
keys = st.integers(0, 5)
changes = st.lists(st.tuples(st.booleans(), keys, st.integers()), max_size=12)


@given(st.dictionaries(keys, st.integers(), max_size=4), changes)
def test_an_overlay_is_the_copy_that_it_saves(base, changed):
    overlay, copy = Overlay(base), dict(base)
    for put, key, value in changed:
        copy.pop(key, None)
        if put:
            overlay.put(key, value)
            copy[key] = value
        else:
            overlay.remove(key)
        assert list(overlay.items()) == list(copy.items())
        assert len(overlay) == len(copy)
        assert overlay.names() == copy.keys()
        assert [overlay.get(name) for name in range(6)] == [copy.get(name) for name in range(6)]


def users(state: ClusterState) -> Mapping[str, TopicState]:
    return {name: topic for name, topic in state.topics.items() if not topic.internal}


@given(states(), st.lists(creations() | deletions | requests, max_size=8), st.data())
def test_a_world_is_the_copy_that_it_saves(state, accepted, data):
    """P201-36, P201-37, P201-41: whenever a policy asks first, and again after each request."""
    world, copied = SimulatedState(state), state
    altered = (item.entity for item in accepted if isinstance(item, AlterClientQuotaRequest))
    entities = {*state.quotas, *altered}
    for request in (*accepted, None):
        if data.draw(st.booleans(), label="asked now"):
            _look_alike(world, copied, data.draw(any_text, label="prefix"), entities)
        if request is not None:
            world.accept(request)
            copied = copied.after([request])
    _look_alike(world, copied, "", entities)


def _look_alike(world: SimulatedState, copied: ClusterState, prefix: str, entities) -> None:
    assert dict(world.topics) == copied.topics
    assert world.acls == copied.acls
    for entity in entities:
        held = copied.quotas.get(entity)
        assert world.quotas(entity) == (held.quotas if held else {})
    assert world.topic_count == len(users(copied))
    for start in (*PREFIXES, prefix):
        assert world.partitions(start) == sum(
            topic.num_partitions for name, topic in users(copied).items() if name.startswith(start)
        )
    for internal, going in FLAGS:
        assert world.topic_names(internal=internal, marked_for_deletion=going) == {
            name
            for name, topic in copied.topics.items()
            if (internal or not topic.internal) and (going or not topic.marked_for_deletion)
        }


def test_a_large_state_is_not_gone_through_unless_a_policy_asks():
    """Beginning on a hundred thousand topics costs what beginning on none does."""
    world = SimulatedState(ClusterState(cluster_id="c", backend="embedded", topics=Untouchable()))
    world.accept(DeleteTopicRequest(topic="orders", topic_id="id"))
    assert world.topics.get("orders") is None


class Untouchable(Mapping[str, TopicState]):
    """Topics that nobody may look at: for one that was changed there is no need to."""

    def __getitem__(self, name):
        raise AssertionError(name)

    def __iter__(self):
        raise AssertionError

    def __len__(self):
        raise AssertionError
