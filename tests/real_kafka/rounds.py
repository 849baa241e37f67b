"""A project that changes something of everything, round after round, on a real cluster."""

import secrets

from apply.plans import DELETE, Apply, sealed_now
from builders import UID, a_binding, a_desired, a_quota, a_topic, an_acl, plan_of
from msgspec import Struct, field

from kgitops.apply.context import ApplySettings
from kgitops.apply.result import ApplyResult
from kgitops.cluster.port import Cluster
from kgitops.desired.state import DesiredState
from kgitops.model.clock import SystemClock
from kgitops.model.cluster_state import ClusterState
from kgitops.model.registry import RegistryState
from kgitops.model.verdict import ExitCode

RESUMES = 5


def desired(number: int) -> DesiredState:
    """What is wanted in a round.

    From one to the next a topic and an ACL come and go, a topic grows and has its configs changed,
    and a quota has another value.
    """
    return a_desired(
        a_topic(
            "orders",
            partitions=number + 1,
            replication_factor=3,
            configs={"retention.ms": str(60_000 + number)},
        ),
        a_topic(f"round-{number}", replication_factor=3, deletion_policy=DELETE),
        an_acl(a_binding(f"User:round-{number}")),
        a_quota(consumer_byte_rate=1024 + number),
    )


class Rounds(Struct, frozen=True, kw_only=True):
    """Applies rounds with the system's clock; what one leaves undone is resumed."""

    cluster: Cluster
    settings: ApplySettings = field(default_factory=ApplySettings)

    def apply(self, number: int) -> ApplyResult:
        """Plan and apply a round, once."""
        plan = plan_of(desired(number), self.cluster.read_state())
        sealed = sealed_now(plan, SystemClock(), secrets.token_hex(8))
        return self._apply().plan(sealed, f"run-{number}-{sealed.nonce}")

    def resume(self) -> ApplyResult | None:
        """Go on with what is unfinished, until nothing is."""
        result = None
        for _ in range(RESUMES):
            result = self._apply().resume(UID)
            if result is None or result.verdict.exit is ExitCode.SUCCESS:
                break
        return result

    def assert_done(self, number: int) -> None:
        """The cluster is as the round wants it, each object its own, and nothing else is there."""
        state = self.cluster.read_state()
        plan = plan_of(desired(number), state)
        assert [change.address for change in plan.changes] == []
        assert sorted(state.topics) == ["orders", f"round-{number}"]
        assert {binding.principal for binding in state.acls} == {f"User:round-{number}"}
        registry = state.registry
        assert registry is not None
        assert _ids(registry) == {name: topic.topic_id for name, topic in state.topics.items()}

    def ids(self) -> dict[str, str | None]:
        """The ids of the topics that are there."""
        return _topic_ids(self.cluster.read_state())

    def _apply(self) -> Apply:
        return Apply(cluster=self.cluster, settings=self.settings, clock=SystemClock())


def _ids(registry: RegistryState) -> dict[str, str | None]:
    owned = registry.owners.items()
    return {
        address.removeprefix("topic/"): owner.topic_id
        for address, owner in owned
        if address.startswith("topic/") and not owner.spent
    }


def _topic_ids(state: ClusterState) -> dict[str, str | None]:
    return {name: topic.topic_id for name, topic in state.topics.items()}
