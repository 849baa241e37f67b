"""Topics of virtual clusters in a plan: one physical topic, and the link that is its name."""

import pytest
from builders import a_cluster, a_desired, a_tombstone, a_topic, a_topic_state, only_change, plan_of
from laws.cluster_model import Model
from msgspec.structs import replace
from plan.worked_scenario import (
    ANALYTICS,
    NO_LIMITS,
    SALES,
    a_link,
    a_local_topic,
    a_virtual_cluster,
)

from kgitops.model import requests as req
from kgitops.model.cluster_state import ClusterState
from kgitops.model.json.declared import DeletionPolicy, DesiredObject, DesiredTopic
from kgitops.model.resources.virtual_clusters import ChangeType, LocalName, TopicLink
from kgitops.model.verdict import ExitCode
from kgitops.plan.document.plan import Action, Plan

DELETE, ORPHAN = DeletionPolicy.DELETE, DeletionPolicy.ORPHAN
HOME, AWAY = a_virtual_cluster(SALES), a_virtual_cluster(ANALYTICS)
LOCAL = LocalName(SALES, "Orders")
ORDERS = a_local_topic(deletion_policy=ORPHAN)
ADDRESS = "vc/emea.sales/topic/Orders"


def plan(*objects: DesiredObject, state: ClusterState) -> Plan:
    return plan_of(a_desired(HOME, AWAY, *objects, safety=NO_LIMITS), state)


def having(*objects: DesiredObject) -> ClusterState:
    return Model(a_cluster()).apply(plan(*objects, state=a_cluster())).state


def physical(state: ClusterState, name: str = "Orders", at: str = SALES) -> str:
    return state.virtual_clusters[at].links[name].topic


def without_link(state: ClusterState) -> ClusterState:
    """A tenant deleted the topic, which only unlinks it (VC-031)."""
    found = replace(state.virtual_clusters[SALES], links={})
    return replace(state, virtual_clusters={**state.virtual_clusters, SALES: found})


def test_it_is_made_with_its_link_by_one_request() -> None:
    """VC-056, VC-057, VC-062: the plan says what only the apply will know."""
    change = only_change(plan(ORDERS, state=having()))
    (planned,) = change.requests
    assert isinstance(planned.request, req.CreateTopicRequest)
    assert planned.request.local == LOCAL
    assert planned.request.topic == "<uuid:new>.Orders"
    assert planned.request.requested_state.name == "<uuid:new>.Orders"
    assert change.address == ADDRESS
    assert change.after is not None
    assert change.after["name"] == "<uuid:new>.Orders (known after apply)"


def test_a_global_topic_of_that_name_is_another_one() -> None:
    """VC-055, VC-061: and one in another virtual cluster too."""
    there = a_topic("Orders")
    state = having(there)
    assert set(state.topics) == {"Orders"}
    found = plan(there, ORDERS, a_local_topic(at=ANALYTICS), state=state)
    assert [change.actions for change in found.changes] == [(Action.CREATE,)] * 2


def test_it_is_not_declared_by_its_physical_name_as_well() -> None:
    state = having(ORDERS)
    twice = a_topic(physical(state), configs={"retention.ms": "5"})
    found = plan(ORDERS, twice, state=state)
    assert found.changes == ()
    (finding,) = found.findings
    assert finding.problem == f"{twice.address} is the topic {ADDRESS}, which is declared as well"


def test_its_owner_may_go_on_with_it_by_its_physical_name() -> None:
    """Orphan leaves the topic, which is then like any other that no document declares."""
    state = having(ORDERS)
    found = plan(a_topic(physical(state)), state=state)
    assert not found.verdict.stops
    assert {Action.ADOPT, Action.FORGET} <= {it for one in found.changes for it in one.actions}


def test_another_project_can_t_declare_it_by_its_physical_name() -> None:
    state = having(ORDERS)
    topic = a_topic(physical(state), configs={"retention.ms": "5"})
    found = plan_of(a_desired(topic, project="other", uid="2222", safety=NO_LIMITS), state)
    assert found.changes == ()
    (refusal,) = found.refusals
    assert f"{topic.address} is the topic {ADDRESS}, which belongs to the project " in str(refusal)
    assert found.verdict.exit is ExitCode.REFUSED


def test_the_rest_of_the_plan_knows_it_by_its_own_address() -> None:
    """VC-406: a second plan is empty, and it is not listed as a topic that nobody manages."""
    state = having(ORDERS)
    found = plan(ORDERS, state=state)
    assert found.changes == ()
    assert found.kept == ()


def test_it_is_altered_by_its_physical_name_and_says_its_local_one() -> None:
    """VC-035, VC-065: the request carries both."""
    state = having(ORDERS)
    more = a_local_topic(partitions=4, configs={"retention.ms": "1"}, deletion_policy=ORPHAN)
    change = only_change(plan(more, state=state))
    for planned in change.requests:
        assert isinstance(planned.request, req.AlterTopicRequest)
        assert planned.request.topic == physical(state)
        assert planned.request.local == LOCAL
        assert planned.expects.topic_id == state.topics[physical(state)].topic_id
    assert "affects" not in change.impact


def test_who_else_sees_the_topic_is_told() -> None:
    """VC-036: every other link of the topic, with what is altered."""
    views = [a_link("b", LOCAL, at=ANALYTICS), a_link("a", LOCAL)]
    state = having(ORDERS, *views)
    more = a_local_topic(partitions=4, deletion_policy=ORPHAN)
    change = only_change(plan(more, *views, state=state))
    assert change.impact["affects"] == ["analytics/b", "emea.sales/a"]


def test_the_links_of_a_global_topic_are_told_too() -> None:
    """VC-036."""
    there, link = a_topic("there"), a_link("n", "there")
    state = having(there, link)
    change = only_change(plan(a_topic("there", partitions=4), link, state=state))
    assert change.impact["affects"] == ["emea.sales/n"]


class TestRemoving:
    """VC-031, VC-032, VC-034: the link always; the records only with Delete."""

    def test_an_orphan_is_unlinked_and_forgotten(self) -> None:
        """VC-031, VC-032: one change, and no request about the topic."""
        state = having(ORDERS)
        found = plan(state=state)
        change = only_change(found)
        assert (change.address, change.actions) == (ADDRESS, (Action.FORGET,))
        (planned,) = change.requests
        assert isinstance(planned.request, req.AlterVirtualClusterRequest)
        assert planned.request.change is ChangeType.REMOVE
        assert change.risk.name == "topic-unlink"
        done = Model(state).apply(found).state
        assert done.topics == state.topics

    def test_delete_is_two_changes(self) -> None:
        """VC-034: the link at D150, the topic at D160, bound to its id."""
        state = having(a_local_topic(deletion_policy=DELETE))
        link, topic = plan(state=state).changes
        assert (link.address, link.kind) == ("vc/emea.sales/link/Orders", "TopicLink")
        assert link.owner_before is link.owner_after is None
        (deletion,) = topic.requests
        assert isinstance(deletion.request, req.DeleteTopicRequest)
        assert deletion.request.local == LOCAL
        assert deletion.request.topic_id == state.topics[physical(state)].topic_id
        assert link.requests[0].id in deletion.depends_on

    def test_a_tombstone_deletes_what_is_protected(self) -> None:
        topic = a_local_topic()
        state = having(topic)
        refused = plan(state=state)
        assert refused.verdict.exit is ExitCode.REFUSED
        desired = a_desired(HOME, AWAY, a_tombstone(topic), safety=NO_LIMITS)
        found = plan_of(desired, state)
        assert [change.actions for change in found.changes] == [(Action.DELETE,)] * 2

    def test_only_the_topic_counts_as_deleted(self) -> None:
        """Contract §2: links are excluded from the limits."""
        state = having(a_local_topic(deletion_policy=DELETE))
        limited = replace(NO_LIMITS, max_deletes=1)
        found = plan_of(a_desired(HOME, AWAY, safety=limited), state)
        assert not found.verdict.stops

    def test_what_was_adopted_keeps_its_link(self) -> None:
        """Contract §1, Adopting: the first removal of an adopted object is a forget."""
        state = having(a_local_topic())
        assert state.registry is not None
        owners = {key: own for key, own in state.registry.owners.items() if key != ADDRESS}
        state = replace(state, registry=replace(state.registry, owners=owners))
        adopting = plan(a_local_topic(), state=state)
        assert only_change(adopting).actions == (Action.ADOPT,)
        state = Model(state).apply(adopting).state
        change = only_change(plan(state=state))
        assert (change.actions, change.requests) == ((Action.FORGET,), ())


class TestALinkThatSomebodyRemoved:
    """VC-031: the records are still there, so the name comes back to them."""

    def test_the_link_is_made_again(self) -> None:
        """VC-031: no new topic, which would be empty (VC-067)."""
        state = having(ORDERS)
        found = plan(ORDERS, state=without_link(state))
        change = only_change(found)
        assert change.actions == (Action.UPDATE,)
        (planned,) = change.requests
        assert isinstance(planned.request, req.AlterVirtualClusterRequest)
        assert planned.request.topic == physical(state)
        assert change.risk.name == "topic-relink"

    def test_with_all_else_that_differs(self) -> None:
        """VC-406: so that one plan is enough."""
        state = having(ORDERS)
        more = a_local_topic(partitions=4, deletion_policy=ORPHAN)
        found = plan(more, state=without_link(state))
        done = Model(without_link(state)).apply(found).state
        assert physical(done) == physical(state)
        assert plan(more, state=done).changes == ()

    def test_a_topic_that_goes_is_found_by_its_id(self) -> None:
        state = without_link(having(a_local_topic(deletion_policy=DELETE)))
        change = only_change(plan(state=state))
        assert (change.address, change.actions) == (ADDRESS, (Action.DELETE,))


class TestAnotherTopicBehindTheName:
    """VC-047: never taken for what was applied."""

    def test_made_anew(self) -> None:
        """VC-047: TOPIC_REPLACED."""
        state = having(ORDERS)
        name = physical(state)
        state = replace(state, topics={name: a_topic_state(name, topic_id="another")})
        found = plan(ORDERS, state=state)
        (finding,) = found.findings
        assert "TOPIC_REPLACED" in finding.problem
        assert not found.requests
        assert [row.rule for row in found.drift] == ["recreated"]

    def test_gone(self) -> None:
        """VC-033: a dangling link is drift, and no reason to make an empty topic."""
        state = replace(having(ORDERS), topics={})
        found = plan(ORDERS, state=state)
        (finding,) = found.findings
        assert "gone from the cluster" in finding.problem
        assert [row.rule for row in found.drift] == ["missing"]

    def test_gone_and_not_wanted(self) -> None:
        change = only_change(plan(state=replace(having(ORDERS), topics={})))
        assert change.actions == (Action.FORGET,)

    def test_led_elsewhere(self) -> None:
        """VC-047: by somebody, to a topic that was not made there."""
        there = a_topic("there")
        state = having(ORDERS, there)
        elsewhere = TopicLink(name="Orders", topic="there", topic_id="id-of-there")
        found = replace(state.virtual_clusters[SALES], links={"Orders": elsewhere})
        state = replace(state, virtual_clusters={**state.virtual_clusters, SALES: found})
        assert plan(ORDERS, there, state=state).verdict.exit is ExitCode.ERROR


@pytest.mark.parametrize(
    "topic", [a_local_topic(at="nowhere"), a_local_topic("Other", at="nowhere")]
)
def test_a_topic_in_no_virtual_cluster_is_an_error_at_its_place(topic: DesiredTopic) -> None:
    """VC-026."""
    (finding,) = plan(topic, state=having()).findings
    assert finding.source == topic.located.at("metadata", "virtualCluster")
    assert "nowhere" in finding.problem


def test_a_link_to_a_global_topic_is_no_topic_of_the_virtual_cluster() -> None:
    """VC-055: declaring a Topic must not take a global one over through a link."""
    there = a_topic("there")
    state = having(there)
    link = TopicLink(name="Orders", topic="there", topic_id=state.topics["there"].topic_id)
    found = replace(state.virtual_clusters[SALES], links={"Orders": link})
    state = replace(state, virtual_clusters={**state.virtual_clusters, SALES: found})
    (finding,) = plan(there, ORDERS, state=state).findings
    assert "was not made there" in finding.problem
