"""Groups and client metrics: what an apply does, and what it refuses in forged plans."""

from collections.abc import Callable, Iterable, Mapping
from uuid import uuid4

import pytest
from apply.faults import FakeClock, FaultyCluster
from apply.plans import Apply, open_cluster, sealed_now
from builders import a_consumer_group, a_desired, a_tombstone, a_topic, plan_of, some_client_metrics
from msgspec.structs import replace
from used import configs_of, groups_of

from kgitops.cluster.embedded.adapter import EmbeddedCluster
from kgitops.cluster.port import Cluster
from kgitops.desired.state import DesiredState
from kgitops.model import requests as req
from kgitops.model.errors import KgitopsError, StaleError, UnreachableError
from kgitops.model.json.declared import DeletionPolicy, OffsetReset
from kgitops.model.resources.config_resources import ConfigResourceType
from kgitops.model.resources.groups import FoundGroup, TopicOffsets
from kgitops.model.verdict import ExitCode, Verdict
from kgitops.plan.document.plan import Change, FieldChange, Plan
from kgitops.workflow.reading import with_declared_objects

SESSION = "consumer.session.timeout.ms"
TOPICS = (a_topic("orders", partitions=2), a_topic("other", partitions=1))
RESET = OffsetReset(version="1", offsets={"orders": {0: 2}})
GROUP = a_consumer_group(configs={SESSION: "50000"}, reset=RESET)
METRICS = some_client_metrics()
THEIRS = a_consumer_group("theirs", deletion_policy=DeletionPolicy.DELETE)
Forge = Callable[[Change], Change]


@pytest.fixture
def cluster() -> EmbeddedCluster:
    """Topics with records, a group that has committed, and another project's group."""
    made = open_cluster()
    assert apply(made, a_desired(*TOPICS)) is ExitCode.SUCCESS
    for name in ("orders", "other"):
        made.produce(name, 0, records=10, bytes_each=1)
    for group in ("billing", "theirs", "nobody"):
        made.commit(group, {("orders", 0): 7, ("orders", 1): 0})
    assert (
        apply(made, a_desired(THEIRS, project="theirs", uid="22222222-theirs")) is ExitCode.SUCCESS
    )
    return made


def planned(cluster: Cluster, desired: DesiredState) -> Plan:
    state = with_declared_objects(cluster, desired, cluster.read_state())
    return plan_of(desired, state)


def run(cluster: Cluster, plan: Plan) -> ExitCode:
    """The exit of an apply of the plan, sealed with a nonce of its own."""
    return result_of(cluster, plan).exit


def result_of(cluster: Cluster, plan: Plan) -> Verdict:
    nonce = uuid4().hex
    sealed = sealed_now(plan, FakeClock(), nonce)
    return Apply(cluster=cluster).plan(sealed, f"run-{nonce}").verdict


def apply(cluster: Cluster, desired: DesiredState) -> ExitCode:
    """The exit of an apply of what is declared now."""
    return run(cluster, planned(cluster, desired))


def found(cluster: Cluster, name: str = "billing") -> FoundGroup | None:
    return groups_of(cluster, frozenset({name})).get(name)


def everything() -> DesiredState:
    return a_desired(*TOPICS, GROUP, METRICS)


def test_all_of_it_is_applied_and_then_nothing_is_left_to_do(cluster: EmbeddedCluster) -> None:
    assert apply(cluster, everything()) is ExitCode.SUCCESS
    offsets = {("orders", 0): 2, ("orders", 1): 0}
    configs = {SESSION: "50000"}
    assert found(cluster) == FoundGroup(
        name="billing", known=True, offsets=offsets, configs=configs
    )
    cluster.commit("billing", {("orders", 0): 9})
    assert not planned(cluster, everything()).changes
    drop = (a_tombstone(GROUP), a_tombstone(METRICS, name="drop-metrics"))
    assert apply(cluster, a_desired(*TOPICS, *drop)) is ExitCode.SUCCESS
    assert found(cluster) is None
    assert configs_of(cluster, ConfigResourceType.CLIENT_METRICS, frozenset({"lag"})) == {}


def test_a_group_that_got_members_makes_the_plan_stale(cluster: EmbeddedCluster) -> None:
    plan, faulty = planned(cluster, everything()), FaultyCluster(cluster)
    cluster.faults.busy_groups = frozenset({"billing"})
    with pytest.raises(StaleError, match="active was 'false' and is 'true'"):
        run(faulty, plan)
    assert faulty.sent == []


def test_a_group_that_gets_members_at_the_last_moment_is_refused(
    cluster: EmbeddedCluster,
) -> None:
    def join(requests: Iterable[req.Request]) -> None:
        if any(isinstance(it, req.AlterConsumerGroupOffsetsRequest) for it in requests):
            cluster.faults.busy_groups = frozenset({"billing"})

    faulty = FaultyCluster(cluster, before_send=join)
    verdict = result_of(faulty, planned(cluster, everything()))
    assert verdict.exit is ExitCode.PARTIAL
    assert "NON_EMPTY_GROUP" in "; ".join(it.sentence for it in verdict.reasons)
    held = found(cluster)
    assert held is not None
    assert (held.offsets[("orders", 0)], held.configs) == (7, {})


@pytest.mark.parametrize("api", ["AlterConsumerGroupOffsets", "AlterConfigResource"])
def test_a_lost_answer_is_found_out_by_looking(cluster: EmbeddedCluster, api: str) -> None:
    lost: list[str] = []

    def lose(requests: Iterable[req.Request]) -> None:
        apis = {req.api_name(it) for it in requests}
        if api in apis and not lost:
            lost.append(api)
            raise UnreachableError("no answer")

    faulty = FaultyCluster(cluster, after_send=lose)
    assert apply(faulty, everything()) is ExitCode.SUCCESS
    assert lost
    assert not planned(cluster, everything()).changes


def test_a_lost_answer_to_a_deletion_is_found_out_by_looking(cluster: EmbeddedCluster) -> None:
    assert apply(cluster, everything()) is ExitCode.SUCCESS
    lost: list[bool] = []

    def lose(requests: Iterable[req.Request]) -> None:
        if any(isinstance(it, req.DeleteConsumerGroupRequest) for it in requests) and not lost:
            lost.append(True)
            raise UnreachableError("no answer")

    faulty = FaultyCluster(cluster, after_send=lose)
    drop = a_desired(*TOPICS, METRICS, a_tombstone(GROUP))
    assert apply(faulty, drop) is ExitCode.SUCCESS
    assert lost
    assert found(cluster) is None


def commits(*items: tuple[str, Mapping[int, int]], group: str = "billing") -> Forge:
    """Commits other offsets than planned, in the request alone."""

    def forge(change: Change) -> Change:
        first, *rest = change.requests
        topics = tuple(
            TopicOffsets(topic=name, topic_id=_IDS[name], offsets=offsets)
            for name, offsets in items
        )
        request = req.AlterConsumerGroupOffsetsRequest(group=group, topics=topics)
        return replace(change, requests=(replace(first, request=request), *rest))

    return forge


def shows(**offsets: str) -> Forge:
    """Names other offsets in the change's fields."""

    def forge(change: Change) -> Change:
        kept = [it for it in change.fields if not it.path.startswith("offsets.")]
        new = [
            FieldChange(path=f"offsets.{path.replace('_', '.')}", before=None, after=offset)
            for path, offset in offsets.items()
        ]
        return replace(change, fields=(*kept, *new))

    return forge


def sets(**configs: str | None) -> Forge:
    """Sets other configs than declared."""

    def forge(change: Change) -> Change:
        first, second = change.requests
        request = req.AlterConfigResourceRequest(
            resource_type=ConfigResourceType.GROUP,
            resource_name="billing",
            configs={key.replace("_", "."): value for key, value in configs.items()},
        )
        return replace(change, requests=(first, replace(second, request=request)))

    return forge


def sends(request: req.Request) -> Forge:
    """Sends something else instead of the first request."""

    def forge(change: Change) -> Change:
        first, *rest = change.requests
        return replace(change, requests=(replace(first, request=request), *rest))

    return forge


def both(*forgeries: Forge) -> Forge:
    def forge(change: Change) -> Change:
        for one in forgeries:
            change = one(change)
        return change

    return forge


_IDS: dict[str, str] = {}


@pytest.mark.parametrize(
    "forge",
    [
        commits(("orders", {0: 3})),
        shows(orders_0="3"),
        both(commits(("orders", {0: 3})), shows(orders_0="3")),
        both(commits(("orders", {0: 2, 1: 1})), shows(orders_0="2", orders_1="1")),
        both(commits(("other", {0: 1})), shows(other_0="1")),
        commits(("orders", {0: 2}), group="theirs"),
        sends(req.DeleteConsumerGroupRequest(group="billing")),
        sends(req.DeleteConsumerGroupRequest(group="theirs")),
        sets(consumer_session_timeout_ms="60000"),
        sets(consumer_session_timeout_ms="50000", consumer_heartbeat_interval_ms="6000"),
        sets(consumer_session_timeout_ms=None),
        sets(),
        lambda change: replace(change, requests=change.requests[1:]),
        lambda change: replace(change, requests=change.requests[:1]),
    ],
    ids=[
        "another offset than it shows",
        "shows another offset than it commits",
        "another offset than declared",
        "one partition more",
        "another topic",
        "another group",
        "deletes the group",
        "deletes another group",
        "another value",
        "one config more",
        "removes a config",
        "sets nothing",
        "without the reset",
        "without the configs",
    ],
)
def test_a_forged_change_of_a_group_is_refused(cluster: EmbeddedCluster, forge: Forge) -> None:
    topics = cluster.read_state().topics
    _IDS.update({name: topics[name].topic_id or "" for name in topics})
    plan = planned(cluster, everything())
    changes = tuple(forge(it) if it.address == GROUP.address else it for it in plan.changes)
    before = groups_of(cluster, frozenset({"billing", "theirs"}))
    faulty = FaultyCluster(cluster)
    with pytest.raises(KgitopsError) as refused:
        run(faulty, replace(plan, changes=changes))
    assert refused.value.exit in (ExitCode.UNTRUSTED, ExitCode.STALE, ExitCode.REFUSED)
    assert "already applied" not in str(refused.value)
    assert faulty.sent == []
    assert groups_of(cluster, frozenset({"billing", "theirs"})) == before


def test_a_reset_that_was_made_is_not_made_again_by_a_forged_plan(
    cluster: EmbeddedCluster,
) -> None:
    plan = planned(cluster, everything())
    assert apply(cluster, everything()) is ExitCode.SUCCESS
    again = replace(GROUP, configs={})
    change = next(
        it for it in planned(cluster, a_desired(*TOPICS, again)).changes if "group/" in it.address
    )
    old = next(it for it in plan.changes if it.address == GROUP.address)
    offsets = tuple(it for it in old.fields if it.path.startswith("offsets."))
    (removal,) = change.requests
    reset = replace(removal, id=f"{removal.id}0", request=old.requests[0].request)
    forged = replace(change, requests=(removal, reset), fields=(*change.fields, *offsets))
    honest = planned(cluster, a_desired(*TOPICS, again))
    faulty = FaultyCluster(cluster)
    with pytest.raises(KgitopsError, match="requests that do not follow"):
        run(faulty, replace(honest, changes=(forged,)))
    assert faulty.sent == []


def test_a_group_of_nobody_is_not_deleted_by_a_forged_plan(cluster: EmbeddedCluster) -> None:
    assert apply(cluster, everything()) is ExitCode.SUCCESS
    plan = planned(cluster, a_desired(*TOPICS, METRICS, a_tombstone(GROUP)))
    (change,) = plan.changes
    for name in ("nobody", "theirs"):
        address = f"group/{name}"
        expects = replace(change.preconditions[0], object=address, owner=None, fields={})
        deletion = replace(
            change.requests[0],
            request=req.DeleteConsumerGroupRequest(group=name),
            expects=expects,
        )
        forged = replace(
            change,
            address=address,
            preconditions=(expects,),
            requests=(deletion,),
            owner_before=None,
            owner_after=None,
        )
        faulty = FaultyCluster(cluster)
        with pytest.raises(KgitopsError) as refused:
            run(faulty, replace(plan, changes=(forged,)))
        assert refused.value.exit in (ExitCode.REFUSED, ExitCode.UNTRUSTED, ExitCode.STALE)
        assert "already applied" not in str(refused.value)
        assert faulty.sent == []
        assert found(cluster, name) is not None
