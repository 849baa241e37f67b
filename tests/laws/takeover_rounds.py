"""Random interleavings of two projects that claim each other's objects, on any cluster.

After each step the registry and the topics are compared with those before: an object changes hands
only by a plan that takes it over, which its owner released or ``--allow-takeover`` permits.
"""

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from apply.plans import HOLDER, Apply, sealed_now
from builders import a_desired, a_tombstone, a_topic, plan_of

from kgitops.apply.context import ApplyContext
from kgitops.apply.lock import write_release
from kgitops.cluster.port import Cluster
from kgitops.desired.state import DesiredState, Project, Safety
from kgitops.model.clock import Clock
from kgitops.model.cluster_state import ClusterState
from kgitops.model.errors import KgitopsError
from kgitops.model.json.declared import DeletionPolicy
from kgitops.model.registry import Owner
from kgitops.plan.document.file import SealedPlan
from kgitops.plan.document.plan import Action, Plan

POLICIES = (DeletionPolicy.DELETE, DeletionPolicy.DELETE, DeletionPolicy.ORPHAN, None)
TOPICS = 5


@dataclass(slots=True)
class Repository:
    """A project as its folder has it: what it declares, claims and saved."""

    name: str
    uid: str
    formerly: tuple[str, ...] = ()
    take_from: tuple[str, ...] = ()
    declared: Mapping[str, tuple[DeletionPolicy | None, int]] = field(default_factory=dict)
    tombstones: tuple[str, ...] = ()
    saved: SealedPlan | None = None

    @property
    def project(self) -> Project:
        return Project(
            name=self.name, uid=self.uid, formerly=self.formerly, take_from=self.take_from
        )


@dataclass(slots=True)
class Round:
    """One interleaving; ``prefix`` keeps the names of rounds on one cluster apart."""

    cluster: Cluster
    prefix: str
    draw: random.Random
    clock: Clock
    new_apply: Callable[[], Apply]
    taken: int = 0
    refused: int = 0
    steps: list[str] = field(default_factory=list)
    runs: dict[str, Plan] = field(default_factory=dict)

    def run(self, count: int) -> None:
        """Take ``count`` random steps."""
        same_name = self.draw.random() < 0.3
        names = ("payments", "payments" if same_name else "billing")
        teams = [
            Repository(name=f"{self.prefix}{name}", uid=f"{self.prefix}u{number}")
            for number, name in enumerate(names)
        ]
        for _ in range(count):
            team, other = self.draw.sample(teams, 2)
            self._edit(team, other)
            step = self.draw.choice(
                (self._apply, self._apply, self._apply_allowed, self._plan, self._apply_saved,
                 self._interrupted, self._resume, self._release, self._withdraw)
            )  # fmt: skip
            before = self._state()
            self.steps.append(f"{team.uid}: {step.__name__} {team.formerly} {team.take_from}")
            try:
                step(team, other)
            except KgitopsError as error:
                self.refused += 1
                self.steps.append(f"  refused: {error}")
            self._compare(team, before, self._state())

    # Steps

    def _edit(self, team: Repository, other: Repository) -> None:
        draw = self.draw
        if draw.random() < 0.5:
            names = draw.sample(range(TOPICS), draw.randint(1, 3))
            team.declared = {
                f"{self.prefix}t{name}": (draw.choice(POLICIES), draw.randint(1, 3) * 3_600_000)
                for name in names
            }
            spare = [n for n in range(TOPICS) if f"{self.prefix}t{n}" not in team.declared]
            count = draw.choice((0, 0, 0, 1))
            team.tombstones = tuple(f"{self.prefix}t{n}" for n in draw.sample(spare, count))
        if draw.random() < 0.4:
            whom = draw.choice(((), (other.uid,), (other.name,)))
            team.formerly = whom
            team.take_from = draw.choice(((), (other.uid,), (other.name,)))

    def _desired(self, team: Repository, *allowed: str) -> DesiredState:
        objects = [
            a_topic(name, partitions=1, configs={"retention.ms": str(kept)})
            if policy is None
            else a_topic(
                name,
                partitions=1,
                configs={"retention.ms": str(kept)},
                deletion_policy=policy,
            )
            for name, (policy, kept) in team.declared.items()
        ]
        project = team.project
        return a_desired(
            *objects,
            *(a_tombstone(f"topic/{name}", name=f"drop-{name}") for name in team.tombstones),
            project=project.name,
            uid=project.uid,
            formerly=project.formerly,
            take_from=project.take_from,
            safety=Safety(replication_throttle=0, allow_takeover=allowed),
        )

    def _plan(self, team: Repository, other: Repository, *allowed: str) -> None:
        del other
        desired, state = self._desired(team, *allowed), self.cluster.read_state()
        plan = plan_of(desired, state, self.cluster.capabilities)
        if plan.takeovers:
            assert not plan.requests, self.steps
            assert plan.count(Action.DELETE) == plan.count(Action.FORGET) == 0, self.steps
        team.saved = sealed_now(plan, self.clock, f"{self.prefix}n{len(self.steps)}")

    def _apply(self, team: Repository, other: Repository) -> None:
        self._plan(team, other)
        self._apply_saved(team, other)

    def _apply_allowed(self, team: Repository, other: Repository) -> None:
        self._plan(team, other, other.uid)
        self._apply_saved(team, other)

    def _apply_saved(self, team: Repository, other: Repository, apply: Apply | None = None) -> None:
        del other
        if team.saved is None:
            return
        run = f"{self.prefix}r{len(self.steps)}"
        apply = apply or self.new_apply()
        apply.project = team.project
        self.runs[run] = team.saved.plan
        apply.plan(team.saved, run)

    def _interrupted(self, team: Repository, other: Repository) -> None:
        self._plan(team, other, *self.draw.choice(((), (other.uid,))))
        looks = iter([None] * self.draw.randint(0, 6))
        apply = self.new_apply()
        apply.interrupted = lambda: next(looks, 15)
        self._apply_saved(team, other, apply)

    def _resume(self, team: Repository, other: Repository) -> None:
        del other
        apply = self.new_apply()
        apply.project = team.project
        apply.resume(team.uid)

    def _release(self, team: Repository, other: Repository) -> None:
        to = self.draw.choice((other.uid, other.uid, f"{self.prefix}somebody"))
        self._write_release(team, to)

    def _withdraw(self, team: Repository, other: Repository) -> None:
        del other
        self._write_release(team, None)

    def _write_release(self, team: Repository, to: str | None) -> None:
        apply = self.new_apply()
        context = ApplyContext(
            cluster=self.cluster,
            settings=apply.settings,
            clock=apply.clock,
            on_event=lambda _: None,
            interrupted=lambda: None,
        )
        write_release(context, team.project, to, holder=HOLDER)

    # Laws

    def _state(self) -> ClusterState:
        return self.cluster.read_state()

    def _compare(self, team: Repository, before: ClusterState, after: ClusterState) -> None:
        owned_before, owned_after = _owned(before), _owned(after)
        for address, owner in owned_before.items():
            if not address.startswith(f"topic/{self.prefix}") or owner.project == team.uid:
                continue
            now = owned_after.get(address)
            name = address.removeprefix("topic/")
            # Whatever this project did, the other's topic is as it was.
            assert before.topics.get(name) == after.topics.get(name), self.steps
            assert now is not None, self.steps
            if now.project == owner.project:
                assert now == owner, self.steps
                continue
            assert now.project == team.uid, self.steps
            assert now.last_applied == owner.last_applied, self.steps
            assert self._agreed(owner, team, before, address), (address, self.steps)
            self.taken += 1

    def _agreed(self, owner: Owner, team: Repository, before: ClusterState, address: str) -> bool:
        """Whether a plan of this project takes it over, with a release or with its permission."""
        registry = before.registry
        assert registry is not None
        latest = [plan for plan in self.runs.values() if plan.desired.identity == team.uid]
        plans = [
            plan
            for plan in latest
            if any(
                change.address == address and change.owner_before == owner
                for change in plan.changes
            )
            and any(owner.project in takeover.identities for takeover in plan.takeovers)
        ]
        released = registry.releases.get(owner.project) == team.uid
        remembered = owner.project in registry.formerly.get(team.uid, ())
        return any(released or remembered or owner.project in plan.allow_takeover for plan in plans)


def _owned(state: ClusterState) -> Mapping[str, Owner]:
    owners = state.registry.owners if state.registry else {}
    return {address: owner for address, owner in owners.items() if not owner.spent}
