"""Changes of virtual clusters are judged in the order of an apply, each on what went before."""

import pytest
from approval.recording import Rule, a_waiver, change_of, denied, judged
from plan.worked_scenario import ANALYTICS, SALES, before, commit_1

from kgitops.model.cluster_state import ClusterState
from kgitops.model.requests import AlterVirtualClusterRequest
from kgitops.model.resources.virtual_clusters import (
    ChangeType,
    EntityType,
    LocalName,
    placeholder_topic_name,
)
from kgitops.policies import LinkConsent
from kgitops.policy import CreateTopicLinkRequest, CreateTopicRequest
from kgitops.policy.evaluate.bundle import Level, Outcome
from kgitops.policy.evaluate.judge import InProcessEvaluator
from kgitops.policy.python_rule import PythonRule

APIS = {
    "CreateVirtualCluster",
    "CreateTopic",
    "CreateTopicLink",
    "AlterVirtualCluster",
    "CreateAcl",
    "AlterClientQuota",
}


def test_every_change_is_judged_and_sees_what_comes_before_it() -> None:
    """VC-065, VC-090, VC-408: virtual clusters, then topics, links, groups, rights, members."""
    seen: list[tuple[str, frozenset[str]]] = []

    def look(request, cluster) -> None:
        seen.append((type(request).__name__, cluster.virtual_clusters()))

    rule = Rule("sees", look)
    plan = judged(commit_1(), before(), rule)
    order = [asked.address for asked in rule.asked]
    planned = [change.address for change in plan.changes for _ in change.requests]
    assert sorted(order) == sorted(planned)
    chain = (
        f"vc/{SALES}",
        f"vc/{SALES}/topic/Orders",
        f"vc/{ANALYTICS}/link/sales.orders",
        f"vc/{ANALYTICS}/acl/User:ana-reader/Allow/Read/topic/literal/sales.orders@*",
        f"vc/{ANALYTICS}/user/User:ana-reader",
    )
    assert [address for address in order if address in chain] == list(chain)
    assert {asked.api for asked in rule.asked} == APIS
    assert all(change.policies for change in plan.changes)
    assert [len(names) for _, names in seen[:3]] == [0, 1, 2]
    (asked,) = [item for item in rule.asked if item.address == chain[-1]]
    assert asked.virtual_cluster == ANALYTICS
    (made,) = [item for item in rule.asked if item.address.endswith("/topic/Orders")]
    assert isinstance(made.request, CreateTopicRequest)
    assert made.request.topic == "<uuid:new>.Orders"
    (linked,) = [item for item in rule.asked if item.address.endswith("link/sales.orders")]
    assert isinstance(linked.request, CreateTopicLinkRequest)
    assert linked.request.topic == placeholder_topic_name(LocalName("emea.sales", "Orders"))
    assert linked.request.links == {LocalName(SALES, "Orders")}


@pytest.mark.parametrize(
    ("consent", "refused"),
    [(f"{SALES}={ANALYTICS}", []), ("other=analytics", [f"vc/{ANALYTICS}/link/sales.orders"])],
)
def test_a_link_into_another_virtual_cluster_needs_consent(
    consent: str, refused: list[str]
) -> None:
    """VC-040: also where the topic is made by the same plan."""
    rule = PythonRule("link-consent", Level.HARD, LinkConsent({"consent": consent}))
    plan = judged(commit_1(), before(), rule)  # type: ignore[arg-type]
    assert denied(plan) == refused


def test_offsets_that_are_copied_are_judged_with_their_group() -> None:
    """VC-408: a second request of the same change."""

    def look(request, _cluster) -> str | None:
        return "no copies" if request.change == "copyOffsets" else None

    rule = Rule("no-copies", look, apis=frozenset({"AlterVirtualCluster"}))
    plan = judged(commit_1(), before(), rule)
    assert denied(plan) == [f"vc/{SALES}/group/sales-etl"]
    (said,) = [row for row in change_of(plan, denied(plan)[0]).policies if row.stops]
    assert said.message == "no copies"


@pytest.mark.parametrize("segment", ["link", "topic"])
def test_a_waiver_for_a_topic_covers_the_removal_of_its_link(segment: str) -> None:
    """VC-032: a topic that is forgotten loses its link, and its plan names the topic."""
    rule = Rule("no", lambda *_: "stay", level=Level.SOFT)
    waivers = [a_waiver(address=f"vc/{SALES}/{segment}/Orders")]
    judge = InProcessEvaluator([rule], waivers)
    judge.begin(ClusterState(cluster_id="c", backend="embedded"), principal="User:a")
    for name, outcome in (("Orders", Outcome.WAIVED), ("Other", Outcome.DENIED)):
        request = AlterVirtualClusterRequest(
            virtual_cluster=SALES,
            change=ChangeType.REMOVE,
            entity_type=EntityType.TOPIC,
            entity_name=name,
        )
        assert [ruling.outcome for ruling in judge.judge(request)] == [outcome]
