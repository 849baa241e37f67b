"""When the embedded brokers open what judges, and how seldom they show it a whole cluster."""

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from cluster.clusters import a_grant, a_new_topic, admin
from cluster.policing import Recorder
from virtual_clusters.vc_requests import A, B, add, create, delete, link, remove

from kgitops.cluster.embedded.adapter import EmbeddedCluster
from kgitops.cluster.embedded.boot import boot
from kgitops.cluster.embedded.controls import virtual_clusters as virtual_cluster_control
from kgitops.cluster.embedded.controls.configs import AlterConfig, ConfigResource
from kgitops.cluster.embedded.controls.partitions import NewPartitions
from kgitops.cluster.embedded.controls.quotas import QuotaAlteration
from kgitops.cluster.embedded.controls.topics import NewTopic
from kgitops.cluster.embedded.options import Options
from kgitops.model.cluster_state import ClusterState
from kgitops.model.requests import NEW_UUID, CreateTopicRequest, Request
from kgitops.model.resources.acls import Operation
from kgitops.model.resources.topics import RequestedTopicState
from kgitops.model.resources.virtual_clusters import EntityType, LocalName
from kgitops.policy.evaluate.bundle import Bundle, Level, PythonPolicy
from kgitops.policy.evaluate.judge import InProcessEvaluator
from kgitops.policy.python_rule import PythonRule
from kgitops.virtual_clusters.records import VirtualClusterRecord

BUNDLE = Bundle(policies=(PythonPolicy(name="p", level=Level.HARD, digest="", class_="a:B"),))
ORDERS = ConfigResource(type="topic", name="orders")
BROKER = ConfigResource(type="broker", name="1")
ASKING = "User:ANONYMOUS"  # as the others here: another principal is shown the cluster anew


class Shown(InProcessEvaluator):
    """The real judge; it remembers what it was shown."""

    def __init__(self, recorder: Recorder) -> None:
        super().__init__([PythonRule("p", Level.HARD, recorder)])
        self.recorder = recorder
        self.states: list[ClusterState] = []
        self.principals: list[str] = []

    def begin(self, state: ClusterState, *, principal: str) -> None:
        super().begin(state, principal=principal)
        self.states.append(state)
        self.principals.append(principal)


def watched(
    opened: list[Shown], path: Path | None = None, **configs: str
) -> tuple[EmbeddedCluster, Recorder]:
    recorder = Recorder()

    def opening(bundle: Bundle) -> Shown:
        assert bundle.policies == BUNDLE.policies
        opened.append(Shown(recorder))
        return opened[-1]

    cluster = boot(
        path, options=Options(static_configs=configs), policies=BUNDLE, open_evaluator=opening
    )
    return cluster, recorder


def altered(cluster: EmbeddedCluster, key: str = "retention.ms", value: str = "5") -> None:
    changes = [(ORDERS, [AlterConfig(key=key, value=value)])]
    assert admin(cluster).incremental_alter_configs(changes)[ORDERS].ok


def test_what_only_reads_opens_nothing():
    """P108-01."""
    opened: list[Shown] = []
    cluster, _ = watched(opened)
    connection = admin(cluster)
    cluster.read_state()
    connection.metadata()
    connection.describe_configs([BROKER])
    assert connection.delete_topics(["none"])["none"].code == 17
    cluster.registry.append([("own/topic/a", {})])
    assert opened == []
    assert connection.create_topics([a_new_topic()])["orders"].ok
    altered(cluster)
    assert len(opened) == 1


def test_where_brokers_have_configs_the_start_opens_it():
    """P108-04, P201-86."""
    opened: list[Shown] = []
    _, recorder = watched(opened, **{"log.retention.ms": "5"})
    assert len(opened) == 1
    assert recorder.methods == ["alter broker"] * 3


def test_closing_closes_the_policies_once_and_only_what_was_opened():
    """P201-45, P108-05: also after an error."""
    opened: list[Shown] = []
    watched(opened)[0].close()
    assert opened == []
    cluster, recorder = watched(opened)
    admin(cluster).create_topics([a_new_topic()])
    with suppress(ZeroDivisionError):
        cluster.controller.decide(lambda _: 1 / 0)
    for _ in range(2):
        cluster.close()
    assert recorder.closed == 1


# What a judging was shown stays true for as long as the cluster is what it expects


def grown(cluster: EmbeddedCluster) -> None:
    item = NewPartitions(topic="orders", count=4)
    assert admin(cluster).create_partitions([item])["orders"].ok


def moved(cluster: EmbeddedCluster) -> None:
    key = "orders", 0
    assert admin(cluster).alter_partition_reassignments({key: [3, 2]})[key].ok


def created(cluster: EmbeddedCluster) -> None:
    assert admin(cluster).create_topics([a_new_topic("more")])["more"].ok


def deleted(cluster: EmbeddedCluster) -> None:
    assert admin(cluster).delete_topics(["gone"])["gone"].ok


def granted(cluster: EmbeddedCluster) -> None:
    binding = a_grant(Operation.READ)
    assert admin(cluster).create_acls([binding])[0].ok


def quota_set(cluster: EmbeddedCluster) -> None:
    quota = QuotaAlteration(entity=(("user", "a"),), operations=[("request_percentage", 5.0)])
    assert all(result.ok for result in admin(cluster).alter_client_quotas([quota]).values())


def refused(cluster: EmbeddedCluster) -> None:
    assert admin(cluster).create_topics([a_new_topic("a b")])["a b"].code == 17


def held_move(cluster: EmbeddedCluster) -> None:
    cluster.faults.hold_reassignments = True
    moved(cluster)


def held_deletion(cluster: EmbeddedCluster) -> None:
    cluster.faults.hold_deletions = True
    admin(cluster).delete_topics(["gone"], timeout_ms=0)


def dry(cluster: EmbeddedCluster) -> None:
    topic = a_new_topic("more")
    assert admin(cluster).create_topics([topic], validate_only=True)["more"].ok


def too_large(cluster: EmbeddedCluster) -> None:
    topics = [
        NewTopic(name=name, num_partitions=6_000, replication_factor=1) for name in ("x", "y")
    ]
    results = admin(cluster).create_topics(topics).values()
    assert [int(result.code) for result in results] == [44, 44]


def ask(cluster: EmbeddedCluster, *requests: Request) -> None:
    for request in requests:
        (result,) = cluster.execute([request], validate_only=False, principal=ASKING)
        assert result.ok, result


def divided(cluster: EmbeddedCluster) -> None:
    """Into virtual clusters, with a link, a move and a topic of their own."""
    name = f"{NEW_UUID}.mine"
    state = RequestedTopicState(name=name, topic_id=None, assignment=((1,),), configs={})
    ask(
        cluster,
        create(A),
        create(B),
        create("gone"),
        link("l", "orders"),
        link("m", "orders"),
        remove(EntityType.TOPIC, "m"),
        add(EntityType.USER, "User:x"),
        add(EntityType.USER, "User:x", B, moved_from=A),
        CreateTopicRequest(topic=name, requested_state=state, local=LocalName(B, "mine")),
        delete("gone"),
    )


def unasked(cluster: EmbeddedCluster) -> None:
    """Something else became true together with what was judged."""

    def decide(draft) -> None:
        virtual_cluster_control.create(draft, create(A))
        draft.write(VirtualClusterRecord(name=B))

    cluster.controller.decide(decide, principal=ASKING)


def broker_altered(cluster: EmbeddedCluster) -> None:
    changes = [(BROKER, [AlterConfig(key="leader.replication.throttled.rate", value="5")])]
    assert admin(cluster).incremental_alter_configs(changes)[BROKER].ok


def fenced(cluster: EmbeddedCluster) -> None:
    cluster.fence(3)


def produced(cluster: EmbeddedCluster) -> None:
    cluster.produce("orders", 0, records=1, bytes_each=1)


EXPECTED: list[Callable[[EmbeddedCluster], None]] = [
    altered, grown, moved, created, deleted, granted, quota_set, refused, divided,
]  # fmt: skip
UNEXPECTED: list[Callable[[EmbeddedCluster], None]] = [
    held_move, held_deletion, dry, too_large, broker_altered, fenced, produced, unasked,
]  # fmt: skip


def without_ids(found) -> object:
    """What is compared of a virtual cluster: links know their topic by name (VC-020)."""
    links = {name: link.topic for name, link in found.links.items()}
    return links, set(found.users), set(found.client_ids), dict(found.groups)


@pytest.mark.parametrize("change", EXPECTED + UNEXPECTED, ids=lambda change: change.__name__)
def test_every_policy_call_sees_the_cluster_as_it_is(change):
    """P201-35, P201-41: and it is only shown anew where it isn't what was to be expected."""
    opened: list[Shown] = []
    cluster, recorder = watched(opened)
    for name in ("orders", "gone"):
        assert admin(cluster).create_topics([a_new_topic(name)])[name].ok
    (judging,) = opened
    assert len(judging.states) == 1
    change(cluster)
    seen: list[object] = []

    def look(_, shown) -> None:
        names = shown.topics(include_internal=True, include_marked_for_deletion=True)
        clusters = shown.virtual_clusters()
        entity = (("user", "a"),)
        seen.append(
            (
                {name: shown.topic_state(name) for name in names},
                shown.acls(),
                dict(shown.quotas(entity)),
                shown.brokers(),
                dict(shown.default_configs()),
                {name: without_ids(shown.virtual_cluster(name)) for name in sorted(clusters)},
            )
        )

    there = cluster.read_state()
    recorder.says = look
    assert admin(cluster).create_topics([a_new_topic("last")], validate_only=True)["last"].ok
    ((topics, acls, quotas, brokers, _, clusters),) = seen
    assert clusters == {k: without_ids(v) for k, v in there.virtual_clusters.items()}
    assert (topics, acls, brokers) == (there.topics, there.acls, there.brokers)
    assert quotas == ({"request_percentage": 5.0} if change is quota_set else {})
    assert len(judging.states) == (1 if change in EXPECTED else 2)


def test_another_principal_is_judged_as_itself():
    """P201-50: on the same state, which is not made twice."""
    opened: list[Shown] = []
    cluster, recorder = watched(opened)
    for principal in ("User:a", "User:b", "User:a"):
        admin(cluster, principal).create_topics([a_new_topic()], validate_only=True)
    assert [str(request.principal) for request in recorder.requests] == [
        "User:a",
        "User:b",
        "User:a",
    ]
    assert opened[0].principals == ["User:a", "User:b", "User:a"]
    assert len({id(state) for state in opened[0].states}) == 1


def test_what_another_process_writes_is_seen(tmp_path: Path):
    """P201-35."""
    opened: list[Shown] = []
    cluster, recorder = watched(opened, tmp_path / "local.db")
    assert admin(cluster).create_topics([a_new_topic("a")])["a"].ok
    other = boot(tmp_path / "local.db")
    assert admin(other).create_topics([a_new_topic("b")])["b"].ok
    assert admin(cluster).create_topics([a_new_topic("c")])["c"].ok
    assert recorder.calls[-1].topics == {"a": 2, "b": 2}
