"""Anyone who can write a plan can seal it: every field is forged, and each forgery is refused."""

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from apply.faults import FakeClock
from apply.forging import (
    MINE,
    THEIRS,
    Forgery,
    World,
    forgeries,
    honest,
    make_world,
    replace_project,
    resealed,
)
from apply.plans import Apply, comparable, sealed_now
from builders import IN_ENVIRONMENT, a_desired, plan_of
from msgspec.structs import replace
from plan.plan_json import sealed_to_json
from used import with_users

from kgitops.apply.context import ApplySettings
from kgitops.approval import approve
from kgitops.cluster.embedded.adapter import EmbeddedCluster
from kgitops.cluster.embedded.image.image import ScramCredential
from kgitops.desired.last_applied import desired_from_registry
from kgitops.desired.state import Safety
from kgitops.kinds.topics.alter import delete_request
from kgitops.model.cluster_state import ClusterState, Validator
from kgitops.model.errors import KgitopsError, UntrustedPlanError
from kgitops.model.registry import COMMAND_PROJECT
from kgitops.model.requests import AlterUserScramCredentialsRequest, DeleteTopicRequest
from kgitops.model.resources.virtual_clusters import TopicLink
from kgitops.model.verdict import ExitCode
from kgitops.plan.document import risks
from kgitops.plan.document.documents import PLAN_KEYS
from kgitops.plan.document.file import SealedPlan, read_sealed_plan
from kgitops.plan.document.plan import Action, Change, Plan, Precondition
from kgitops.plan.draft import chain
from kgitops.plan.ownership import EXECUTED_TOMBSTONES
from kgitops.plan.shown import with_shown

REFUSED = (ExitCode.REFUSED, ExitCode.UNTRUSTED, ExitCode.STALE, ExitCode.ERROR)


Keys = Mapping[str, Mapping[str, ScramCredential]]
"""What brokers know of passwords, by user and mechanism."""


@pytest.fixture(scope="module", autouse=True)
def password() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv(str(IN_ENVIRONMENT.env), "a password")
        yield


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory, password: None) -> World:
    return make_world(tmp_path_factory.mktemp("world"))


def executed(plan: Plan) -> Plan:
    """The parts of a plan that an apply acts on; the rest is only shown."""
    registry = plan.base.registry
    return replace(
        plan,
        base=replace(
            plan.base, digest="", registry=registry and replace(registry, offset="0")
        ),
        desired=replace(plan.desired, digest="", git_sha=None, dirty=False),
        target=replace(plan.target, name="", backend=""),
        drift=(),
        kept=(),
        access_losses=(),
        warnings=(),
        lowering=(),
        partial=False,
        managed_counts={},
        allow_deletes={},
        changes=tuple(
            replace(
                change, because="", source=None, after=None, fields=(), impact={}, policies=(),
                risks=change.risks[:1],
                before={"name": (change.before or {}).get("name")},
                requests=tuple(replace(it, validated=Validator.CLIENT, physical=())
                               for it in change.requests),
            )
            for change in plan.changes
        ),
    )  # fmt: skip


def whole(state: ClusterState) -> object:
    """All that can be compared, virtual clusters by the names that links lead to."""
    links = {
        name: replace(found, links={key: _made(link) for key, link in found.links.items()})
        for name, found in state.virtual_clusters.items()
    }
    found = comparable(state)
    topics = {re.sub(r"^[0-9a-f-]{36}", "new", name): replace(topic, name="")
              for name, topic in state.topics.items()}  # fmt: skip
    return {**found, "topics": {k: replace(v, topic_id=None) for k, v in topics.items()},
            "usage": None, "owners": {k: replace(v, topic_id=None) for k, v in
            found["owners"].items()}, "links": links}  # fmt: skip


def _made(link: TopicLink) -> TopicLink:
    return replace(link, topic=re.sub(r"^[0-9a-f-]{36}", "new", link.topic), topic_id=None)


class Attacked:
    """Clusters to apply forged plans to: a fresh one each time that something came of one."""

    def __init__(self, world: World, folder: Path) -> None:
        self.world = world
        self._folder = folder
        self._count = 0
        self.cluster = world.opened(folder)
        self.before = _read(self.cluster)
        self.keys_before = self.keys = self._keys()

    def anew(self) -> None:
        self.cluster.close()
        self._count += 1
        folder = self._folder / str(self._count)
        folder.mkdir()
        self.cluster = self.world.opened(folder)

    def apply(self, sealed: SealedPlan) -> ClusterState | None:
        """The result; None where it was refused, and nothing was changed."""
        written = self._written()
        refused = self._refused(sealed)
        if refused is not None:
            assert refused in REFUSED
            assert self._written() == written
            return None
        after, self.keys = _read(self.cluster), self._keys()
        self.anew()
        return after

    @property
    def new_passwords(self) -> set[tuple[str, str]]:
        """The users and mechanisms that the last apply set, or set again."""
        return {
            (user, mechanism)
            for user, held in self.keys.items()
            for mechanism, key in held.items()
            if self.keys_before.get(user, {}).get(mechanism) != key
        }

    def _keys(self) -> Keys:
        with self.cluster.controller.consistent_image() as image:
            return image.scram.users

    def _refused(self, sealed: SealedPlan) -> ExitCode | None:
        apply = Apply(cluster=self.cluster, settings=ApplySettings())
        try:
            approve(sealed)
            self.result = replace_project(apply, "mine").plan(sealed, "forged")
        except KgitopsError as error:
            return error.exit
        return None

    def _written(self) -> int:
        """Count the cluster's records: where none was added, not even a lock was requested."""
        state = self.cluster.read_state(frozenset(), frozenset())
        assert state.registry
        return state.registry.offset


def _read(cluster: EmbeddedCluster) -> ClusterState:
    return with_users(cluster)


@pytest.fixture
def attacked(world: World, tmp_path: Path) -> Iterator[Attacked]:
    found = Attacked(world, tmp_path)
    yield found
    found.cluster.close()


@pytest.fixture(scope="module")
def honest_result(world: World, tmp_path_factory: pytest.TempPathFactory) -> object:
    """The result of the plan that was not forged."""
    applying = Attacked(world, tmp_path_factory.mktemp("honest"))
    after = applying.apply(read_sealed_plan(resealed(honest(world)), "honest.json"))
    applying.cluster.close()
    assert after is not None
    return whole(after), applying.new_passwords


def _is_theirs(name: str) -> bool:
    return "theirs" in name or name == "nobody" or "User:nobody" in name


def check_true(before: ClusterState, state: ClusterState, *, partly: bool) -> None:
    """Every record that was written is of an object of this project, and says what is so."""
    assert state.registry
    assert before.registry
    ids = {topic.topic_id for topic in state.topics.values()}
    known = before.registry.owners
    written = {it: own for it, own in state.registry.owners.items() if known.get(it) != own}
    for address, owner in written.items():
        assert owner.project == MINE
        assert "theirs" not in address
        assert owner.spent or owner.topic_id is None or owner.topic_id in ids
    if not partly:
        told = desired_from_registry(
            a_desired(project="mine", uid=MINE).project,
            state.registry,
            safety=Safety(replication_throttle=0),
            principal="User:a",
        )
        # A copy of a right follows from links that a plan of fewer changes may leave out.
        own = {it for it in written if "origin" not in written[it].last_applied}
        assert not own & {change.address for change in plan_of(told, state).changes}


def check_harmless(attacked: Attacked, after: ClusterState, *, partly: bool) -> None:
    """Nothing of others changed, nothing went without a right, and the registry is true."""
    before = attacked.before
    for user, keys in attacked.keys_before.items():
        if _is_theirs(user) or user in ("mine-kept", "mine-orphan"):
            assert attacked.keys[user] == keys
    assert after.registry
    assert before.registry
    for name, topic in before.topics.items():
        if _is_theirs(name):
            assert after.topics[name] == topic
    ids = {topic.topic_id for topic in after.topics.values()}
    for address, owner in before.registry.owners.items():
        if owner.project == THEIRS:
            assert after.registry.owners[address] == owner
            assert owner.topic_id is None or owner.topic_id in ids
    assert {a for a in after.acls if _is_theirs(a.principal)} == {
        a for a in before.acls if _is_theirs(a.principal)
    }
    for entity, quota in before.quotas.items():
        if _is_theirs(str(entity)):
            assert after.quotas[entity] == quota
    assert after.virtual_clusters["theirs.vc"] == before.virtual_clusters["theirs.vc"]
    assert after.virtual_clusters["theirs.old"] == before.virtual_clusters["theirs.old"]
    check_true(before, after, partly=partly)
    # Protected, orphaned, nobody's.
    for name in ("mine.kept", "mine.orphan", "mine.policy", "found.topic"):
        assert after.topics[name].topic_id == before.topics[name].topic_id
    assert after.registry.projects == before.registry.projects


_ALL = {"actions", "address", "object", "owner", "project", "topic", "topic_id", "undoes",
        "moved_from", "deletionPolicy", "virtual_cluster", "migrated_to", "kind", "spent", "user",
        "mechanism", "password", "iterations"}  # fmt: skip
"""Keys of which each value that somebody might want is tried; of the others one."""


def some_of_each(every: list[Forgery]) -> Iterator[Forgery]:
    by_path: dict[object, list[Forgery]] = {}
    for forgery in every:
        by_path.setdefault(forgery.path, []).append(forgery)
    for number, (path, found) in enumerate(by_path.items()):
        assert isinstance(path, tuple)
        whole = len(path) > 1 and (path[-1] in _ALL or path[-2] in _ALL)
        yield from found if whole else [found[number % len(found)]]


CHUNKS = 4
_FORGED = {(key,) for key in PLAN_KEYS}


@pytest.mark.slow
@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_no_forged_field_does_harm(attacked: Attacked, honest_result: object, chunk: int) -> None:
    world = attacked.world
    genuine, document = executed(world.plan), honest(world)
    every = [it for it in forgeries(document, world.ids) if it.path[:1] in _FORGED]
    paths = {it.path for it in every}
    every = list(some_of_each(every))
    assert {it.path for it in every} == paths
    tried = 0
    for forgery in every[chunk::CHUNKS]:
        try:
            sealed = read_sealed_plan(resealed(forgery.apply(document)), "forged.json")
        except UntrustedPlanError:
            continue
        if executed(sealed.plan) == genuine and sealed.plan.verdict == world.plan.verdict:
            continue
        tried += 1
        after = attacked.apply(sealed)
        if after is None or (whole(after), attacked.new_passwords) == honest_result:
            continue
        partly = attacked.result.verdict.exit is not ExitCode.SUCCESS
        check_harmless(attacked, after, partly=partly)
    assert tried > 100


# What takes more than one field


def change_of(world: World, address: str) -> Change:
    (found,) = [it for it in world.plan.changes if it.address == address]
    return found


def refusal(attacked: Attacked, plan: Plan) -> str:
    """The error for a made-up plan; nothing is sent."""
    apply = replace_project(Apply(cluster=attacked.cluster), "mine")
    with pytest.raises(KgitopsError) as raised:
        apply.plan(sealed_now(plan, FakeClock(), "forged"))
    assert raised.value.exit in (ExitCode.REFUSED, ExitCode.UNTRUSTED)
    assert whole(_read(attacked.cluster)) == whole(attacked.before)
    return str(raised.value)


def deletion(attacked: Attacked, name: str) -> Change:
    """A deletion of a topic as it would be planned, if that were right."""
    state = attacked.before.topics[name]
    assert attacked.before.registry
    owner = attacked.before.registry.owners.get(f"topic/{name}")
    expects = Precondition(
        object=f"topic/{name}",
        exists=True,
        topic_id=state.topic_id,
        owner=owner.project if owner else None,
    )
    return replace(
        change_of(attacked.world, "topic/mine.gone"),
        address=f"topic/{name}",
        preconditions=(expects,),
        requests=chain([delete_request(state)], expects),
        owner_before=owner,
        owner_after=None,
    )


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("theirs.gone", "belongs to the project 'theirs'"),
        ("mine.kept", "is protected"),
        ("mine.orphan", "may not be deleted"),
        ("nobody", "not managed by any project"),
    ],
)
def test_what_may_not_go_stays_however_well_it_is_planned(
    attacked: Attacked, name: str, said: str
) -> None:
    plan = replace(attacked.world.plan, changes=(deletion(attacked, name),))
    assert said in refusal(attacked, plan)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("theirs-gone", "belongs to the project 'theirs'"),
        ("mine-kept", "is protected"),
        ("mine-orphan", "may not be deleted"),
        ("nobody", "not managed by any project"),
    ],
)
def test_a_user_that_may_not_go_stays_however_well_it_is_planned(
    attacked: Attacked, name: str, said: str
) -> None:
    assert attacked.before.registry
    address, owners = f"user/{name}", attacked.before.registry.owners
    change = change_of(attacked.world, "user/mine-gone")
    owner = owners.get(address)
    (expects,) = change.preconditions
    expects = replace(expects, object=address, owner=owner.project if owner else None)
    (planned,) = change.requests
    assert isinstance(planned.request, AlterUserScramCredentialsRequest)
    forged_change = replace(
        change,
        address=address,
        preconditions=(expects,),
        requests=chain([replace(planned.request, user=name)], expects),
        owner_before=owner,
    )
    assert said in refusal(attacked, replace(attacked.world.plan, changes=(forged_change,)))


def test_no_program_is_started_for_a_password_that_a_plan_names_throughout(
    attacked: Attacked,
) -> None:
    """In the request and in the record alike, so that both agree."""
    (change,) = [it for it in attacked.world.plan.changes if it.address == "user/mine-new"]
    plan = replace(attacked.world.plan, changes=(change,))
    own, other = {"env": IN_ENVIRONMENT.env}, {"command": ["touch", "started"]}
    text = json.dumps(sealed_to_json(sealed_now(plan, FakeClock(), "forged")))
    assert text.count(json.dumps(own)) == 2
    forged_text = resealed(json.loads(text.replace(json.dumps(own), json.dumps(other))))
    forged_plan = read_sealed_plan(forged_text, "forged.json").plan
    assert "shows fields" in refusal(attacked, forged_plan)
    shown = with_shown(forged_plan.changes, forged_plan.base.defaults)
    said = refusal(attacked, replace(forged_plan, changes=tuple(shown)))
    assert "--allow-secret-commands" in said


def test_a_topic_is_not_deleted_by_anothers_id(attacked: Attacked) -> None:
    """A deletion goes by the id alone: the name in the review says nothing."""
    change = deletion(attacked, "mine.gone")
    (planned,) = change.requests
    assert isinstance(planned.request, DeleteTopicRequest)
    other = attacked.before.topics["theirs.gone"].topic_id or ""
    forged_request = replace(planned.request, topic_id=other)
    change = replace(change, requests=(replace(planned, request=forged_request),))
    said = refusal(attacked, replace(attacked.world.plan, changes=(change,)))
    assert "is not the topic mine.gone" in said


@pytest.mark.parametrize("name", ["theirs.gone", "mine.kept"])
def test_a_tombstone_that_was_spent_deletes_nothing_again(attacked: Attacked, name: str) -> None:
    """The mark must be one more than the registry has, on an object of this project."""
    change = deletion(attacked, name)
    assert change.owner_before
    marked = replace(
        change.owner_before,
        spent=True,
        last_applied={**change.owner_before.last_applied, EXECUTED_TOMBSTONES: []},
    )
    plan = replace(attacked.world.plan, changes=(replace(change, owner_after=marked),))
    assert refusal(attacked, plan)


def test_nobody_is_told_that_another_project_is_this_one(attacked: Attacked) -> None:
    plan = attacked.world.plan
    for forged_desired in (
        replace(plan.desired, identity=THEIRS),
        replace(plan.desired, project="theirs"),
        replace(plan.desired, identity=COMMAND_PROJECT),
    ):
        assert "the plan was made for" in refusal(attacked, replace(plan, desired=forged_desired))


def test_the_registrys_own_topic_is_nobodys_to_adopt(attacked: Attacked) -> None:
    change = change_of(attacked.world, "topic/found.topic")
    assert change.owner_after
    last = {**change.owner_after.last_applied, "name": "__consumer_offsets"}
    change = replace(
        change,
        address="topic/__consumer_offsets",
        preconditions=tuple(
            replace(it, object="topic/__consumer_offsets", exists=False, topic_id=None)
            for it in change.preconditions
        ),
        actions=(Action.CREATE,),
        owner_after=replace(change.owner_after, last_applied=last, topic_id=None, adopted=False),
    )
    assert refusal(attacked, replace(attacked.world.plan, changes=(change,)))


def test_what_is_done_whatever_fails_is_a_throttle_of_its_own(attacked: Attacked) -> None:
    """A step that takes another back counts as done where it finds something else."""
    change = change_of(attacked.world, "topic/mine.new")
    (planned,) = change.requests
    undoing = replace(change, requests=(replace(planned, undoes=planned.id),))
    said = refusal(attacked, replace(attacked.world.plan, changes=(undoing,)))
    assert "undoes another request" in said


def test_a_throttle_does_not_outlive_its_move(attacked: Attacked) -> None:
    changes = tuple(
        replace(it, requests=it.requests[:1]) if it.address.startswith("broker/") else it
        for it in attacked.world.plan.changes
    )
    assert changes != attacked.world.plan.changes
    cut = {it.id for change in changes for it in change.requests}
    changes = tuple(
        replace(
            change,
            requests=tuple(
                replace(it, depends_on=tuple(name for name in it.depends_on if name in cut))
                for it in change.requests
            ),
        )
        for change in changes
    )
    said = refusal(attacked, replace(attacked.world.plan, changes=changes))
    assert "would keep a throttle" in said


def test_protection_is_not_lowered_unsaid(attacked: Attacked) -> None:
    change = change_of(attacked.world, "topic/mine.policy")
    assert risks.PROTECTION_LOWERED in change.risks
    silent = replace(change, risks=(risks.REGISTRY_ONLY,))
    said = refusal(attacked, replace(attacked.world.plan, changes=(silent,)))
    assert "would lose its protection without naming that risk" in said
