"""Links in a plan: where a name leads, what is refused, and what goes on under one name."""

import pytest
from builders import (
    a_cluster,
    a_desired,
    a_tombstone,
    a_topic,
    a_topic_state,
    an_owner,
    only_change,
    plan_of,
)
from laws.cluster_model import Model
from msgspec.structs import replace
from plan.worked_scenario import (
    ANALYTICS,
    NO_LIMITS,
    SALES,
    STREAM,
    a_link,
    a_local_topic,
    a_virtual_cluster,
    before,
    of_analytics,
    of_sales,
    wanted,
)

from kgitops.model.cluster_state import ClusterState
from kgitops.model.json.declared import DeletionPolicy, DesiredObject
from kgitops.model.registry import RegistryState
from kgitops.model.requests import AlterVirtualClusterRequest, DeleteTopicRequest
from kgitops.model.resources.virtual_clusters import ChangeType, EntityType, LocalName, TopicLink
from kgitops.model.source import Finding
from kgitops.model.verdict import ExitCode
from kgitops.plan.document.plan import Action, Drift, Plan
from kgitops.plan.phases import in_waves

DELETE, ORPHAN = DeletionPolicy.DELETE, DeletionPolicy.ORPHAN
X, Y = a_topic("x", deletion_policy=DELETE), a_topic("y", deletion_policy=DELETE)
HOME = a_virtual_cluster(SALES, deletion_policy=DELETE)


def plan(*objects: DesiredObject, state: ClusterState) -> Plan:
    return plan_of(a_desired(*objects, safety=NO_LIMITS), state)


def having(*objects: DesiredObject) -> ClusterState:
    """The cluster once these were applied."""
    state = a_cluster()
    return Model(state).apply(plan(*objects, state=state)).state


def the_finding(found: Plan) -> Finding:
    assert found.verdict.exit is ExitCode.ERROR
    (finding,) = found.findings
    return finding


def request(found: Plan, address: str) -> AlterVirtualClusterRequest:
    (change,) = (change for change in found.changes if change.address == address)
    (planned,) = change.requests
    assert isinstance(planned.request, AlterVirtualClusterRequest)
    return planned.request


def relinked(state: ClusterState, name: str, link: TopicLink | None) -> ClusterState:
    """Somebody leads a name of emea.sales elsewhere, or removes it."""
    found = state.virtual_clusters[SALES]
    links = {key: each for key, each in found.links.items() if key != name}
    if link:
        links[name] = link
    changed = {**state.virtual_clusters, SALES: replace(found, links=links)}
    return replace(state, virtual_clusters=changed)


def test_a_link_to_a_topic_that_is_made_follows_it() -> None:
    """VC-005, VC-022: it names the other name, for nobody knows the physical one yet."""
    found = plan_of(wanted(*of_analytics(), *of_sales()), before())
    link = request(found, "vc/analytics/link/sales.orders")
    assert link.target == LocalName(SALES, "Orders")
    assert link.topic is None
    (change,) = (c for c in found.changes if c.address == "vc/analytics/link/sales.orders")
    assert change.after is not None
    assert change.after["topic"] == "<uuid:new>.Orders (known after apply)"


def test_a_link_to_a_topic_that_is_there_names_it() -> None:
    """VC-005: the plan is bound to what it saw."""
    there = [HOME, a_local_topic()]
    state = having(*there)
    link = request(
        plan(*there, a_link("o", LocalName(SALES, "Orders")), state=state), "vc/emea.sales/link/o"
    )
    assert link.topic in state.topics
    assert link.target is None


def test_one_of_two_names_goes_alone() -> None:
    """VC-031: the topic, and its other name, stay as they are."""
    state = having(HOME, X, a_link("one", "x"), a_link("two", "x"))
    found = plan(HOME, X, a_link("one", "x"), state=state)
    change = only_change(found)
    assert change.address == "vc/emea.sales/link/two"
    assert change.actions == (Action.DELETE,)


def test_a_link_that_leads_elsewhere_switches_in_one_step() -> None:
    """VC-028: one request, which says what it replaces."""
    state = having(HOME, X, Y, a_link("n", "x"))
    found = plan(HOME, X, Y, a_link("n", "y"), state=state)
    change = only_change(found)
    assert change.actions == (Action.UPDATE,)
    assert change.risk.name == "link-retarget"
    assert [(f.path, f.before, f.after) for f in change.fields] == [("topic", "x", "y")]
    assert change.preconditions[0].fields == {"topic": "x"}
    link = request(found, change.address)
    assert (link.topic, link.replaces) == ("y", "x")


def test_two_names_are_swapped_in_one_plan() -> None:
    """VC-028, VC-403a: a→x, b→y to a→y, b→x; neither name is ever missing."""
    state = having(HOME, X, Y, a_link("a", "x"), a_link("b", "y"))
    swapped = [HOME, X, Y, a_link("a", "y"), a_link("b", "x")]
    found = plan(*swapped, state=state)
    assert [change.actions for change in found.changes] == [(Action.UPDATE,)] * 2
    links = Model(state).apply(found).state.virtual_clusters[SALES].links
    assert {name: link.topic for name, link in links.items()} == {"a": "y", "b": "x"}


def test_a_new_name_stands_before_the_old_one_goes() -> None:
    """VC-027, VC-403: at no point in the plan is the topic without a name."""
    state = having(HOME, X, a_link("old", "x"))
    found = plan(HOME, X, a_link("new", "x"), state=state)
    assert [c.address for c in found.changes] == [
        "vc/emea.sales/link/new",
        "vc/emea.sales/link/old",
    ]
    make, break_ = found.requests
    assert make.id in break_.depends_on
    model = Model(state)
    for planned in found.requests:
        model = model.execute(planned.request)
        assert model.state.virtual_clusters[SALES].links


@pytest.mark.parametrize(
    ("link", "words"),
    [
        (a_link("n", "nowhere"), "leads to the topic 'nowhere'"),
        (a_link("n", LocalName(SALES, "nothing")), f"{SALES}/nothing, and {SALES} has no such"),
        (a_link("n", LocalName("nowhere", "x")), "there is no virtual cluster nowhere"),
    ],
)
def test_a_link_to_nothing_is_an_error_at_its_place(link: DesiredObject, words: str) -> None:
    """VC-026: the document's file and line, in words."""
    finding = the_finding(plan(HOME, link, state=a_cluster()))
    assert finding.source == link.located.at("spec", "target")
    assert words in finding.problem


def test_a_link_in_no_virtual_cluster_is_an_error_at_its_place() -> None:
    """VC-026."""
    link = a_link("n", "x", at="nowhere")
    finding = the_finding(plan(X, link, state=a_cluster()))
    assert finding.source == link.located.at("metadata", "virtualCluster")
    assert "nowhere" in finding.problem


def test_links_that_lead_to_each_other_lead_nowhere() -> None:
    one, two = a_link("one", LocalName(SALES, "two")), a_link("two", LocalName(SALES, "one"))
    found = plan(HOME, one, two, state=a_cluster())
    assert len(found.findings) == 2
    assert all("circle" in finding.problem for finding in found.findings)


def test_a_link_through_a_link_leads_to_the_topic() -> None:
    """VC-005: links lead to physical topics, never to links."""
    state = having(HOME, X)
    two = a_link("two", LocalName(SALES, "one"))
    found = plan(HOME, X, a_link("one", "x"), two, state=state)
    assert request(found, two.address).topic == "x"


class TestDeletingWhatIsLinked:
    """VC-033: no plan leaves a link that leads to nothing."""

    def test_a_global_topic(self) -> None:
        """VC-033: the finding names the links."""
        state = having(HOME, X, a_link("n", "x"))
        finding = the_finding(plan(HOME, a_link("n", "x"), state=state))
        assert "emea.sales/n leads to its topic x" in finding.problem

    def test_a_global_topic_whose_links_all_go(self) -> None:
        """VC-033, VC-034: links first, and the deletion waits for them."""
        state = having(HOME, X, a_link("n", "x"), a_link("m", "x"))
        found = plan(HOME, state=state)
        assert not found.verdict.stops
        *unlinking, deletion = found.requests
        assert isinstance(deletion.request, DeleteTopicRequest)
        assert {planned.id for planned in unlinking} <= set(deletion.depends_on)

    def test_a_topic_of_a_virtual_cluster_that_another_one_sees(self) -> None:
        """VC-033: §24.9 a."""
        everything = wanted(*of_analytics(), *of_sales(delete=DELETE))
        state = Model(before()).apply(plan_of(everything, before())).state
        rest = [item for item in of_sales(delete=DELETE) if "Orders" not in item.address]
        found = plan_of(wanted(*of_analytics(), *rest), state)
        addresses = [change.address for change in found.changes]
        assert "vc/emea.sales/link/Orders" in addresses
        (finding,) = found.findings
        assert "vc/emea.sales/topic/Orders can't be deleted" in finding.problem
        assert "analytics/sales.orders" in finding.problem

    def test_by_a_tombstone_the_finding_is_where_it_stands(self) -> None:
        state = having(HOME, X, a_link("n", "x"))
        stone = a_tombstone(X)
        found = plan_of(a_desired(HOME, a_link("n", "x"), stone, safety=NO_LIMITS), state)
        assert the_finding(found).source == stone.located.source


class TestReplacedTopics:
    """VC-047: what was deleted and made anew outside is never taken for what it was."""

    def replaced(self) -> ClusterState:
        state = having(HOME, X, a_link("n", "x"))
        made = a_topic_state("x", topic_id="another")
        registry = state.registry
        assert registry is not None
        owners = {**registry.owners, X.address: an_owner(X, topic_id="another")}
        return replace(state, topics={"x": made}, registry=replace(registry, owners=owners))

    def test_a_topic_made_anew(self) -> None:
        """VC-047: TOPIC_REPLACED, with both ids as drift."""
        found = plan(HOME, X, a_link("n", "x"), state=self.replaced())
        assert "TOPIC_REPLACED" in the_finding(found).problem
        (row,) = found.drift
        assert (row.address, row.path, row.found, row.rule) == (
            "vc/emea.sales/link/n", "topic_id", "another", "recreated",
        )  # fmt: skip

    def test_a_topic_that_is_gone(self) -> None:
        """VC-033: a dangling link is drift."""
        state = replace(self.replaced(), topics={})
        orphaned = replace(X, deletion_policy=ORPHAN)
        found = plan(HOME, orphaned, a_link("n", "x"), state=state)
        assert "gone from the cluster" in the_finding(found).problem
        assert "missing" in {row.rule for row in found.drift}

    def test_removing_the_link_is_the_way_out(self) -> None:
        """VC-047: one commit without the link, one with it."""
        found = plan(HOME, X, state=self.replaced())
        assert only_change(found).address == "vc/emea.sales/link/n"


class TestAnUnmanagedLink:
    """VC-409: what nobody manages is adopted when it is declared, and left alone when not."""

    def state(self) -> ClusterState:
        state = having(HOME, X, Y)
        return relinked(
            state, "n", TopicLink(name="n", topic="x", topic_id=state.topics["x"].topic_id)
        )

    def test_the_same(self) -> None:
        change = only_change(plan(HOME, X, Y, a_link("n", "x"), state=self.state()))
        assert change.actions == (Action.ADOPT,)
        assert change.requests == ()
        assert change.owner_after is not None
        assert change.owner_after.adopted

    def test_another(self) -> None:
        change = only_change(plan(HOME, X, Y, a_link("n", "y"), state=self.state()))
        assert change.actions == (Action.ADOPT, Action.UPDATE)

    def test_not_declared(self) -> None:
        """VC-409: and named among what is kept."""
        found = plan(HOME, X, Y, state=self.state())
        assert found.changes == ()
        assert [(kept.address, kept.rule) for kept in found.kept] == [
            ("vc/emea.sales/link/n", "unmanaged")
        ]


class TestNameReuse:
    """VC-403a: what takes the place of something else under one name."""

    def test_a_link_takes_the_name_of_a_topic(self) -> None:
        """VC-403a: in one step; the records stay under the physical name."""
        topic = a_local_topic("n", deletion_policy=ORPHAN)
        state = having(HOME, X, topic)
        found = plan(HOME, X, a_link("n", "x"), state=state)
        assert [(c.address, c.actions) for c in found.changes] == [
            ("vc/emea.sales/topic/n", (Action.FORGET,)),
            ("vc/emea.sales/link/n", (Action.UPDATE,)),
        ]
        assert len(found.requests) == 1
        done = Model(state).apply(found).state
        assert done.virtual_clusters[SALES].links["n"].topic == "x"
        assert plan(HOME, X, a_link("n", "x"), state=done).changes == ()

    def test_a_topic_that_is_deleted_does_not_give_its_name_at_once(self) -> None:
        """VC-403a: the records would go before the name is free; two commits."""
        state = having(HOME, X, a_local_topic("n", deletion_policy=DELETE))
        finding = the_finding(plan(HOME, X, a_link("n", "x"), state=state))
        assert "Orphan" in finding.advice

    def test_a_topic_can_not_take_the_name_of_a_link(self) -> None:
        """VC-403a: a topic is made with its link, and there is one; two commits."""
        state = having(HOME, X, a_link("n", "x"))
        topic = a_local_topic("n")
        finding = the_finding(plan(HOME, X, topic, state=state))
        assert finding.source == topic.located.at("metadata", "name")
        assert "remove the TopicLink and apply" in finding.advice


def test_a_link_of_a_topic_of_another_project_is_not_touched() -> None:
    state = having(HOME, X, a_local_topic("n"))
    registry = state.registry
    assert isinstance(registry, RegistryState)
    theirs = replace(registry.owners["vc/emea.sales/topic/n"], project="theirs")
    owners = {**registry.owners, "vc/emea.sales/topic/n": theirs}
    state = replace(state, registry=replace(registry, owners=owners))
    found = plan(HOME, X, a_link("n", "x"), state=state)
    assert found.verdict.exit is ExitCode.REFUSED
    assert found.changes == ()


def test_a_link_that_somebody_led_elsewhere_is_restored_and_told() -> None:
    state = having(HOME, X, Y, a_link("n", "x"))
    elsewhere = TopicLink(name="n", topic="y", topic_id=state.topics["y"].topic_id)
    found = plan(HOME, X, Y, a_link("n", "x"), state=relinked(state, "n", elsewhere))
    assert found.drift == (
        Drift(
            address="vc/emea.sales/link/n",
            path="topic",
            last_applied="x",
            found="y",
            rule="restored",
        ),
    )
    assert request(found, "vc/emea.sales/link/n").topic == "x"


def test_a_link_that_somebody_removed_is_made_again() -> None:
    state = having(HOME, X, a_link("n", "x"))
    found = plan(HOME, X, a_link("n", "x"), state=relinked(state, "n", None))
    assert only_change(found).because == "it was removed outside of kgitops"
    assert [row.rule for row in found.drift] == ["missing"]


def test_unlinking_moves_no_data() -> None:
    """VC-008: a link's removal is one request about the virtual cluster, none about the topic."""
    state = having(HOME, X, a_link("n", "x"))
    found = plan(HOME, X, state=state)
    link = request(found, "vc/emea.sales/link/n")
    assert (link.change, link.entity_type) == (ChangeType.REMOVE, EntityType.TOPIC)
    assert Model(state).apply(found).state.topics == state.topics


def test_one_topic_has_several_names_in_one_virtual_cluster() -> None:
    """VC-023: as in a migration by prefix."""
    state = having(HOME, X, a_link("x", "x"), a_link("short", "x"))
    assert {link.topic for link in state.virtual_clusters[SALES].links.values()} == {"x"}


def test_names_are_of_one_virtual_cluster_alone() -> None:
    """VC-021: the same name in two means two topics."""
    other = a_virtual_cluster(ANALYTICS)
    state = having(HOME, other, X, Y, a_link("n", "x"), a_link("n", "y", at=ANALYTICS))
    assert state.virtual_clusters[SALES].links["n"].topic == "x"
    assert state.virtual_clusters[ANALYTICS].links["n"].topic == "y"


def test_a_topic_that_was_there_before_keeps_its_name() -> None:
    """VC-069: it is brought in by a link alone."""
    state = Model(before()).apply(plan_of(wanted(*of_sales()), before())).state
    assert state.virtual_clusters[SALES].links["SalesStream"].topic == STREAM


def test_in_one_wave_names_are_added_before_others_go() -> None:
    """VC-403: also where nothing waits for them."""
    state = having(HOME, X, a_link("old", "x"))
    found = plan(HOME, X, a_link("new", "x"), state=state)
    free = [replace(planned, depends_on=()) for planned in reversed(found.requests)]
    changes = [p.request.change for p in in_waves(free)]  # type: ignore[union-attr]
    assert changes == [ChangeType.ADD, ChangeType.REMOVE]
