"""Laws of plans with virtual clusters: from any declared state to any other, and back to nothing.

Every plan that nothing stops is carried out request by request, under brokers' own rules for
virtual clusters (`kgitops.virtual_clusters.deciding`) and the preconditions of an apply.
"""

import random

from builders import a_cluster, a_desired, a_topic, plan_of
from hypothesis import given, settings
from hypothesis import strategies as st
from laws.cluster_model import Model
from plan.plan_json import plan_from_json
from plan.worked_scenario import (
    NO_LIMITS,
    a_group,
    a_link,
    a_local_topic,
    a_member,
    a_quota_in,
    a_virtual_cluster,
    an_acl_in,
)
from tiers import examples

from kgitops.desired.state import DesiredState
from kgitops.model.cluster_state import ClusterState
from kgitops.model.json.canonical import canonical_json
from kgitops.model.json.declared import (
    DeletionPolicy,
    DesiredAcl,
    DesiredLink,
    DesiredMember,
    DesiredObject,
    DesiredTopic,
    DesiredVirtualCluster,
)
from kgitops.model.requests import AlterVirtualClusterRequest
from kgitops.model.resources.addresses import kind_of
from kgitops.model.resources.virtual_clusters import ChangeType, EntityType, LocalName
from kgitops.plan.document.documents import plan_to_json
from kgitops.plan.document.plan import Action, Change, Plan
from kgitops.plan.order import virtual_cluster_of

NAMES = ("a", "a.b")
TOPICS = ("orders", "Orders")
LINKS = ("one", "two", "orders")
USERS = ("User:jane", "User:joe")
GLOBAL = ("there", "else")
BEDROCK = [a_topic(name, deletion_policy=DeletionPolicy.ORPHAN) for name in GLOBAL]


@st.composite
def tenants(draw: st.DrawFn) -> DesiredState:
    """A valid project: no name has two meanings, nobody is in two virtual clusters."""
    objects: list[DesiredObject] = [*BEDROCK]
    names = draw(st.lists(st.sampled_from(NAMES), unique=True))
    local: list[LocalName] = []
    for name in names:
        objects.append(a_virtual_cluster(name, deletion_policy=DeletionPolicy.DELETE))
        topics = draw(st.lists(st.sampled_from(TOPICS), unique=True, max_size=2))
        for topic in topics:
            policy = draw(st.sampled_from((DeletionPolicy.DELETE, DeletionPolicy.ORPHAN)))
            local.append(LocalName(name, topic))
            objects.append(
                a_local_topic(
                    topic, at=name, deletion_policy=policy, partitions=draw(st.integers(3, 4))
                )
            )
    for name in names:
        for link in draw(st.lists(st.sampled_from(LINKS), unique=True, max_size=3)):
            if LocalName(name, link) in local:
                continue
            others = [item for item in local if item != LocalName(name, link)]
            target = draw(st.sampled_from([*GLOBAL, *others]))
            objects.append(a_link(link, target, at=name))
        for principal in draw(st.lists(st.sampled_from(USERS), unique=True)):
            name_of = draw(st.sampled_from((*TOPICS, *LINKS, "*")))
            operation = draw(st.sampled_from(("Read", "Write")))
            permission = draw(st.sampled_from(("Allow", "Deny")))
            objects.append(an_acl_in(name, principal, operation, name_of, permission=permission))
        if draw(st.booleans()):
            objects.append(a_quota_in(name, producer_byte_rate=draw(st.integers(1, 2))))
            objects.append(a_quota_in(name, user="jane", producer_byte_rate=1))
        groups = draw(st.lists(st.sampled_from(("g", "h")), unique=True))
        objects += [a_group(group, at=name) for group in groups]
        if draw(st.booleans()):
            objects.append(a_member("t", at=name, entity_type=EntityType.TRANSACTIONAL_ID))
    if names:
        users = draw(st.lists(st.sampled_from(USERS), unique=True))
        objects += [a_member(user, at=draw(st.sampled_from(names)), move=True) for user in users]
        if draw(st.booleans()):
            objects.append(
                a_member(
                    "batch",
                    at=draw(st.sampled_from(names)),
                    entity_type=EntityType.CLIENT_ID,
                    move=True,
                )
            )
    return a_desired(*objects, safety=NO_LIMITS)


NOTHING = a_desired(*BEDROCK, safety=NO_LIMITS)


def apply(desired: DesiredState, model: Model) -> Model | None:
    """The cluster after the plan; None where the plan stops."""
    plan = plan_of(desired, model.state)
    return None if plan.verdict.stops else model.apply(plan)


def holds(desired: DesiredState, state: ClusterState) -> None:
    """The cluster has all that is declared in virtual clusters, and no more of it."""
    assert set(state.virtual_clusters) == {item.name for item in desired.of(DesiredVirtualCluster)}
    for name, found in state.virtual_clusters.items():
        topics = {item.name for item in desired.of(DesiredTopic) if item.virtual_cluster == name}
        links = {
            item.local.name
            for item in desired.of(DesiredLink)
            if item.local.virtual_cluster == name
        }
        assert set(found.links) == topics | links
        for entity_type in EntityType:
            if entity_type is not EntityType.TOPIC:
                assert found.members(entity_type) == {
                    item.name
                    for item in desired.of(DesiredMember)
                    if item.virtual_cluster == name and item.entity_type is entity_type
                }
        for link in found.links.values():
            assert state.topics[link.topic].topic_id == link.topic_id
    for link in desired.of(DesiredLink):
        leads = state.virtual_clusters[link.local.virtual_cluster].links[link.local.name].topic
        if link.target:
            at = state.virtual_clusters[link.target.virtual_cluster]
            assert leads == at.links[link.target.name].topic
        else:
            assert leads == link.topic
    assert {acl.binding for acl in desired.of(DesiredAcl)} == state.acls


def check(first: DesiredState, second: DesiredState) -> None:
    """From nothing to one, to the other, and back."""
    model: Model | None = Model(a_cluster())
    for desired in (NOTHING, first, second, NOTHING):
        assert model is not None
        plan = plan_of(desired, model.state)
        obeys_order(plan)
        assert plan_from_json(plan_to_json(plan)) == plan
        after = apply(desired, model)
        if after is None:
            # What can't be done in one step is said with its place and what to do.
            assert plan.findings
            return
        again = plan_of(desired, after.state)
        assert again.changes == ()
        assert again.drift == ()
        assert not again.verdict.stops
        holds(desired, after.state)
        model = after


def obeys_order(plan: Plan) -> None:
    """VC-090, VC-401, VC-402 on one plan."""
    seen: set[str] = set()
    for planned in plan.requests:
        assert seen.issuperset(planned.depends_on)
        seen.add(planned.id)
    waits = _closure(plan)
    for late in plan.requests:
        if not _is_bind(late.request):
            continue
        at = virtual_cluster_of(late.request)
        for early in plan.requests:
            if virtual_cluster_of(early.request) == at and _makes(early.request):
                assert early.id in waits[late.id]
    for down in plan.requests:
        at = virtual_cluster_of(down.request)
        if at is None or _makes(down.request) or _is_bind(down.request):
            continue
        for up in plan.requests:
            if virtual_cluster_of(up.request) == at and (
                _makes(up.request) or _is_bind(up.request)
            ):
                assert up.id in waits[down.id]


def _closure(plan: Plan) -> dict[str, set[str]]:
    waits: dict[str, set[str]] = {}
    for planned in plan.requests:
        waits[planned.id] = set(planned.depends_on).union(*(waits[i] for i in planned.depends_on))
    return waits


def _is_bind(request: object) -> bool:
    return (
        isinstance(request, AlterVirtualClusterRequest)
        and request.change is ChangeType.ADD
        and request.entity_type in (EntityType.USER, EntityType.CLIENT_ID)
    )


def _makes(request: object) -> bool:
    name = type(request).__name__
    if isinstance(request, AlterVirtualClusterRequest):
        return request.change is ChangeType.ADD and not _is_bind(request)
    if name == "AlterClientQuotaRequest":
        return any(value is not None for value in request.quotas.values())  # type: ignore[attr-defined]
    return name.startswith(("Create", "AlterTopic"))


@given(tenants(), tenants())
@settings(max_examples=examples(150))
def test_any_declared_state_leads_to_any_other_and_back(
    first: DesiredState, second: DesiredState
) -> None:
    """VC-027, VC-034, VC-046, VC-090, VC-322, VC-378, VC-401, VC-402, VC-406: see `check`."""
    check(first, second)


@given(tenants(), st.randoms(use_true_random=False))
@settings(max_examples=examples(60))
def test_the_order_of_documents_does_not_matter(
    desired: DesiredState, shuffle: random.Random
) -> None:
    """VC-400: the same bytes, whatever the order of what is declared and what is there."""
    model = apply(NOTHING, Model(a_cluster()))
    assert model is not None
    items = desired.objects
    shuffled = desired.with_objects(shuffle.sample(items, len(items)))
    first, second = plan_of(desired, model.state), plan_of(shuffled, model.state)
    assert canonical_json(plan_to_json(first)) == canonical_json(plan_to_json(second))


@given(tenants())
@settings(max_examples=examples(60))
def test_what_is_removed_goes_in_the_mirrored_order(desired: DesiredState) -> None:
    """VC-404: the kinds of what is made, in reverse, but for rights before quotas (D120, D130)."""
    model = apply(NOTHING, Model(a_cluster()))
    assert model is not None
    made = apply(desired, model)
    assert made is not None
    up = [_rank(change) for change in plan_of(desired, model.state).changes]
    down = [_rank(change) for change in plan_of(NOTHING, made.state).changes]
    # Rights go before quotas, and both come before whoever is let in: the one exception.
    assert up == sorted(up, key=lambda rank: -(RIGHTS if rank == QUOTAS else rank))
    assert down == sorted(down)


RANKS = {
    "user": 0, "client": 0, "acl": 1, "quota": 2, "group": 3, "txn": 3, "link": 4, "topic": 5,
    "vc": 6,
}  # fmt: skip
RIGHTS, QUOTAS = RANKS["acl"], RANKS["quota"]


def _rank(change: Change) -> int:
    """An orphan goes when it is unlinked."""
    forgotten = Action.FORGET in change.actions
    return RANKS["link" if forgotten else kind_of(change.address)]
