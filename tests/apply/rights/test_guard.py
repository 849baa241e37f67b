"""The guard stands whatever the planner says: mutants of it that delete too much are refused."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import pytest
from apply.faults import FakeClock
from apply.forging import MINE, World, make_world, replace_project
from apply.plans import Apply, sealed_now
from apply.rights.test_forged_plans import Attacked, password, whole
from builders import a_binding
from msgspec.structs import replace
from used import with_users

from kgitops.apply import applier
from kgitops.desired.last_applied import ORIGIN
from kgitops.model import requests as req
from kgitops.model.cluster_state import ClusterState
from kgitops.model.errors import KgitopsError
from kgitops.model.registry import Json, Owner
from kgitops.model.requests import Request
from kgitops.model.resources.addresses import kind_of
from kgitops.model.resources.config_resources import ConfigResourceType
from kgitops.model.resources.kinds import KIND_OF_SORT
from kgitops.model.resources.users import ScramMechanism
from kgitops.model.resources.virtual_clusters import ChangeType, EntityType, LocalName
from kgitops.model.verdict import ExitCode
from kgitops.plan.document import risks
from kgitops.plan.document.plan import Action, Change, Plan, Precondition
from kgitops.plan.draft import chain
from kgitops.plan.ownership import EXECUTED_TOMBSTONES
from kgitops.plan.shown_values import requests_of

__all__ = ["password"]

SHA_256, SHA_512 = ScramMechanism


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory, password: None) -> World:
    return make_world(tmp_path_factory.mktemp("world"))


@pytest.fixture
def attacked(world: World, tmp_path: Path) -> Iterator[Attacked]:
    found = Attacked(world, tmp_path)
    yield found
    found.cluster.close()


Making = Callable[[ClusterState], Request]
_REMOVE = ChangeType.REMOVE


def _topic(name: str) -> Making:
    return lambda state: req.DeleteTopicRequest(
        topic=name, topic_id=state.topics[name].topic_id or ""
    )


def _inner(name: str) -> Making:
    def request(state: ClusterState) -> Request:
        link = state.virtual_clusters["mine.vc"].links[name]
        return req.DeleteTopicRequest(
            topic=link.topic, topic_id=link.topic_id or "", local=LocalName("mine.vc", name)
        )

    return request


def _acl(principal: str, **fields: object) -> Making:
    binding = a_binding(principal)
    return lambda _: replace(req.DeleteAclRequest(binding=binding), **fields)


def _quota(user: str, key: str) -> Making:
    return lambda _: req.AlterClientQuotaRequest(entity=(("user", user),), quotas={key: None})


def _credential(user: str, mechanism: ScramMechanism) -> Making:
    return lambda _: req.AlterUserScramCredentialsRequest(user=user, mechanism=mechanism)


def _removal(scope: str, entity_type: EntityType, name: str) -> Making:
    return lambda _: req.AlterVirtualClusterRequest(
        virtual_cluster=scope, change=_REMOVE, entity_type=entity_type, entity_name=name
    )


def _virtual_cluster(name: str) -> Making:
    return lambda _: req.DeleteVirtualClusterRequest(virtual_cluster=name)


def _group(name: str) -> Making:
    return lambda _: req.DeleteConsumerGroupRequest(group=name)


def _configs(kind: ConfigResourceType, name: str, key: str) -> Making:
    return lambda _: req.AlterConfigResourceRequest(
        resource_type=kind, resource_name=name, configs={key: None}
    )


REMOVALS: Mapping[str, Making] = {
    "another project's topic": _topic("theirs.gone"),
    "nobody's topic": _topic("nobody"),
    "a topic that the plan adopts": _topic("found.topic"),
    "a protected topic": _topic("mine.kept"),
    "an orphaned topic": _topic("mine.orphan"),
    "a protected topic of a virtual cluster": _inner("Stays"),
    "another project's ACL": _acl("User:theirs-gone"),
    "nobody's ACL": _acl("User:nobody"),
    "a protected ACL": _acl("User:mine-kept"),
    "nobody's ACL, for a member of another name": _acl(
        "User:nobody", migrated_to="vc/mine.vc/user/User:mine-in"
    ),
    "another project's ACL, for a member": _acl(
        "User:theirs-gone", migrated_to="vc/mine.vc/user/User:mine-in"
    ),
    "another project's quota": _quota("theirs-gone", "producer_byte_rate"),
    "nobody's quota": _quota("found", "consumer_byte_rate"),
    "a key of a quota that was not applied": _quota("mine-gone", "request_percentage"),
    "another project's user": _credential("theirs-gone", SHA_512),
    "nobody's user": _credential("nobody", SHA_512),
    "a protected user": _credential("mine-kept", SHA_512),
    "an orphaned user": _credential("mine-orphan", SHA_512),
    "a mechanism that was not applied": _credential("mine-gone", SHA_256),
    "another project's link": _removal("theirs.vc", EntityType.TOPIC, "Name"),
    "another project's member": _removal("theirs.vc", EntityType.USER, "User:theirs-app"),
    "the link of a topic that stays": _removal("mine.vc", EntityType.TOPIC, "Stays"),
    "another project's virtual cluster": _virtual_cluster("theirs.old"),
    "a protected virtual cluster": _virtual_cluster("mine.vc"),
    "nobody's group": _group("old-etl"),
    "configs of nobody's group": _configs(
        ConfigResourceType.GROUP, "old-etl", "consumer.session.timeout.ms"
    ),
}


def removal(request: Request, before: ClusterState, *, derived: bool = False) -> Change:
    """The change as a planner would make it that takes the object for one to remove."""
    address = req.request_address(request)
    assert before.registry
    owner = before.registry.owners.get(address)
    expects = Precondition(
        object=address,
        exists=True,
        topic_id=request.topic_id if isinstance(request, req.ExistingTopicRequest) else None,
        owner=owner.project if owner else None,
    )
    return Change(
        address=address,
        kind=KIND_OF_SORT[kind_of(address)],
        actions=(Action.DELETE,),
        risks=(risks.TOPIC_DELETE,),
        source=None,
        before={},
        preconditions=(expects,),
        requests=chain([request], expects),
        owner_before=owner,
        owner_after=None,
        derived_from=("topic/mine.gone",) if derived else (),
    )


def refused(attacked: Attacked, changes: Sequence[Change]) -> str:
    """The guard's refusal of a plan that the mutant planner makes again at apply."""
    plan: Plan = replace(attacked.world.plan, changes=tuple(changes))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(applier, "check_replanned", lambda *_, **__: None)
        apply = replace_project(Apply(cluster=attacked.cluster), "mine")
        with pytest.raises(KgitopsError) as raised:
            apply.plan(sealed_now(plan, FakeClock(), "mutant"))
    assert raised.value.exit in (ExitCode.REFUSED, ExitCode.UNTRUSTED)
    assert whole(with_users(attacked.cluster)) == whole(attacked.before)
    return str(raised.value)


@pytest.mark.parametrize("what", REMOVALS)
def test_a_mutant_that_deletes_too_much_is_refused(attacked: Attacked, what: str) -> None:
    assert refused(attacked, [removal(REMOVALS[what](attacked.before), attacked.before)])


def _changed(attacked: Attacked, address: str, *requests: Request) -> Change:
    """A change of the plan with other requests."""
    (change,) = [it for it in attacked.world.plan.changes if it.address == address]
    return replace(change, requests=chain(requests, change.preconditions[0]))


def test_a_mutant_that_deletes_what_stays_is_refused(attacked: Attacked) -> None:
    """The record says that the object is managed still."""
    before = attacked.before
    topic = _changed(attacked, "topic/mine.policy", _topic("mine.policy")(before))
    assert "stays, and would be deleted" in refused(attacked, [topic])
    acl = _changed(attacked, f"{_address('User:found')}", _acl("User:found")(before))
    assert "stays, and would be deleted" in refused(attacked, [acl])


def _address(principal: str) -> str:
    return req.request_address(req.CreateAclRequest(binding=a_binding(principal)))


def test_a_mutant_that_deletes_more_records_is_refused(attacked: Attacked) -> None:
    (change,) = [it for it in attacked.world.plan.changes if it.address == "topic/mine.log"]
    (request,) = requests_of(change)
    assert isinstance(request, req.DeleteRecordsRequest)
    more = replace(request, deleted_message_offsets={0: 90})
    assert "deletes records" in refused(attacked, [_changed(attacked, "topic/mine.log", more)])


def test_a_mutant_that_removes_values_of_others_is_refused(attacked: Attacked) -> None:
    """They are on an object of this project, and it never applied them."""
    address = "quota/user=mine-alter"
    other = req.AlterClientQuotaRequest(
        entity=(("user", "mine-alter"),), quotas={"controller_mutation_rate": None}
    )
    assert "has not applied" in refused(attacked, [_changed(attacked, address, other)])
    (change,) = [it for it in attacked.world.plan.changes if it.address == "topic/mine.alter"]
    request = next(
        it
        for it in requests_of(change)
        if isinstance(it, req.AlterTopicRequest) and it.step is req.AlterStep.CONFIGS
    )
    wanted = replace(request.requested_state, requested_configs={"max.message.bytes": None})
    changed = _changed(attacked, change.address, replace(request, requested_state=wanted))
    assert "has not applied" in refused(attacked, [changed])


@pytest.mark.parametrize("inside", [False, True])
def test_a_mutant_that_alters_what_is_anothers_is_refused(attacked: Attacked, inside: bool) -> None:
    """Be it that it adopts the object, or a topic inside a virtual cluster by its physical name."""
    (change,) = [it for it in attacked.world.plan.changes if it.address == "topic/found.topic"]
    assert change.owner_after
    assert attacked.before.registry
    links = attacked.before.virtual_clusters["theirs.vc"].links
    name = links["Stays"].topic if inside else "theirs.alter"
    state = attacked.before.topics[name]
    owner = attacked.before.registry.owners.get(f"topic/{name}")
    (expects,) = change.preconditions
    taken = replace(
        change,
        address=f"topic/{name}",
        preconditions=(
            replace(
                expects,
                object=f"topic/{name}",
                topic_id=state.topic_id,
                owner=owner.project if owner else None,
            ),
        ),
        requests=(),
        owner_before=owner,
        owner_after=replace(
            change.owner_after,
            topic_id=state.topic_id,
            last_applied={**change.owner_after.last_applied, "name": name},
        ),
    )
    assert "belongs to the project 'theirs'" in refused(attacked, [taken])


def test_a_mutant_that_gives_an_object_to_another_is_refused(attacked: Attacked) -> None:
    (change,) = [it for it in attacked.world.plan.changes if it.address == "topic/mine.policy"]
    assert change.owner_after
    given = replace(change, owner_after=replace(change.owner_after, project="22222222-theirs"))
    assert "another owner" in refused(attacked, [given])


def test_a_mutant_that_executes_a_tombstone_twice_is_refused(attacked: Attacked) -> None:
    change = removal(_topic("mine.kept")(attacked.before), attacked.before)
    assert change.owner_before
    record: Mapping[str, Json] = change.owner_before.last_applied
    twice: Owner = replace(
        change.owner_before, spent=True, last_applied={**record, EXECUTED_TOMBSTONES: []}
    )
    assert "is protected" in refused(attacked, [replace(change, owner_after=twice)])


def test_a_mutant_that_hides_a_deletion_from_the_limits_is_refused(attacked: Attacked) -> None:
    """Limits do not count what goes along with something else."""
    hidden = removal(_topic("mine.gone")(attacked.before), attacked.before, derived=True)
    assert "is not derived" in refused(
        attacked, [replace(hidden, derived_from=("vc/mine.vc/user/User:mine-in",))]
    )


def _planned(attacked: Attacked, address: str) -> Change:
    (change,) = [it for it in attacked.world.plan.changes if it.address == address]
    return change


def test_a_mutant_that_forgets_executed_tombstones_is_refused(attacked: Attacked) -> None:
    """They would act again."""
    gone = _planned(attacked, "topic/mine.gone")
    assert gone.owner_before
    marked = replace(
        gone.owner_before,
        spent=True,
        last_applied={**gone.owner_before.last_applied, EXECUTED_TOMBSTONES: []},
    )
    for after in (marked, replace(marked, project="22222222-theirs")):
        assert "record" in refused(attacked, [replace(gone, owner_after=after)])


def test_a_mutant_that_deletes_what_it_forgets_is_refused(attacked: Attacked) -> None:
    """What is forgotten does not count for the limits."""
    forgotten = replace(_planned(attacked, "topic/mine.gone"), actions=(Action.FORGET,))
    assert "shows that it is forgotten" in refused(attacked, [forgotten])


@pytest.mark.parametrize("address", ["topic/mine.gone", "topic/mine.policy"])
def test_a_mutant_that_makes_up_an_origin_is_refused(attacked: Attacked, address: str) -> None:
    """A copy goes along with its member, and does not count."""
    change, member = _planned(attacked, address), "vc/mine.vc/user/User:mine-in"
    live = change.owner_before
    assert live
    origin = {ORIGIN: {"copiedFrom": "kafka-cluster", "member": member}}
    after = replace(live, spent=True, last_applied={**live.last_applied, **origin})
    stays = address == "topic/mine.policy"
    assert change.owner_after or not stays
    if stays and change.owner_after:
        last = {**change.owner_after.last_applied, **origin}
        after = replace(change.owner_after, last_applied=last)
    assert refused(attacked, [replace(change, owner_after=after, derived_from=(member,))])


def test_a_mutant_that_records_another_topic_is_refused(attacked: Attacked) -> None:
    change = _planned(attacked, "topic/mine.policy")
    assert change.owner_after
    last = {**change.owner_after.last_applied, EXECUTED_TOMBSTONES: ["made-up"]}
    for after in (
        replace(change.owner_after, topic_id=attacked.before.topics["mine.kept"].topic_id),
        replace(change.owner_after, last_applied=last),
    ):
        assert "another object" in refused(attacked, [replace(change, owner_after=after)])


def test_a_mutant_that_sets_what_is_not_declared_is_refused(attacked: Attacked) -> None:
    """A short retention empties a topic."""
    change = _planned(attacked, "topic/mine.alter")
    request = next(
        it
        for it in requests_of(change)
        if isinstance(it, req.AlterTopicRequest) and it.step is req.AlterStep.CONFIGS
    )
    wanted = replace(request.requested_state, requested_configs={"segment.ms": "1"})
    changed = _changed(attacked, change.address, replace(request, requested_state=wanted))
    assert "its declaration does not have" in refused(attacked, [changed])


def test_a_mutant_that_lowers_protection_unsaid_is_refused(attacked: Attacked) -> None:
    change = _planned(attacked, "topic/mine.policy")
    assert risks.PROTECTION_LOWERED in change.risks
    silent = replace(change, risks=(risks.REGISTRY_ONLY,))
    assert "without naming that risk" in refused(attacked, [silent])


def test_the_honest_plan_passes_the_guard(attacked: Attacked) -> None:
    apply = replace_project(Apply(cluster=attacked.cluster), "mine")
    result = apply.plan(sealed_now(attacked.world.plan, FakeClock(), "honest"))
    assert result.verdict.exit is ExitCode.SUCCESS
    state = attacked.cluster.read_state()
    assert state.registry
    assert state.registry.owners["topic/mine.new"].project == MINE
