"""Laws that every plan obeys, on random dirty clusters; each with a mutant that it must catch."""

import random
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

import pytest
from builders import plan_of
from hypothesis import given, seed, settings
from hypothesis import strategies as st
from laws.chains import Law, Turn, assert_caught, obey, turns
from msgspec import Struct
from msgspec.structs import replace
from strategies import TEAMS, Team
from tiers import examples

from kgitops.desired.last_applied import desired_from_registry
from kgitops.desired.state import DesiredState
from kgitops.kinds import base as kind_base
from kgitops.kinds import consumer_group as groups
from kgitops.kinds import user as users
from kgitops.kinds.base import Requested, Values
from kgitops.kinds.quota import ClientQuotaKind
from kgitops.kinds.topics import alter as topic_alter
from kgitops.kinds.user import UserKind
from kgitops.model.cluster_state import ClusterState
from kgitops.model.json.canonical import canonical_json
from kgitops.model.json.declared import (
    ConfigsPolicy,
    DesiredAcl,
    DesiredBrokerConfig,
    DesiredClientMetrics,
    DesiredGroup,
    DesiredObject,
    DesiredQuota,
    DesiredTopic,
    DesiredUser,
    Record,
)
from kgitops.model.registry import Owner
from kgitops.model.requests import AlterUserScramCredentialsRequest, Request
from kgitops.model.resources.addresses import (
    acl_address,
    broker_address,
    kind_of,
    quota_address,
    topic_address,
    user_address,
)
from kgitops.model.resources.config_resources import FoundConfigs
from kgitops.model.resources.groups import FoundGroup
from kgitops.model.resources.kinds import CREDENTIALS, GLOBAL_GROUP, Kind
from kgitops.model.resources.quotas import CLIENT_KEYS, IP_KEYS
from kgitops.model.resources.topic_configs import is_throttle, normal_value
from kgitops.model.resources.users import FoundUser, ScramMechanism
from kgitops.plan import context, order, planner, removal
from kgitops.plan import draft as planned_requests
from kgitops.plan.document import risks
from kgitops.plan.document.documents import plan_to_json
from kgitops.plan.document.plan import Action, Plan, PlannedRequest, Precondition
from kgitops.plan.ownership import Ownership, OwnershipStatus


def planning_after_applying_is_empty(turn: Turn, _: Sequence[Turn]) -> None:
    """And there is nothing left to restore: the drift that stays is what nobody declared."""
    if turn.after is not None:
        again = plan_of(turn.desired, turn.after)
        assert again.changes == ()
        assert not again.verdict.stops
        assert {row.rule for row in again.drift} <= {"undeclared"}


def the_cluster_holds_what_is_declared(turn: Turn, _: Sequence[Turn]) -> None:
    """And no longer what was applied and is not declared any more."""
    after = turn.after
    if after is None:
        return
    for topic in turn.desired.of(DesiredTopic):
        state = after.topics[topic.name]
        configs = {key: normal_value(key, value) for key, value in state.configs.items()}
        assert topic.configs.items() <= configs.items()
        assert state.num_partitions == topic.partitions
        assert {len(replicas) for replicas in state.assignment} == {topic.replication_factor}
        assert topic.assignment in (None, state.assignment)
        assert left_over(topic, turn, "configs").isdisjoint(configs)
    for quota in turn.desired.of(DesiredQuota):
        found = after.quotas[quota.entity].quotas
        assert quota.quotas.items() <= found.items()
        assert left_over(quota, turn, "quotas").isdisjoint(found)
    for resource in resources(turn.desired):
        found = configs_of(resource, after)
        assert resource.configs.items() <= found.items()
        assert left_over(resource, turn, "configs").isdisjoint(found)
    for user in turn.desired.of(DesiredUser):
        held = (after.users or {})[user.name]
        iterations = {key: item.iterations for key, item in user.credentials.items()}
        assert iterations.items() <= held.items()
        assert left_over(user, turn, "scram").isdisjoint(held)
    assert {acl.binding for acl in turn.desired.of(DesiredAcl)} <= after.acls
    for address in declared(turn.desired):
        assert owners(after)[address].project == turn.desired.project.identity


def the_registry_remembers_what_was_applied(turn: Turn, _: Sequence[Turn]) -> None:
    """Right after a whole project was applied it owns just that, and there is no drift."""
    if turn.after is None or not turn.desired.scope.whole:
        return
    project = turn.desired.project
    assert owned_by(project.identity, turn.after) == declared(turn.desired)
    remembered = desired_from_registry(
        project, turn.after.registry, safety=turn.desired.safety, principal="User:ops"
    )
    assert declared(remembered) == owned_by(project.identity, turn.after)
    plan = plan_of(remembered, turn.after)
    assert plan.changes == ()
    assert {row.rule for row in plan.drift} <= {"undeclared"}


def requests_find_what_they_expect(turn: Turn, _: Sequence[Turn]) -> None:
    """The first finds the precondition; the model asserts all others while it executes them."""
    for change in turn.plan.changes:
        assert [planned.expects for planned in change.requests[:1]] == list(
            change.preconditions[: len(change.requests)]
        )


def nothing_outside_the_managed_scope_changes(turn: Turn, _: Sequence[Turn]) -> None:
    """Neither objects nor owners, nor the keys of others on an object that is managed."""
    changed = {change.address for change in turn.plan.changes if change.kind is not Kind.BROKER}
    assert changed <= declared(turn.desired) | owned_by(turn.desired.project.identity, turn.before)
    if turn.after is None:
        return
    # A broker is throttled while replicas move, and afterwards as it was.
    assert without(changed, turn.after) == without(changed, turn.before)
    for topic in turn.desired.of(DesiredTopic):
        configs_of_others_stay(topic, turn)
    for quota in turn.desired.of(DesiredQuota):
        quotas_of_others_stay(quota, turn)
    for user in turn.desired.of(DesiredUser):
        mechanisms_of_others_stay(user, turn)
    for resource in resources(turn.desired):
        configs_of_resources_stay(resource, turn)


def a_password_is_set_when_it_is_due_and_never_else(turn: Turn, _: Sequence[Turn]) -> None:
    """It is: of a new mechanism, with other iterations, by a new version; where one is known."""
    declared_users = {user.address: user for user in turn.desired.of(DesiredUser)}
    for change in turn.plan.changes:
        set_now = {
            request.mechanism: request
            for request in (planned.request for planned in change.requests)
            if isinstance(request, AlterUserScramCredentialsRequest) and not request.removes
        }
        if turn.plan.takeovers:  # it changes owners alone
            assert not set_now
            continue
        user = declared_users.get(change.address)
        assert user or not set_now
        for mechanism, credential in user.credentials.items() if user else ():
            held = (turn.before.users or {}).get(user.name, {}).get(mechanism)
            owner = owners(turn.before).get(change.address)
            last = owner.last_applied["scram"] if owner and not owner.spent else {}
            was = last.get(mechanism.value, {"version": credential.version})["version"]
            renewed = credential.version not in (None, was)
            if held != credential.iterations or renewed:
                assert mechanism in set_now
                assert set_now[mechanism].password == credential.password
                assert turn.after is None or credential.password.known
            else:
                assert mechanism not in set_now


def projects_leave_each_other_alone(turn: Turn, _: Sequence[Turn]) -> None:
    """Only ``default``'s objects, and those of projects that are named, may change hands."""
    project = turn.desired.project
    mine = {project.identity, "default", *project.take_from}
    theirs = {
        address
        for address, owner in owners(turn.before).items()
        if not owner.spent and owner.project not in mine
    }
    assert theirs.isdisjoint(change.address for change in turn.plan.changes)
    if turn.after is not None:
        before, after = objects(turn.before), objects(turn.after)
        for address in theirs:
            assert before.get(address) == after.get(address)
            assert owners(turn.before)[address] == owners(turn.after)[address]


def only_own_objects_are_deleted(turn: Turn, earlier: Sequence[Turn]) -> None:
    """Whole or by a Tombstone, adopted ones by a written word, each Tombstone once."""
    for change in turn.plan.changes:
        deletions = [p.request for p in change.requests if step_name(p) in _DELETIONS]
        if Action.DELETE not in change.actions:
            assert deletions == []
            continue
        owner = owners(turn.before)[change.address]
        assert owner.project == turn.desired.project.identity
        assert not owner.spent
        assert change.address not in declared(turn.desired)
        for request in deletions:
            assert getattr(request, "topic_id", owner.topic_id) == owner.topic_id
        # Beside a spent Tombstone the absence of a document means what it means elsewhere.
        named = {t.name for t in turn.desired.tombstones if t.address == change.address}
        names = {name for name in named if change.because.startswith(f"the Tombstone {name} ")}
        if not names:
            assert turn.desired.scope.whole
            assert owner.last_applied["deletionPolicy"] == "Delete"
            assert owner.last_applied["deletionPolicyWritten"] or not owner.adopted
        assert not names & executed(change.address, owner.project, earlier)


def order_does_not_matter(turn: Turn, _: Sequence[Turn]) -> None:
    """The same inputs give the same bytes, however they are shuffled."""
    shuffle = random.Random(repr(turn.desired.digest) + str(len(turn.plan.changes))).shuffle  # noqa: S311
    again = plan_of(shuffled(turn.desired, shuffle), shuffled(turn.before, shuffle))
    assert as_bytes(again) == as_bytes(turn.plan)


LAWS: tuple[Law, ...] = (
    planning_after_applying_is_empty,
    the_cluster_holds_what_is_declared,
    the_registry_remembers_what_was_applied,
    requests_find_what_they_expect,
    nothing_outside_the_managed_scope_changes,
    a_password_is_set_when_it_is_due_and_never_else,
    projects_leave_each_other_alone,
    only_own_objects_are_deleted,
    order_does_not_matter,
)


ALONE = TEAMS[:1]


@pytest.mark.hypothesis
@pytest.mark.parametrize("teams", [ALONE, TEAMS], ids=["one project", "several projects"])
def test_every_plan_of_a_chain_obeys_every_law(teams: Sequence[Team]) -> None:
    @settings(max_examples=examples(250))
    @given(st.data())
    def law(data: st.DataObject) -> None:
        obey(data, LAWS, teams)

    law()


# What the laws ask


def declared(desired: DesiredState) -> set[str]:
    return {item.address for item in desired.objects}


def owners(state: ClusterState) -> Mapping[str, Owner]:
    return state.registry.owners if state.registry else {}


def owned_by(project: str, state: ClusterState) -> set[str]:
    return {
        address
        for address, owner in owners(state).items()
        if owner.project == project and not owner.spent
    }


def objects(state: ClusterState) -> Mapping[str, object]:
    found: dict[str, object] = {topic_address(name): t for name, t in state.topics.items()}
    found |= {acl_address(acl): acl for acl in state.acls}
    found |= {broker_address(broker.id): broker for broker in state.brokers}
    found |= {user_address(name): held for name, held in (state.users or {}).items()}
    found |= {key: it for key, it in state.objects.items() if not isinstance(it, FoundUser)}
    return found | {quota_address(entity): quota for entity, quota in state.quotas.items()}


def everything(state: ClusterState) -> Mapping[str, object]:
    """Each object by its address, and each owner by its key in the registry."""
    return {**objects(state), **{f"own/{a}": owner for a, owner in owners(state).items()}}


def without(addresses: set[str], state: ClusterState) -> Mapping[str, object]:
    """All objects and owners but these."""
    return {
        key: item
        for key, item in everything(state).items()
        if key.removeprefix("own/") not in addresses
    }


Resource = DesiredGroup | DesiredClientMetrics | DesiredBrokerConfig


def resources(desired: DesiredState) -> Sequence[Resource]:
    return (
        *desired.of(DesiredGroup),
        *desired.of(DesiredClientMetrics),
        *desired.of(DesiredBrokerConfig),
    )


def left_over(
    item: DesiredTopic | DesiredQuota | DesiredUser | Resource, turn: Turn, field: str
) -> set[str]:
    """The keys that this object's project last applied to it and that are no longer declared."""
    owner = owners(turn.before).get(item.address)
    if owner is None or owner.spent or owner.topic_id != topic_id(item, turn.before):
        return set()
    wanted = item.credentials if isinstance(item, DesiredUser) else getattr(item, field)
    return set(owner.last_applied[field]) - set(wanted)


def topic_id(
    item: DesiredTopic | DesiredQuota | DesiredUser | Resource, state: ClusterState
) -> str | None:
    topic = state.topics.get(item.name) if isinstance(item, DesiredTopic) else None
    return topic.topic_id if topic else None


def configs_of_others_stay(topic: DesiredTopic, turn: Turn) -> None:
    before, after = turn.before.topics.get(topic.name), turn.after and turn.after.topics
    if before is None or not after:
        return
    owner = owners(turn.before).get(topic.address)
    last = owner.last_applied["configs"] if owner and not owner.spent else {}
    for key, value in before.configs.items():
        theirs = key not in topic.configs and key not in last
        if is_throttle(key) or (theirs and topic.configs_policy is ConfigsPolicy.DECLARED):
            assert after[topic.name].configs.get(key) == value


def quotas_of_others_stay(quota: DesiredQuota, turn: Turn) -> None:
    before = turn.before.quotas.get(quota.entity)
    assert turn.after is not None
    if before is None:
        return
    owner = owners(turn.before).get(quota.address)
    last = owner.last_applied["quotas"] if owner and not owner.spent else {}
    for key, value in before.quotas.items():
        if key not in quota.quotas and key not in last:
            assert turn.after.quotas[quota.entity].quotas[key] == value


def configs_of(resource: Resource, state: ClusterState) -> Mapping[str, str]:
    found = state.objects.get(resource.address)
    return found.configs if isinstance(found, FoundGroup | FoundConfigs) else {}


def configs_of_resources_stay(resource: Resource, turn: Turn) -> None:
    assert turn.after is not None
    after = configs_of(resource, turn.after)
    owner = owners(turn.before).get(resource.address)
    last = owner.last_applied["configs"] if owner and not owner.spent else {}
    for key, value in configs_of(resource, turn.before).items():
        if key not in resource.configs and key not in last:
            assert after.get(key) == value


def mechanisms_of_others_stay(user: DesiredUser, turn: Turn) -> None:
    assert turn.after is not None
    before, after = ((it.users or {}).get(user.name, {}) for it in (turn.before, turn.after))
    owner = owners(turn.before).get(user.address)
    last = owner.last_applied["scram"] if owner and not owner.spent else {}
    for mechanism, iterations in before.items():
        if mechanism not in user.credentials and mechanism not in last:
            assert after.get(mechanism) == iterations


def executed(address: str, project: str, earlier: Sequence[Turn]) -> set[str]:
    """The names of the project's Tombstones that have deleted at this address already."""
    return {
        tombstone.name
        for turn in earlier
        if turn.after is not None and turn.desired.project.identity == project
        for change in turn.plan.changes
        if change.address == address and Action.DELETE in change.actions
        for tombstone in turn.desired.tombstones
        if tombstone.address == address
    }


USER_RISKS = (
    *(risks.USER_CREATE, risks.USER_ADOPT, risks.USER_DELETE, risks.USER_FORGET),
    *(risks.MECHANISM_ADD, risks.MECHANISM_REMOVE, risks.PASSWORD_RENEW),
    *(risks.ITERATIONS_RAISE, risks.ITERATIONS_LOWER),
)
RESOURCE_RISKS = (
    *(risks.GROUP_CREATE, risks.GROUP_ADOPT, risks.GROUP_FORGET, risks.GROUP_DELETE),
    *(risks.GROUP_CONFIG, risks.GROUP_CONFIG_REMOVE),
    *(risks.CLIENT_METRICS_SET, risks.CLIENT_METRICS_REMOVE),
    *(risks.CLIENT_METRICS_ADOPT, risks.CLIENT_METRICS_FORGET),
    *(risks.BROKER_CONFIG_SET, risks.BROKER_CONFIG_REMOVE, risks.BROKER_CONFIG_DATA),
    *(risks.BROKER_CONFIG_ADOPT, risks.BROKER_CONFIG_FORGET),
)
_DELETIONS = {"DeleteTopic", "DeleteAcl"}


def step_name(planned: PlannedRequest) -> str:
    step = getattr(planned.request, "step", None)
    return str(step) if step else type(planned.request).__name__.removesuffix("Request")


def as_bytes(plan: Plan) -> bytes:
    return canonical_json(plan_to_json(plan))


# In these the order is part of the value: who leads, what stands where, what an address is.
_ORDERED = {"assignment", "entity", "usage"}
_T = TypeVar("_T")


def shuffled(value: _T, shuffle: Callable[[list[object]], None]) -> _T:
    """A copy with every mapping and tuple in another order, all the way down."""
    found: object = value
    if isinstance(value, Mapping):
        items = [(key, shuffled(item, shuffle)) for key, item in value.items()]
        shuffle(items)  # type: ignore[arg-type]
        found = dict(items)
    elif isinstance(value, tuple):
        rows = [shuffled(item, shuffle) for item in value]
        shuffle(rows)
        found = tuple(rows)
    elif isinstance(value, Struct):
        found = replace(
            value,
            **{
                field: shuffled(getattr(value, field), shuffle)
                for field in value.__struct_fields__
                if field not in _ORDERED
            },
        )
    return found  # type: ignore[return-value]


# Each law catches a planner that breaks it

Mutate = Callable[[pytest.MonkeyPatch], None]


def forget_replicas(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(topic_alter._Builder, "replicas", lambda *_, **__: None)


def forget_configs(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(topic_alter._Builder, "configs", lambda *_, **__: None)


def forget_removed_quota_keys(patch: pytest.MonkeyPatch) -> None:
    real = ClientQuotaKind.requests

    def only_set(self: ClientQuotaKind, record: Record, requested: Requested) -> Sequence[Request]:
        left = {key: value for key, value in requested.items() if value is not None}
        return real(self, record, left)

    patch.setattr(ClientQuotaKind, "requests", only_set)


def forget_what_was_applied(patch: pytest.MonkeyPatch) -> None:
    real = topic_alter.diff_configs
    patch.setattr(
        topic_alter,
        "diff_configs",
        lambda topic, found, _: real(topic, found, {}),
    )


def remember_no_replicas(patch: pytest.MonkeyPatch) -> None:
    real = context.last_applied
    patch.setattr(context, "last_applied", lambda item: {**real(item), "replicationFactor": 1})


def expect_the_state_before_the_first_step(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(planned_requests, "_after", lambda _, expects: expects)


def make_new_partitions_with_the_new_factor(patch: pytest.MonkeyPatch) -> None:
    real = topic_alter.plan_replicas

    def at_once(*args: object) -> object:
        replicas = real(*args)  # type: ignore[arg-type]
        return replicas and replace(replicas, grown=replicas.final)

    patch.setattr(topic_alter, "plan_replicas", at_once)


def remove_configs_that_nobody_declared(patch: pytest.MonkeyPatch) -> None:
    real = topic_alter.diff_configs
    patch.setattr(
        topic_alter,
        "diff_configs",
        lambda topic, *rest: real(replace(topic, configs_policy=ConfigsPolicy.EXACT), *rest),
    )


def treat_foreign_objects_as_unmanaged(patch: pytest.MonkeyPatch) -> None:
    real = Ownership.status

    def blind(self: Ownership, address: str) -> OwnershipStatus:
        found = real(self, address)
        return OwnershipStatus.UNMANAGED if found is OwnershipStatus.FOREIGN else found

    patch.setattr(Ownership, "status", blind)


def remove_what_others_own(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(
        Ownership,
        "mine",
        lambda self, *kinds: (address for address in self.owners if kind_of(address) in kinds),
    )


def let_tombstones_act_twice(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(
        removal,
        "_is_spent",
        lambda tombstone, ownership: (
            ownership.status(tombstone.address) is OwnershipStatus.TOMBSTONED
        ),
    )


def keep_the_order_of_the_inputs(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(planner, "order_changes", lambda changes, *_: order._bind(list(changes)))


def _differing(
    patch: pytest.MonkeyPatch, seen: Callable[..., tuple[Values, Values, Values]]
) -> None:
    """Compare what is ``seen`` in place of declared, last applied and held values."""
    real = kind_base.differing

    def other(
        declared: Values, last: Values, held: Values, renewed: frozenset[str] = frozenset()
    ) -> Requested:
        return real(*seen(declared, last, held), renewed)

    for module in (kind_base, groups):
        patch.setattr(module, "differing", other)


def forget_what_was_applied_to_users(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(users, "last_credentials", lambda _: {})
    _differing(patch, lambda declared, last, held: (declared, {}, held))


def remove_mechanisms_that_nobody_declared(patch: pytest.MonkeyPatch) -> None:
    every = dict.fromkeys(ScramMechanism, "4096")
    _differing(patch, lambda declared, last, held: (declared, {**every, **last}, held))


def forget_versions(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(UserKind, "renewed", lambda *_: frozenset())


def set_every_password_again(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(UserKind, "renewed", lambda _, item, managed: frozenset(item.credentials))


def take_the_iterations_that_are_there(patch: pytest.MonkeyPatch) -> None:
    mechanisms = frozenset(ScramMechanism)
    _differing(
        patch,
        lambda declared, last, held: (
            {key: held.get(key, it) if key in mechanisms else it for key, it in declared.items()},
            last,
            held,
        ),
    )


def set_passwords_that_nobody_knows(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(UserKind, "check", lambda *_: None)


def remember_no_version(patch: pytest.MonkeyPatch) -> None:
    real = context.last_applied

    def forgetful(item: DesiredObject) -> object:
        applied = real(item)
        if isinstance(item, DesiredUser):
            held = {key: {**one, "version": None} for key, one in applied["scram"].items()}
            applied = {**applied, "scram": held}
        return applied

    patch.setattr(context, "last_applied", forgetful)


def expect_nothing_of_a_user(patch: pytest.MonkeyPatch) -> None:
    real = context.PlanContext.expect

    def of_nobody(self: context.PlanContext, address: str, **given: object) -> Precondition:
        wrong = {"exists": False} if kind_of(address) == CREDENTIALS else {}
        return real(self, address, **{**given, **wrong})  # type: ignore[arg-type]

    patch.setattr(context.PlanContext, "expect", of_nobody)


def forget_removed_configs_of_groups(patch: pytest.MonkeyPatch) -> None:
    _differing(patch, lambda declared, last, held: (declared, {}, held))


def remove_configs_of_groups_that_nobody_declared(patch: pytest.MonkeyPatch) -> None:
    """And those of client metrics, but no quotas or mechanisms."""
    others = frozenset({*CLIENT_KEYS, *IP_KEYS, *ScramMechanism})
    _differing(
        patch,
        lambda declared, last, held: (declared, last if others & held.keys() else held, held),
    )


def _without_removals(patch: pytest.MonkeyPatch, kind: str) -> None:
    real = kind_base.find_removals
    patch.setattr(
        kind_base, "find_removals", lambda kinds, *rest: () if kind in kinds else real(kinds, *rest)
    )


def keep_groups_that_nobody_declares(patch: pytest.MonkeyPatch) -> None:
    _without_removals(patch, GLOBAL_GROUP)


def keep_users_that_nobody_declares(patch: pytest.MonkeyPatch) -> None:
    _without_removals(patch, CREDENTIALS)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("law", "mutate", "teams"),
    [
        (planning_after_applying_is_empty, forget_replicas, ALONE),
        (the_cluster_holds_what_is_declared, forget_configs, ALONE),
        (the_cluster_holds_what_is_declared, forget_removed_quota_keys, ALONE),
        (the_cluster_holds_what_is_declared, forget_what_was_applied, ALONE),
        (the_registry_remembers_what_was_applied, remember_no_replicas, ALONE),
        (requests_find_what_they_expect, expect_the_state_before_the_first_step, ALONE),
        (requests_find_what_they_expect, make_new_partitions_with_the_new_factor, ALONE),
        (nothing_outside_the_managed_scope_changes, remove_configs_that_nobody_declared, ALONE),
        (planning_after_applying_is_empty, remember_no_version, ALONE),
        (the_cluster_holds_what_is_declared, forget_what_was_applied_to_users, ALONE),
        (the_cluster_holds_what_is_declared, take_the_iterations_that_are_there, ALONE),
        (the_registry_remembers_what_was_applied, keep_users_that_nobody_declares, ALONE),
        (the_cluster_holds_what_is_declared, forget_removed_configs_of_groups, ALONE),
        (the_registry_remembers_what_was_applied, keep_groups_that_nobody_declares, ALONE),
        (
            nothing_outside_the_managed_scope_changes,
            remove_configs_of_groups_that_nobody_declared,
            ALONE,
        ),
        (requests_find_what_they_expect, expect_nothing_of_a_user, ALONE),
        (nothing_outside_the_managed_scope_changes, remove_mechanisms_that_nobody_declared, ALONE),
        (a_password_is_set_when_it_is_due_and_never_else, forget_versions, ALONE),
        (a_password_is_set_when_it_is_due_and_never_else, set_every_password_again, ALONE),
        (a_password_is_set_when_it_is_due_and_never_else, set_passwords_that_nobody_knows, ALONE),
        (projects_leave_each_other_alone, treat_foreign_objects_as_unmanaged, TEAMS),
        (only_own_objects_are_deleted, remove_what_others_own, TEAMS),
        (only_own_objects_are_deleted, let_tombstones_act_twice, ALONE),
        (order_does_not_matter, keep_the_order_of_the_inputs, ALONE),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_the_law_catches_a_planner_that_would(
    law: Law, mutate: Mutate, teams: Sequence[Team], monkeypatch: pytest.MonkeyPatch
) -> None:
    mutate(monkeypatch)
    assert_caught(lambda data: obey(data, [law], teams, count=5))


# The chains reach what they are for


@pytest.mark.slow
def test_the_chains_are_no_toys() -> None:
    """Most plans go through, and every action, rule and step occurs among some hundreds.

    What Hypothesis draws hangs on the modules that are imported: it draws until nothing is missing.
    """
    seen: set[str] = set()
    stopped: list[bool] = []

    def look(data: st.DataObject, teams: Sequence[Team]) -> None:
        for turn in turns(data, teams, count=5):
            stopped.append(turn.after is None)
            seen.update(what_happens(turn.plan))

    wanted = {
        *map(str, Action),
        *("restored", "accepted", "undeclared", "missing"),
        *("unmanaged", "foreign", "not-loaded", "protected"),
        *("configs", "partitions", "replicas", "DeleteRecords", "AlterUserScramCredentials"),
        *(risk.code for risk in USER_RISKS + RESOURCE_RISKS),
        *("spent", "adopt update"),
    }
    for again in range(4):
        for teams, number in ((ALONE, 150), (TEAMS, 30)):
            few = settings(max_examples=number, database=None)
            seed(again)(few(given(st.data(), st.just(teams))(look)))()
        if seen >= wanted:
            break
    assert wanted - seen == set()
    assert sum(stopped) < len(stopped) / 2


def what_happens(plan: Plan) -> set[str]:
    found = {str(action) for change in plan.changes for action in change.actions}
    found |= {" ".join(change.actions) for change in plan.changes}
    found |= {row.rule for row in plan.drift} | {kept.rule for kept in plan.kept}
    found |= {step_name(planned) for planned in plan.requests}
    found |= {risk.code for change in plan.changes for risk in change.risks}
    return found | {"spent" for warning in plan.warnings if "already executed" in warning.problem}
