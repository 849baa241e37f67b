"""What a request about virtual clusters waits for, edge by edge, on two of everything."""

import pytest
from builders import a_cluster, a_desired, a_topic, plan_of
from laws.cluster_model import Model
from plan.worked_scenario import (
    NO_LIMITS,
    SALES,
    a_group,
    a_link,
    a_local_topic,
    a_member,
    a_quota_in,
    a_virtual_cluster,
    an_acl_in,
)

from kgitops.model.cluster_state import ClusterState
from kgitops.model.json.declared import DeletionPolicy, DesiredObject
from kgitops.model.requests import DeleteTopicRequest
from kgitops.model.resources.virtual_clusters import EntityType, LocalName
from kgitops.plan.document.plan import Plan

DELETE = DeletionPolicy.DELETE
X = a_topic("x")
HOME = a_virtual_cluster(deletion_policy=DELETE)
NUMBERS = (1, 2)


def numbered(number: int) -> dict[str, DesiredObject]:
    """One of everything, of which each names the others of its number and no other."""
    user = f"User:u{number}"
    return {
        "topic": a_local_topic(f"made{number}", deletion_policy=DELETE),
        "link": a_link(f"l{number}", "x"),
        "group": a_group(f"g{number}"),
        "txn": a_member(f"t{number}", entity_type=EntityType.TRANSACTIONAL_ID),
        "acl on topic": an_acl_in(SALES, user, "Read", f"made{number}"),
        "acl on link": an_acl_in(SALES, user, "Read", f"l{number}"),
        "acl on group": an_acl_in(SALES, user, "Read", f"g{number}", resource="group"),
        "acl on txn": an_acl_in(SALES, user, "Write", f"t{number}", resource="transactionalId"),
        "quota": a_quota_in(SALES, user=f"u{number}", producer_byte_rate=number),
        "user": a_member(user),
    }


ALL = {(name, number): item for number in NUMBERS for name, item in numbered(number).items()}
RIGHTS = ("acl on topic", "acl on link", "acl on group", "acl on txn")
MAKING = [
    *((made, "home") for made in numbered(1)),
    ("acl on topic", "topic"),
    ("acl on link", "link"),
    ("acl on group", "group"),
    ("acl on txn", "txn"),
    *(("user", first) for first in (*RIGHTS, "quota")),
]
BREAKING = [
    *((right, "user") for right in RIGHTS),
    ("quota", "user"),
    ("topic", "acl on topic"),
    ("link", "acl on link"),
    ("group", "acl on group"),
    ("txn", "acl on txn"),
    *(("home", gone) for gone in numbered(1)),
]


def plan(*objects: DesiredObject, state: ClusterState) -> Plan:
    return plan_of(a_desired(X, *objects, safety=NO_LIMITS), state)


EMPTY = Model(a_cluster()).apply(plan(state=a_cluster())).state
FULL = Model(EMPTY).apply(plan(HOME, *ALL.values(), state=EMPTY)).state


def waits(found: Plan, later: str, earlier: str) -> bool:
    """Whether the first request for the one waits for the last for the other, in whatever way."""
    ids = {change.address: [each.id for each in change.requests] for change in found.changes}
    depends = {planned.id: planned.depends_on for planned in found.requests}

    def before(name: str) -> set[str]:
        return {name}.union(*map(before, depends[name]))

    return ids[earlier][-1] in before(ids[later][0])


def address_of(name: str, number: int) -> str:
    return HOME.address if name == "home" else ALL[name, number].address


@pytest.mark.parametrize("number", NUMBERS)
@pytest.mark.parametrize(("later", "earlier"), MAKING, ids=" after ".join)
def test_what_is_made(later: str, earlier: str, number: int) -> None:
    """VC-401, VC-090: nothing before what it names, and nobody is let in before all is there."""
    found = plan(HOME, *ALL.values(), state=EMPTY)
    assert waits(found, address_of(later, number), address_of(earlier, number))


@pytest.mark.parametrize("number", NUMBERS)
@pytest.mark.parametrize(("later", "earlier"), BREAKING, ids=" after ".join)
def test_what_goes(later: str, earlier: str, number: int) -> None:
    """VC-401, VC-034, VC-089: users, then their rights, then what those name, and all of it."""
    found = plan(state=FULL)
    assert waits(found, address_of(later, number), address_of(earlier, number))


def test_a_topic_is_deleted_after_every_link_to_it() -> None:
    """VC-401, VC-033: also after those of other virtual clusters."""
    there = a_virtual_cluster("other", deletion_policy=DELETE)
    made = a_local_topic("made", share_with=("other",), deletion_policy=DELETE)
    shared = a_link("shared", LocalName(SALES, "made"), at="other")
    state = Model(EMPTY).apply(plan(HOME, there, made, shared, state=EMPTY)).state
    found = plan(HOME, there, state=state)
    requests = {change.address: change.requests for change in found.changes}
    *_, deletion = requests[made.address]
    assert isinstance(deletion.request, DeleteTopicRequest)
    assert requests[shared.address][0].id in deletion.depends_on
