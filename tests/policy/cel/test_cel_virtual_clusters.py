"""Policies in CEL on virtual clusters, their members and links."""

import pytest
from msgspec.structs import replace
from policy.cel.writing import alteration, creation, findings, one, said, state, topic

from kgitops.manifests.policies.policy import API_NAMES
from kgitops.model import requests as req
from kgitops.model.cluster_state import ClusterState
from kgitops.model.resources.quotas import USER, VIRTUAL_CLUSTER, make_entity
from kgitops.model.resources.virtual_clusters import ChangeType, EntityType, LocalName
from kgitops.policy.cel.variables import REQUEST_VARIABLES
from kgitops.policy.python_rule import METHODS
from kgitops.policy.testing import acl, virtual_cluster

SALES = virtual_cluster(
    "emea.sales",
    users=["jane"],
    client_ids=["c"],
    groups=["g"],
    transactional_ids=["t"],
    links={"Orders": "u.Orders"},
)
ANALYTICS = virtual_cluster("analytics", links={"sales.orders": "u.Orders"})


def cluster() -> ClusterState:
    """Two virtual clusters that share a topic."""
    known = {"emea.sales": SALES, "analytics": ANALYTICS}
    return replace(state(topic("u.Orders"), topic("plain")), virtual_clusters=known)


def alter(entity_type: EntityType, name: str, **more: str) -> req.AlterVirtualClusterRequest:
    """A member of emea.sales."""
    return req.AlterVirtualClusterRequest(
        virtual_cluster="emea.sales",
        entity_type=entity_type,
        entity_name=name,
        **more,  # type: ignore[arg-type]
    )


LINKED = alter(EntityType.TOPIC, "p", topic="u.Orders", replaces="plain")
UNLINKED = replace(LINKED, change=ChangeType.REMOVE, entity_name="Orders", replaces=None)
COPIED = req.CopyGroupOffsetsRequest(virtual_cluster="emea.sales", group="g", source="old")
LOCAL = LocalName("emea.sales", "Orders")
CREATED = replace(creation(f"{req.NEW_UUID}.Orders"), local=LOCAL)
ALTERED = replace(alteration(topic("u.Orders"), {"a": "b"}), local=LOCAL)
QUOTA = req.AlterClientQuotaRequest(
    entity=make_entity({VIRTUAL_CLUSTER: "emea.sales", USER: "jane"}),
    quotas={"producer_byte_rate": 1.0},
)


@pytest.mark.parametrize(
    ("request_", "expression"),
    [
        (
            req.CreateVirtualClusterRequest(virtual_cluster="new"),
            "requested == {'name': 'new', 'users': [], 'clientIds': [], 'groups': [], "
            "'transactionalIds': [], 'links': {}, 'labels': {}} && current == null "
            "&& change == null && request.virtualCluster == 'new' && request.topic == null",
        ),
        (
            req.DeleteVirtualClusterRequest(virtual_cluster="emea.sales"),
            "requested == null && current.users == ['User:jane'] && current.clientIds == ['c'] && "
            "current.groups == ['g'] && current.transactionalIds == ['t'] && "
            "current.links == {'Orders': 'u.Orders'}",
        ),
        (
            alter(EntityType.USER, "User:joe", moved_from="analytics"),
            "change == {'action': 'add', 'type': 'user', 'member': 'User:joe', "
            "'movedFrom': 'analytics', 'adopts': null} && current.users == ['User:jane'] && "
            "requested.users == ['User:jane', 'User:joe'] && "
            "cluster.virtualClusters == ['analytics', 'emea.sales']",
        ),
        (COPIED, "change.action == 'copyOffsets' && change.adopts == 'old'"),
        (
            LINKED,
            "requested == {'name': 'p', 'topic': 'u.Orders', 'sharedWith': ['analytics'], "
            "'replaces': 'plain', 'labels': {}} && current == null && request.name == 'p' && "
            "request.virtualCluster == 'emea.sales' && request.topic == 'u.Orders'",
        ),
        (
            UNLINKED,
            "requested == null && current == {'name': 'Orders', 'topic': 'u.Orders', "
            "'sharedWith': ['analytics']}",
        ),
        (
            CREATED,
            "requested.name == 'Orders' && request.name == 'Orders' && "
            "request.virtualCluster == 'emea.sales' && request.topic == '<uuid:new>.Orders'",
        ),
        (
            ALTERED,
            "requested.name == 'Orders' && current.name == 'Orders' && "
            "request.topic == 'u.Orders' && request.links == "
            "[{'virtualCluster': 'analytics', 'name': 'sales.orders'}, "
            "{'virtualCluster': 'emea.sales', 'name': 'Orders'}]",
        ),
        (
            req.CreateAclRequest(binding=acl(name="Orders", virtual_cluster="emea.sales")),
            "requested.virtualCluster == 'emea.sales' && request.virtualCluster == 'emea.sales'"
            " && requested.virtualClusterPatternType == 'literal' && request.name == 'Orders'",
        ),
        (
            QUOTA,
            "requested.entity.virtualCluster == 'emea.sales' && request.name == 'user=jane'",
        ),
    ],
)
def test_what_expressions_see(request_: req.Request, expression: str) -> None:
    """VC-065, VC-408: every name, both sides, and who else is affected."""
    api = api_of(request_)
    assert said(one(expression, requests=[api]), request_, cluster()) == ""
    assert said(one(f"!({expression})", requests=[api]), request_, cluster()) != ""


def api_of(request: req.Request) -> str:
    if isinstance(request, req.AlterVirtualClusterRequest) and request.topic is not None:
        adds = request.change is ChangeType.ADD
        return "CreateTopicLink" if adds else "DeleteTopicLink"
    if isinstance(request, req.CopyGroupOffsetsRequest):
        return "AlterVirtualCluster"
    return type(request).__name__.removesuffix("Request")


def test_a_policy_of_the_name_matches_the_local_one() -> None:
    """VC-065: match.names too."""
    text = one("false", requests=["CreateTopic"], message="no").replace(
        "match: {", "match: {names: [Orders], "
    )
    assert said(text, CREATED, cluster()) == "no"
    assert said(text, creation("u.Orders"), cluster()) == ""


def test_every_request_has_a_name_a_shape_and_a_method() -> None:
    """VC-408: none can be matched that is not judged, none judged that can't be matched."""
    assert set(API_NAMES) == set(REQUEST_VARIABLES) == set(METHODS)


def test_a_field_that_is_not_there_is_told() -> None:
    (problem,) = findings(one("requested.members > 3", requests=("CreateVirtualCluster",)))
    assert "a virtual cluster has clientIds, groups, labels, links, name" in problem
