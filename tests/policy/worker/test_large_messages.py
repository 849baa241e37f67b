"""A large state is not the policies' doing, not even on its way."""

from msgspec.structs import replace
from policy.worker.judgings import STATE, a_creation, a_policy, judging, outcomes

from kgitops.model.resources.topics import TopicState
from kgitops.policy.worker.process import Limits


def test_a_state_may_be_larger_than_what_policies_may_take():
    topics = {
        f"t{n}": TopicState(name=f"t{n}", topic_id=f"id{n}", assignment=((1, 2),), configs={})
        for n in range(60_000)
    }
    limits = Limits(memory=8 << 20)
    with judging(a_policy("good:Accepts"), limits=limits, state=replace(STATE, topics=topics)) as j:
        assert outcomes([j.judge(a_creation("new"))]) == [{"Accepts": "passed"}]
