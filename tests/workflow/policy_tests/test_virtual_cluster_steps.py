"""Requests about virtual clusters as tests of policies write them, and those that can't be."""

import pytest
from workflow.policy_tests.suites import parsed, suite

from kgitops.manifests.policies.policy_test import RequestStep
from kgitops.model import requests as req
from kgitops.model.resources.virtual_clusters import ChangeType, EntityType, LocalName
from kgitops.policy.state import SimulatedState
from kgitops.workflow.policy_tests.cases import StepError
from kgitops.workflow.policy_tests.running import rehearse
from kgitops.workflow.policy_tests.steps import request_of

THERE = """\
  cluster:
    topics:
      u.Orders: {partitions: 1, replicationFactor: 1}
      plain: {partitions: 1, replicationFactor: 1}
    virtualClusters:
      emea.sales:
        users: [jane, "Group:x"]
        clientIds: [app]
        groups: [etl]
        transactionalIds: [tx]
        links: {Orders: u.Orders}
      analytics: {}
    acls:
      - principal: User:a
        permission: Allow
        operation: Read
        virtualCluster: emea.
        virtualClusterPatternType: prefixed
        resource: {type: topic, name: x}
    quotas:
      - {entity: {virtualCluster: emea.sales, user: a}, quotas: {consumer_byte_rate: 1}}
  cases:
    - name: x
      requests:
        - """
ORDERS = LocalName("emea.sales", "Orders")


def request(step: str) -> req.Request:
    case = suite(THERE + step).cases[0]
    return request_of(case.steps[0].written, SimulatedState(case.state))


def _step(step: str) -> RequestStep:
    return parsed(THERE + step).test.spec.cases[0].requests[0]


def altered(step: str) -> req.AlterVirtualClusterRequest:
    made = request(step)
    assert isinstance(made, req.AlterVirtualClusterRequest)
    return made


def test_a_case_starts_from_virtual_clusters() -> None:
    """VC-408: members, links, scoped ACLs and quotas."""
    state = suite(THERE + "deleteTopic: {name: plain}").cases[0].state
    sales = state.virtual_clusters["emea.sales"]
    assert sales.users == {"User:jane", "Group:x"}
    assert (sales.client_ids, set(sales.groups), sales.transactional_ids) == (
        {"app"},
        {"etl"},
        {"tx"},
    )
    assert sales.links["Orders"].topic == "u.Orders"
    (binding,) = state.acls
    assert (binding.virtual_cluster, binding.virtual_cluster_pattern_type) == ("emea.", "prefixed")
    assert list(state.quotas) == [(("virtual-cluster", "emea.sales"), ("user", "a"))]


def test_virtual_clusters_come_and_go() -> None:
    created = request("createVirtualCluster: {name: new}")
    assert created == req.CreateVirtualClusterRequest(virtual_cluster="new")
    deleted = request("deleteVirtualCluster: {name: analytics}")
    assert deleted == req.DeleteVirtualClusterRequest(virtual_cluster="analytics")


@pytest.mark.parametrize(
    ("step", "entity_type", "name"),
    [
        ("user: joe", EntityType.USER, "User:joe"),
        ("clientId: other", EntityType.CLIENT_ID, "other"),
        ("group: g", EntityType.GROUP, "g"),
        ("transactionalId: t", EntityType.TRANSACTIONAL_ID, "t"),
    ],
)
def test_a_member_is_added(step: str, entity_type: EntityType, name: str) -> None:
    made = altered(f"alterVirtualCluster: {{name: emea.sales, add: {{{step}}}}}")
    assert made == req.AlterVirtualClusterRequest(
        virtual_cluster="emea.sales", entity_type=entity_type, entity_name=name
    )


def test_a_member_moves_is_adopted_or_goes() -> None:
    """VC-086, VC-114."""
    add = "alterVirtualCluster: {name: analytics, add: "
    assert altered(add + "{user: jane, movedFrom: emea.sales}}").moved_from == "emea.sales"
    assert altered(add + "{group: g, adopt: old}}").adopts == "old"
    gone = altered("alterVirtualCluster: {name: emea.sales, remove: {user: jane}}")
    assert (gone.change, gone.entity_name) == (ChangeType.REMOVE, "User:jane")


def test_links_come_lead_elsewhere_and_go() -> None:
    """VC-028: a link that is there already leads elsewhere."""
    made = altered("createTopicLink: {virtualCluster: analytics, link: o, topic: plain}")
    assert (made.topic, made.replaces) == ("plain", None)
    moved = altered("createTopicLink: {virtualCluster: emea.sales, link: Orders, topic: plain}")
    assert (moved.topic, moved.replaces) == ("plain", "u.Orders")
    gone = altered("deleteTopicLink: {virtualCluster: emea.sales, link: Orders}")
    assert (gone.change, gone.topic) == (ChangeType.REMOVE, "u.Orders")


def test_topics_of_virtual_clusters_are_named_by_their_links() -> None:
    """VC-065: the request holds both names."""
    where = "name: Orders, virtualCluster: emea.sales"
    altered_ = request(f"alterTopic: {{{where}, configs: {{a: b}}}}")
    deleted = request(f"deleteTopic: {{{where}}}")
    records = request(f"deleteRecords: {{{where}, offsets: {{0: 1}}}}")
    for made in (altered_, deleted, records):
        assert isinstance(
            made, req.AlterTopicRequest | req.DeleteTopicRequest | req.DeleteRecordsRequest
        )
        assert (made.topic, made.local) == ("u.Orders", ORDERS)
    new = request(
        "createTopic: {name: New, virtualCluster: emea.sales, partitions: 1, replicationFactor: 1}"
    )
    assert isinstance(new, req.CreateTopicRequest)
    assert (new.topic, new.requested_state.name) == ("<uuid:new>.New", "<uuid:new>.New")
    assert new.local == LocalName("emea.sales", "New")


def test_an_acl_may_be_scoped() -> None:
    made = request(
        "createAcl: {principal: User:a, permission: Allow, operation: Read, "
        "virtualCluster: emea.sales, resource: {type: topic, name: Orders}}"
    )
    assert isinstance(made, req.CreateAclRequest)
    assert made.binding.virtual_cluster == "emea.sales"


ADD = "alterVirtualCluster: {name: emea.sales, add: "


@pytest.mark.parametrize(
    ("step", "said"),
    [
        ("createVirtualCluster: {name: kafka-cluster}", "is the physical cluster itself"),
        ("createVirtualCluster: {name: analytics}", "the virtual cluster analytics is there"),
        ("deleteVirtualCluster: {name: analytic}", "did you mean analytics"),
        ("alterVirtualCluster: {name: none, add: {user: a}}", "no virtual cluster none"),
        ("alterVirtualCluster: {name: analytics}", "needs exactly one of add and remove"),
        (
            "alterVirtualCluster: {name: emea.sales, add: {user: a}, remove: {user: jane}}",
            "needs exactly one of add and remove",
        ),
        (f"{ADD}{{}}}}", "add needs exactly one of user"),
        (f"{ADD}{{user: a, group: b}}}}", "add needs exactly one of user"),
        (f"{ADD}{{user: a, movedFrom: none}}}}", "no virtual cluster none"),
        (
            "alterVirtualCluster: {name: emea.sales, remove: {user: joe}}",
            "emea.sales has no user User:joe",
        ),
        ("createTopicLink: {virtualCluster: none, link: a, topic: plain}", "no virtual cluster"),
        ("createTopicLink: {virtualCluster: analytics, link: a, topic: b}", "no topic b"),
        ("deleteTopicLink: {virtualCluster: analytics, link: a}", "analytics has no link a"),
        ("deleteTopic: {name: Orders, virtualCluster: none}", "no virtual cluster none"),
        ("deleteTopic: {name: none, virtualCluster: analytics}", "there is no topic"),
        (
            "createTopic: {name: Orders, virtualCluster: emea.sales, partitions: 1, "
            "replicationFactor: 1}",
            "the topic Orders is there already",
        ),
    ],
)
def test_what_can_not_be_is_said(step: str, said: str) -> None:
    written = suite(THERE + "deleteTopic: {name: plain}").cases[0].state
    with pytest.raises(StepError, match=said):
        request_of(_step(step), SimulatedState(written))


def test_a_rehearsal_leaves_open_what_policies_decide() -> None:
    """What the case makes or removes may be there later, or not."""
    steps = [
        "createVirtualCluster: {name: new}",
        "deleteVirtualCluster: {name: new}",
        "createVirtualCluster: {name: new}",
        "deleteTopicLink: {virtualCluster: emea.sales, link: Orders}",
        "deleteTopicLink: {virtualCluster: emea.sales, link: Orders}",
        "deleteVirtualCluster: {name: nowhere}",
    ]
    state = suite(THERE + "deleteTopic: {name: plain}").cases[0].state
    found = [item for _, item in rehearse([_step(step) for step in steps], state)]
    problems = [item for item in found if isinstance(item, StepError)]
    assert [str(problem) for problem in problems] == [
        "there is no virtual cluster nowhere at this point; add it to the cluster, or create it "
        "before"
    ]
