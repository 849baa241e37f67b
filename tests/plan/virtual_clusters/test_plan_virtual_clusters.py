"""Virtual clusters themselves in a plan: made, changed, guarded, and what holds for the whole."""

import pytest
from builders import (
    ALL_CAPABILITIES,
    a_cluster,
    a_desired,
    a_quota,
    a_tombstone,
    a_topic,
    an_acl,
    only_change,
    plan_of,
)
from laws.cluster_model import Model
from msgspec.structs import replace
from plan.worked_scenario import (
    ANALYTICS,
    APP,
    NO_LIMITS,
    SALES,
    a_group,
    a_link,
    a_local_topic,
    a_member,
    a_quota_in,
    a_virtual_cluster,
    an_acl_in,
    scoped,
)

from kgitops.desired.state import Safety
from kgitops.model.cluster_state import ClusterState, VirtualClusterSupport
from kgitops.model.json.declared import DeletionPolicy, DesiredObject
from kgitops.model.requests import AlterVirtualClusterRequest, CreateVirtualClusterRequest
from kgitops.model.resources.quotas import USER, VIRTUAL_CLUSTER, ClientQuotaState, make_entity
from kgitops.model.resources.virtual_clusters import CapLowering, LoweringOptions, VirtualCluster
from kgitops.model.verdict import ExitCode
from kgitops.plan.document.plan import Action, Plan

DELETE = DeletionPolicy.DELETE
HOME = a_virtual_cluster(SALES, deletion_policy=DELETE)
X = a_topic("x")


def plan(*objects: DesiredObject, state: ClusterState) -> Plan:
    return plan_of(a_desired(X, *objects, safety=NO_LIMITS), state)


def having(*objects: DesiredObject) -> ClusterState:
    return Model(a_cluster()).apply(plan(*objects, state=a_cluster())).state


def test_it_is_made_empty_with_its_options() -> None:
    """VC-001."""
    options = LoweringOptions(cap_lowering=CapLowering.DIVIDE)
    found = plan(a_virtual_cluster(options=options), state=having())
    (planned,) = only_change(found).requests
    assert planned.request == CreateVirtualClusterRequest(virtual_cluster=SALES, options=options)


def test_its_options_are_changed_by_name() -> None:
    """VC-221: only what differs is shown and expected."""
    wanted = a_virtual_cluster(deletion_policy=DELETE, options=LoweringOptions(deny_wins=True))
    change = only_change(plan(wanted, state=having(HOME)))
    (planned,) = change.requests
    assert planned.request == AlterVirtualClusterRequest(
        virtual_cluster=SALES, options=wanted.options
    )
    assert change.preconditions[0].fields == {"options.denyWins": "false"}


def test_options_that_somebody_changed_are_drift() -> None:
    state = having(HOME)
    other = replace(state.virtual_clusters[SALES], options=LoweringOptions(deny_wins=True))
    found = plan(HOME, state=replace(state, virtual_clusters={SALES: other}))
    assert [(row.path, row.rule) for row in found.drift] == [("options.denyWins", "restored")]


def test_one_that_is_there_is_adopted() -> None:
    state = replace(having(), virtual_clusters={SALES: VirtualCluster(name=SALES)})
    change = only_change(plan(HOME, state=state))
    assert (change.actions, change.requests) == ((Action.ADOPT,), ())


class TestDeleting:
    """VC-245, VC-409: only what is empty in the end goes."""

    def test_it_is_protected(self) -> None:
        """A new name is a deletion, and that is refused."""
        state = having(a_virtual_cluster(SALES))
        found = plan(a_virtual_cluster("renamed"), state=state)
        assert found.verdict.exit is ExitCode.REFUSED
        assert "vc/emea.sales is protected" in found.refusals[0].sentence

    def test_a_new_name_loses_what_groups_committed(self) -> None:
        """VC-009: their ids on the cluster begin with the old name."""
        groups = [a_group(f"g{number}") for number in range(7)]
        state = having(HOME, a_member(), *groups)
        again = [a_member(at="renamed"), *(a_group(f"g{n}", at="renamed") for n in range(7))]
        (warning,) = plan(a_virtual_cluster("renamed"), *again, state=state).warnings
        assert warning.problem == (
            "vc/emea.sales is deleted, and a virtual cluster of another name begins without the "
            "offsets of 7 groups: emea.sales:g0, emea.sales:g1, emea.sales:g2, emea.sales:g3, "
            "emea.sales:g4 and 2 more"
        )
        taken = [a_group(f"g{n}", at="renamed", adopt=f"emea.sales:g{n}") for n in range(6)]
        (warning,) = plan(a_virtual_cluster("renamed"), *taken, state=state).warnings
        assert "the offsets of 1 group: emea.sales:g6" in warning.problem
        kept = plan(a_virtual_cluster(deletion_policy=DeletionPolicy.ORPHAN), state=state)
        assert not [row for row in kept.warnings if "offsets" in row.problem]

    @pytest.mark.parametrize(
        ("members", "address"),
        [
            ({"users": frozenset({"User:x"})}, "vc/emea.sales/user/User:x"),
            ({"client_ids": frozenset({"x"})}, "vc/emea.sales/client/x"),
            ({"groups": {"x": None}}, "vc/emea.sales/group/x"),
            ({"transactional_ids": frozenset({"x"})}, "vc/emea.sales/txn/x"),
        ],
    )
    def test_not_while_it_has_members_that_nobody_manages(
        self, members: dict[str, object], address: str
    ) -> None:
        """VC-409: they are listed."""
        state = having(HOME)
        found = replace(state.virtual_clusters[SALES], **members)  # type: ignore[arg-type]
        (finding,) = plan(state=replace(state, virtual_clusters={SALES: found})).findings
        assert address in finding.problem

    @pytest.mark.parametrize(
        "left",
        [
            a_link("n", "x"),
            a_local_topic("n"),
            a_member(),
            a_group("g"),
            an_acl_in(SALES, APP, "Read", "n"),
            a_quota_in(SALES, producer_byte_rate=1),
        ],
        ids=lambda item: item.address,
    )
    def test_not_while_a_document_is_in_it(self, left: DesiredObject) -> None:
        """§24.8: each is named."""
        found = plan(left, state=having(HOME, left))
        (finding,) = found.findings
        name = left.address.rpartition("/")[2]
        assert name in finding.problem
        assert "vc/emea.sales can't be deleted" in finding.problem

    def test_a_member_that_moves_away_is_out(self) -> None:
        """VC-086, VC-401: and the deletion waits for that."""
        away = a_virtual_cluster(ANALYTICS)
        state = having(HOME, away, a_member())
        found = plan(away, a_member(at=ANALYTICS, move=True), state=state)
        assert not found.findings
        move, delete = found.requests
        assert move.id in delete.depends_on

    def test_rights_and_quotas_of_strangers_are_told(self) -> None:
        """VC-216: they do not keep it, and count again for one of that name."""
        state = having(HOME)
        entity = make_entity({VIRTUAL_CLUSTER: SALES, USER: "x"})
        acl = scoped(SALES, "User:x", "Read", "n")
        quota = ClientQuotaState(entity=entity, quotas={"producer_byte_rate": 1.0})
        state = replace(state, acls=frozenset({acl}), quotas={entity: quota})
        found = plan(state=state)
        assert not found.findings
        (warning,) = found.warnings
        assert "vc/emea.sales/quota/user=x" in warning.problem
        assert "vc/emea.sales/acl/User:x" in warning.problem

    def test_all_of_it_goes_before_it(self) -> None:
        """VC-401: every request of the virtual cluster is waited for."""
        inside = [a_member(), a_group("g"), a_link("n", "x"), an_acl_in(SALES, APP, "Read", "n")]
        *before, last = plan(state=having(HOME, *inside)).requests
        assert {planned.id for planned in before} <= set(last.depends_on)

    def test_a_tombstone_deletes_what_is_protected(self) -> None:
        home = a_virtual_cluster(SALES)
        found = plan_of(a_desired(X, a_tombstone(home), safety=NO_LIMITS), having(home))
        assert only_change(found).actions == (Action.DELETE,)


@pytest.mark.parametrize(
    "inside",
    [an_acl_in("nowhere", APP, "Read", "n"), a_quota_in("nowhere", producer_byte_rate=1)],
    ids=["acl", "quota"],
)
def test_rights_and_quotas_in_nothing_are_errors_at_their_place(inside: DesiredObject) -> None:
    """VC-026."""
    (finding,) = plan(inside, state=having()).findings
    assert finding.source is not None
    assert finding.source.file.startswith(inside.located.source.file)
    assert "the virtual cluster nowhere" in finding.problem


@pytest.mark.parametrize("name", ["*", "kafka-cluster"])
def test_rights_everywhere_and_nowhere_need_no_virtual_cluster(name: str) -> None:
    """VC-100, VC-144: `*` is every one, also those to come."""
    assert not plan(an_acl_in(name, APP, "Read", "n"), state=having()).findings


def test_the_default_cap_needs_none() -> None:
    """VC-201."""
    assert not plan(a_quota_in(None, producer_byte_rate=1), state=having()).findings


@pytest.mark.parametrize(
    "inside", [HOME, a_link("n", "x"), a_member(), an_acl_in(SALES, APP, "Read", "n"),
               a_quota_in(None, producer_byte_rate=1), a_local_topic()]
)  # fmt: skip
def test_a_cluster_that_has_none_says_so_where_it_is_declared(inside: DesiredObject) -> None:
    """VC-351: nothing of it is planned."""
    none = replace(ALL_CAPABILITIES, virtual_clusters=VirtualClusterSupport.NONE)
    found = plan_of(a_desired(X, inside, safety=NO_LIMITS), having(), none)
    (finding,) = found.findings
    assert finding.source == inside.located.source
    assert "no virtual clusters" in finding.problem
    assert found.changes == ()


def test_the_base_covers_virtual_clusters() -> None:
    """VC-413: what a plan was made from, links and members included."""
    bases = {
        plan_of(a_desired(X), state).base.digest
        for state in (having(), having(HOME), having(HOME, a_link("n", "x")),
                      having(HOME, a_member()), having(HOME, a_group("g")))
    }  # fmt: skip
    assert len(bases) == 5


def test_deletions_are_limited_by_kind() -> None:
    """Contract §2: virtual clusters and groups count, links do not."""
    groups = [a_group(name) for name in "ab"]
    links = [a_link(name, "x") for name in "abc"]
    state = having(HOME, *groups, *links)
    found = plan_of(a_desired(X, safety=Safety(max_deletes=0)), state)
    sentences = " ".join(reason.sentence for reason in found.refusals)
    assert "deletes 1 object of kind VirtualCluster" in sentences
    assert "2 objects of kind ConsumerGroup" in sentences
    assert "TopicLink" not in sentences
    assert found.managed_counts["ConsumerGroup"] == 2


def test_a_project_of_virtual_clusters_alone_is_no_failed_load() -> None:
    state = having()
    found = plan_of(a_desired(HOME, safety=NO_LIMITS), state)
    assert not any("declares nothing" in reason.sentence for reason in found.refusals)


def test_without_virtual_clusters_a_plan_is_what_it_was() -> None:
    """VC-004, VC-380, VC-345: the same bytes, whatever the cluster could do."""
    none = replace(ALL_CAPABILITIES, virtual_clusters=VirtualClusterSupport.NONE)
    desired = a_desired(X, an_acl(), a_quota())
    assert plan_of(desired, a_cluster(), none) == plan_of(desired, a_cluster())


def warnings(found: Plan) -> str:
    return " ".join(warning.problem for warning in found.warnings)


def test_a_second_name_for_a_topic_is_told() -> None:
    """VC-039: subscribers by pattern would read it twice; said when the name is added."""
    one, two = a_link("one", "x"), a_link("two", "x")
    state = having(HOME, one)
    assert "more than one name for the topic x: two, one" in warnings(
        plan(HOME, one, two, state=state)
    )
    assert "more than one" not in warnings(plan(HOME, one, state=state))
    assert "more than one" not in warnings(plan(HOME, one, two, state=having(HOME, one, two)))
    assert warnings(plan(HOME, one, two, state=having(HOME))).count("more than one") == 1


def test_a_name_that_hides_a_topic_is_told() -> None:
    """VC-030: legal, for the two are separate namespaces."""
    y = a_topic("y")
    found = plan(y, HOME, a_link("y", "x"), state=having(y))
    assert not found.findings
    assert "emea.sales/y has the name of a topic of the cluster, and leads to x" in warnings(found)
    assert "has the name" not in warnings(plan(y, HOME, a_link("y", "y"), state=having(y)))


@pytest.mark.parametrize(("at", "said"), [(SALES, True), (None, True), (ANALYTICS, False)])
def test_a_quota_above_its_cap_is_told(at: str | None, said: bool) -> None:
    """VC-202, VC-203: its own cap, else the default one, key by key."""
    both = [HOME, a_virtual_cluster(ANALYTICS)]
    quota = a_quota_in(SALES, user="x", producer_byte_rate=2, consumer_byte_rate=9)
    cap = a_quota_in(at, producer_byte_rate=1)
    found = plan(*both, quota, cap, state=having())
    assert ("producer_byte_rate to 2, above the cap" in warnings(found)) is said
    assert "consumer" not in warnings(found)


def test_a_tenant_that_fails_stops_nobody_else() -> None:
    """VC-402: no request of one virtual cluster waits for one of another."""
    tenants = [
        [a_virtual_cluster(name), a_link("n", "x", at=name), a_member(f"User:{name}", at=name)]
        for name in ("a", "b")
    ]
    found = plan(*tenants[0], *tenants[1], state=having())
    of = {
        planned.id: change.address.split("/")[1]
        for change in found.changes
        for planned in change.requests
    }
    for planned in found.requests:
        assert {of[name] for name in planned.depends_on} <= {of[planned.id]}


def test_edges_grow_with_the_plan_and_not_with_its_square() -> None:
    """VC-401: a virtual cluster of many links is remade with few edges for each request."""
    count = 60
    old = [a_link(f"old{number}", "x") for number in range(count)]
    new = [a_link(f"new{number}", "x") for number in range(count)]
    found = plan(HOME, *new, state=having(HOME, *old))
    edges = sum(len(planned.depends_on) for planned in found.requests)
    assert len(found.requests) == 2 * count
    assert edges <= 4 * count
