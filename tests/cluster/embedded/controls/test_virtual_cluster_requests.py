"""The port's requests about virtual clusters: what the embedded cluster makes of them."""

import re
import uuid
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import pytest
from cluster.clusters import (
    BOTH,
    NOON,
    ROOT,
    a_cluster,
    a_cluster_with,
    a_grant,
    a_guarded_cluster,
    a_new_topic,
    admin,
    cluster_grant,
    codes,
    topic_grant,
)
from msgspec.structs import replace
from virtual_clusters.vc_requests import A, B, add, create, delete, link, remove

from kgitops.cluster.embedded.adapter import EmbeddedCluster
from kgitops.cluster.embedded.boot import boot
from kgitops.cluster.embedded.client.virtual_clusters import NewVirtualCluster
from kgitops.cluster.embedded.options import ClockAndIds, Options, random_id, uuid_text
from kgitops.cluster.port import Author
from kgitops.model import requests as req
from kgitops.model.cluster_state import Validator, VirtualClusterSupport
from kgitops.model.resources.acls import AclBinding, Operation, ResourceType
from kgitops.model.resources.names import REGISTRY_TOPIC
from kgitops.model.resources.topics import RequestedTopicState
from kgitops.model.resources.virtual_clusters import (
    CapLowering,
    EntityType,
    LocalName,
    LoweringOptions,
)
from kgitops.model.results import ErrorCode, RequestResult

USER, CLIENT, GROUP = EntityType.USER, EntityType.CLIENT_ID, EntityType.GROUP
TOPIC, TXN = EntityType.TOPIC, EntityType.TRANSACTIONAL_ID
OK, REFUSED = ErrorCode.NONE, ErrorCode.CLUSTER_AUTHORIZATION_FAILED
ORDERS = LocalName(A, "Orders")


def ask(
    cluster: EmbeddedCluster, *requests: req.Request, validate_only: bool = False
) -> list[RequestResult]:
    return list(cluster.execute(requests, validate_only=validate_only, principal="User:me"))


def done(cluster: EmbeddedCluster, *requests: req.Request) -> EmbeddedCluster:
    for request in requests:
        (result,) = ask(cluster, request)
        assert result.ok, result
    return cluster


def with_virtual_clusters(*topics: str, path: Path | None = None) -> EmbeddedCluster:
    """Both virtual clusters, and these topics outside."""
    cluster = a_cluster(path)
    for name in topics:
        assert admin(cluster).create_topics([a_new_topic(name)])[name].ok
    return done(cluster, create(A), create(B))


def a_local_topic(local: LocalName = ORDERS, **configs: str) -> req.CreateTopicRequest:
    """A topic to be made in a virtual cluster, as a plan asks for it."""
    name = f"{req.NEW_UUID}.{local.name}"
    state = RequestedTopicState(
        name=name, topic_id=None, assignment=((1, 2), (2, 3)), configs=configs
    )
    return req.CreateTopicRequest(topic=name, requested_state=state, local=local)


def log_length(cluster: EmbeddedCluster) -> int:
    return sum(1 for _ in cluster.controller._store.history())


def test_a_new_cluster_has_no_virtual_clusters():
    """VC-109, VC-345: and nothing about them."""
    state = a_cluster_with("orders").read_state()
    assert (state.virtual_clusters, state.lowered, state.settings) == ({}, None, {})


def test_it_has_them_natively():
    capabilities = a_cluster().capabilities
    assert capabilities.virtual_clusters is VirtualClusterSupport.NATIVE
    for api in ("CreateVirtualCluster", "AlterVirtualCluster", "DeleteVirtualCluster"):
        assert capabilities.validation[api] is Validator.BROKER
    for api in ("CopyGroupOffsets", "DeleteGroup"):
        assert capabilities.validation[api] is Validator.NOT_SUPPORTED


@pytest.mark.parametrize(
    "requests",
    [
        [create("new")],
        [create("new"), create("new")],
        [add(USER, "User:x"), remove(USER, "User:x")],
        [link("l", "orders"), link("l", "none")],
        [delete(B), delete(B)],
        [add(USER, "User:kafka")],
        [a_local_topic(), a_local_topic()],
        [a_local_topic(), a_local_topic(LocalName(B, "Orders")), delete(A), delete(B)],
        [a_local_topic(LocalName("none", "x"))],
        [a_local_topic(LocalName(A, "x" * 213))],
    ],
)
def test_validating_says_what_happens_and_changes_nothing(
    requests: Sequence[req.Request], tmp_path: Path
):
    """VC-215, VC-241, VC-064: later requests of a batch see what earlier ones would do."""
    with closing(with_virtual_clusters("orders", path=tmp_path / "local.db")) as cluster:
        before = cluster.controller.image(), log_length(cluster)
        judged = ask(cluster, *requests, validate_only=True)
        assert (cluster.controller.image(), log_length(cluster)) == before
        minted = re.compile(r"[0-9a-f-]{36}\.|<uuid:new of [^>]*>\.")
        for result, again in zip(judged, ask(cluster, *requests), strict=True):
            told, told_again = (
                one.message and minted.sub(f"{req.NEW_UUID}.", one.message)
                for one in (result, again)
            )
            assert (result.code, told) == (again.code, told_again)
            assert result.topic_id is None


def test_a_topic_is_made_together_with_its_link():
    """VC-056, VC-057, VC-059, VC-060: named after its own id, in RFC 4122's lower case."""
    cluster = with_virtual_clusters()
    (result,) = ask(cluster, a_local_topic(**{"retention.ms": "7"}))
    state = cluster.read_state()
    (topic,) = state.topics.values()
    assert re.fullmatch(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\.Orders", topic.name)
    minted = uuid.UUID(topic.name[:36])
    assert (minted.version, minted.variant) == (4, uuid.RFC_4122)
    assert uuid_text(minted) == topic.topic_id == result.topic_id
    assert dict(topic.configs) == {"retention.ms": "7"}
    made = state.virtual_clusters[A].links["Orders"]
    assert (made.topic, made.topic_id) == (topic.name, topic.topic_id)


def test_topic_and_link_are_one_batch():
    """VC-321."""
    cluster = with_virtual_clusters()
    before = log_length(cluster)
    done(cluster, a_local_topic())
    assert log_length(cluster) == before + 1


def test_a_name_is_taken_only_where_it_is():
    """VC-061: by a link, not by a global topic or another virtual cluster's."""
    cluster = with_virtual_clusters("Orders")
    done(cluster, a_local_topic(LocalName(B, "Orders")), a_local_topic())
    before = cluster.controller.image()
    (result,) = ask(cluster, a_local_topic())
    assert result.code is ErrorCode.TOPIC_ALREADY_EXISTS
    assert (result.message or "").startswith("LINK_ALREADY_EXISTS: the link Orders of ")
    assert cluster.controller.image() is before


def test_names_that_would_collide_outside_do_not_in_virtual_clusters():
    """VC-044: their physical names never do; outside they do."""
    cluster = with_virtual_clusters("a.b")
    done(cluster, a_local_topic(LocalName(A, "a.b")), a_local_topic(LocalName(A, "a_b")))
    assert codes(admin(cluster).create_topics([a_new_topic("a_b")])) == {
        "a_b": ErrorCode.INVALID_TOPIC_EXCEPTION
    }


def test_a_topic_needs_a_virtual_cluster_and_a_legal_name():
    cluster = with_virtual_clusters()
    for local, code in (
        (LocalName("none", "x"), ErrorCode.RESOURCE_NOT_FOUND),
        (LocalName("kafka-cluster", "x"), ErrorCode.INVALID_REQUEST),
        (LocalName(A, "a b"), ErrorCode.INVALID_TOPIC_EXCEPTION),
        (LocalName(A, REGISTRY_TOPIC), ErrorCode.INVALID_REQUEST),
    ):
        (result,) = ask(cluster, a_local_topic(local))
        assert result.code is code, local
    assert not cluster.read_state().topics


def test_nothing_is_minted_for_what_is_only_validated():
    """VC-064."""
    minted: list[uuid.UUID] = []

    def mint() -> uuid.UUID:
        minted.append(uuid.uuid4())
        return minted[-1]

    cluster = boot(
        None, clock_and_ids=ClockAndIds(now=lambda: NOON, new_id=random_id, new_uuid=mint)
    )
    done(cluster, create(A))
    assert ask(cluster, a_local_topic(), validate_only=True)[0].ok
    assert not minted
    done(cluster, a_local_topic())
    assert [f"{item}.Orders" for item in minted] == list(cluster.read_state().topics)


@pytest.mark.parametrize(
    ("right", "code"),
    [
        (a_grant(Operation.CREATE, ResourceType.CLUSTER, A, "User:me"), OK),
        (cluster_grant(Operation.CREATE, "User:me"), OK),
        (a_grant(Operation.CREATE, ResourceType.CLUSTER, B, "User:me"), REFUSED),
        (topic_grant(Operation.CREATE, "Orders", "User:me"), REFUSED),
    ],
    ids=["there", "everywhere", "elsewhere", "on-the-name"],
)
def test_an_administrator_outside_makes_topics_in_a_virtual_cluster(
    right: AclBinding, code: ErrorCode
):
    """VC-062: with Create on it, or on the whole cluster."""
    for compat in BOTH:
        cluster = a_guarded_cluster(compat, right)
        admin(cluster, ROOT).create_virtual_clusters([NewVirtualCluster(name=A)])
        (result,) = ask(cluster, a_local_topic())
        assert result.code is code, compat
        assert len(cluster.read_state().topics) == 1 + result.ok


def test_what_was_written_is_read_by_everyone_at_once(tmp_path: Path):
    """VC-242: also by who opened the store before."""
    path = tmp_path / "local.db"
    with closing(a_cluster(path)) as reader, closing(boot(path)) as writer:
        assert not reader.read_state().virtual_clusters
        done(writer, create(A), add(USER, "User:x"))
        assert reader.read_state().virtual_clusters[A].users == {"User:x"}
        (result,) = ask(reader, create(A))
        assert result.code is ErrorCode.INVALID_REQUEST


def test_what_is_unlinked_stays_and_a_new_one_is_another():
    """VC-032, VC-067: two generations, two topics, and the data of the first is still there."""
    cluster = done(with_virtual_clusters(), a_local_topic())
    (first,) = cluster.read_state().topics
    cluster.produce(first, 0, records=5, bytes_each=1)
    done(cluster, remove(TOPIC, "Orders"), a_local_topic())
    state = cluster.read_state()
    (second,) = state.topics.keys() - {first}
    assert state.virtual_clusters[A].links["Orders"].topic == second
    usage = cluster.read_usage(frozenset({first, second})).topics
    assert (usage[first].high_watermarks, usage[second].high_watermarks) == ((5, 0), (0, 0))


def test_a_linked_topic_is_not_deleted():
    """VC-033: by id, by name, and it says by which links; without links it goes."""
    cluster = done(with_virtual_clusters("orders"), link("a", "orders"), link("b", "orders", B))
    topic_id = cluster.read_state().topics["orders"].topic_id
    assert topic_id is not None
    deletion = req.DeleteTopicRequest(topic="orders", topic_id=topic_id)
    (result,) = ask(cluster, deletion)
    assert result.code is ErrorCode.INVALID_REQUEST
    assert f"TOPIC_HAS_LINKS: the topic orders is linked to as {B}/b, {A}/a" in str(result)
    assert not admin(cluster).delete_topics(["orders"])["orders"].ok
    done(cluster, remove(TOPIC, "a"), remove(TOPIC, "b", B), deletion)
    assert not cluster.read_state().topics


def test_links_change_nothing_of_a_topic():
    """VC-008, VC-069: neither its name, its id nor what it holds."""
    cluster = with_virtual_clusters("orders")
    cluster.produce("orders", 1, records=3, bytes_each=1)
    before = cluster.read_state().topics, cluster.read_usage(frozenset({"orders"}))
    done(cluster, link("new", "orders"), link("newer", "orders"), remove(TOPIC, "new"))
    assert (cluster.read_state().topics, cluster.read_usage(frozenset({"orders"}))) == before


def test_a_topic_that_is_going_can_no_longer_be_linked():
    cluster = with_virtual_clusters("orders")
    cluster.faults.hold_deletions = True
    admin(cluster).delete_topics(["orders"], timeout_ms=0)
    assert cluster.read_state().topics["orders"].marked_for_deletion
    (result,) = ask(cluster, link("l", "orders"))
    assert result.code is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


@pytest.mark.parametrize("principal", ["User:root", "User:kafka", "User:ANONYMOUS", "User:*"])
def test_who_runs_the_cluster_is_not_bound(principal: str):
    """VC-092, VC-093: super users, the brokers themselves, nobody and everybody."""
    (result,) = ask(with_virtual_clusters(), add(USER, principal))
    assert result.code is ErrorCode.INVALID_REQUEST
    assert "RESERVED_NAME" in (result.message or "")


def test_a_move_is_one_batch():
    """VC-086, VC-321: who reads between sees either one or the other."""
    cluster = done(with_virtual_clusters(), add(USER, "User:x"))
    before = log_length(cluster)
    done(cluster, add(USER, "User:x", B, moved_from=A))
    assert log_length(cluster) == before + 1
    assert cluster.controller.image().virtual_clusters.users == {"User:x": B}


def test_the_store_remembers_everything(tmp_path: Path):
    """VC-316, VC-319: the log alone and a snapshot alone both bring back all decisions."""
    path = tmp_path / "local.db"
    with closing(with_virtual_clusters("orders", path=path)) as cluster:
        options = LoweringOptions(cap_lowering=CapLowering.DIVIDE)
        done(
            cluster,
            a_local_topic(),
            link("l", "orders", B),
            add(USER, "User:x"),
            add(CLIENT, "c", B),
            add(GROUP, "g", adopts="old"),
            add(TXN, "t"),
            req.AlterVirtualClusterRequest(virtual_cluster=B, options=options),
        )
        cluster.commit("old", {("orders", 1): 9})
        done(cluster, req.CopyGroupOffsetsRequest(virtual_cluster=A, group="g", source="old"))
        state, image = cluster.read_state(), cluster.controller.image()
        cluster.controller._store.connection.execute("DELETE FROM snapshot")
    with closing(boot(path, clock_and_ids=cluster.controller.clock_and_ids)) as replayed:
        assert replayed.controller.image() == image
        assert replayed.read_state() == state
        store = replayed.controller._store
        assert store.connection.execute("SELECT count(*) FROM snapshot").fetchone() == (0,)
        store._append_snapshot(image, replayed.controller._position.offset)
        store.connection.execute("DELETE FROM log")
    with closing(boot(path, clock_and_ids=cluster.controller.clock_and_ids)) as again:
        assert again.controller.image() == image
        assert again.read_state() == state


def test_who_changed_what_is_known():
    """Drift names the author, in the addresses that documents have."""
    cluster = done(with_virtual_clusters("orders"), a_local_topic(), link("l", "orders"))
    done(cluster, add(USER, "User:x"), add(USER, "User:x", B, moved_from=A))
    authors = cluster.read_authors()
    me = Author("User:me", int(NOON.timestamp() * 1000))
    for address in (
        f"vc/{A}",
        f"vc/{A}/topic/Orders",
        f"vc/{A}/link/Orders",
        f"vc/{A}/link/l",
        f"vc/{A}/user/User:x",
        f"vc/{B}/user/User:x",
    ):
        assert authors[address, ""] == me
    assert not any("%3Cuuid" in address or "-4" in address for address, _ in authors)


COPY = req.CopyGroupOffsetsRequest(virtual_cluster=A, group="etl", source="old")
WHERE = {("orders", 0): 4, ("orders", 1): 6}


def with_a_group() -> EmbeddedCluster:
    cluster = done(with_virtual_clusters("orders"), add(GROUP, "etl", adopts="old"))
    cluster.produce("orders", 0, records=10, bytes_each=1)
    cluster.commit("old", WHERE)
    return cluster


def offsets(cluster: EmbeddedCluster) -> dict[str, object]:
    return dict(cluster.read_group_offsets(frozenset({"old", f"{A}:etl", "none"})))


def test_a_group_goes_on_where_the_old_one_was():
    """VC-114: the old one is not touched, and a second time is none."""
    cluster = with_a_group()
    done(cluster, COPY)
    assert offsets(cluster) == {"old": WHERE, f"{A}:etl": WHERE}
    before = cluster.controller.image()
    cluster.commit("old", {("orders", 0): 5})
    done(cluster, COPY)
    assert offsets(cluster)[f"{A}:etl"] == WHERE
    assert cluster.controller.image().groups.groups[f"{A}:etl"] is before.groups.groups[f"{A}:etl"]


def test_what_is_never_copied():
    """VC-114: to a group that is read with, or for one that did not take that group over."""
    cluster = with_a_group()
    cluster.faults.busy_groups = frozenset({f"{A}:etl"})
    (result,) = ask(cluster, COPY)
    assert result.code is ErrorCode.NON_EMPTY_GROUP
    assert "has members; stop them first" in (result.message or "")
    cluster.faults.busy_groups = frozenset()
    for wrong in (
        replace(COPY, source="another"),
        replace(COPY, group="another"),
        replace(COPY, virtual_cluster=B),
        replace(COPY, virtual_cluster="none"),
    ):
        assert ask(cluster, wrong)[0].code is ErrorCode.RESOURCE_NOT_FOUND
    assert offsets(cluster) == {"old": WHERE}


def test_one_of_another_name_goes_on_by_taking_the_group_over():
    """VC-009: there is no renaming; else its group would begin anew."""
    cluster = done(with_a_group(), COPY, remove(GROUP, "etl"), delete(A), create("renamed"))
    done(cluster, add(GROUP, "etl", "renamed"))
    assert not cluster.read_group_offsets(frozenset({"renamed:etl"}))
    done(cluster, remove(GROUP, "etl", "renamed"))
    done(cluster, add(GROUP, "etl", "renamed", adopts=f"{A}:etl"))
    done(cluster, replace(COPY, virtual_cluster="renamed", source=f"{A}:etl"))
    assert cluster.read_group_offsets(frozenset({"renamed:etl"})) == {"renamed:etl": WHERE}


def test_with_nothing_to_copy_nothing_is_done():
    cluster = done(with_virtual_clusters("orders"), add(GROUP, "etl", adopts="old"), COPY)
    assert not offsets(cluster)


def test_offsets_belong_to_physical_topics():
    """VC-045: links come and go, what was committed stays; with the topic it goes."""
    cluster = done(with_a_group(), COPY, link("l", "orders"), link("m", "orders"))
    done(cluster, remove(TOPIC, "l"))
    assert offsets(cluster)[f"{A}:etl"] == WHERE
    done(cluster, remove(TOPIC, "m"))
    assert admin(cluster).delete_topics(["orders"])["orders"].ok
    assert not offsets(cluster)


def test_a_group_leaves_its_offsets_where_they_are():
    """VC-119: only deleting the group deletes them, and only without members."""
    cluster = done(with_a_group(), COPY, remove(GROUP, "etl"))
    assert offsets(cluster)[f"{A}:etl"] == WHERE
    deletion = req.DeleteGroupRequest(virtual_cluster=A, group="etl")
    cluster.faults.busy_groups = frozenset({f"{A}:etl"})
    assert ask(cluster, deletion)[0].code is ErrorCode.NON_EMPTY_GROUP
    cluster.faults.busy_groups = frozenset()
    done(cluster, deletion)
    assert offsets(cluster) == {"old": WHERE}
    assert ask(cluster, deletion)[0].code is ErrorCode.GROUP_ID_NOT_FOUND


def test_a_foreign_group_of_such_a_name_is_not_taken():
    """VC-117: it was there before, outside."""
    cluster = with_virtual_clusters("orders")
    cluster.commit(f"{A}:etl", WHERE)
    (result,) = ask(cluster, add(GROUP, "etl"))
    assert result.code is ErrorCode.INVALID_REQUEST
    assert "GROUP_NAME_COLLISION" in (result.message or "")


OFF = Options(virtual_clusters=False)


@pytest.mark.parametrize(
    "request_",
    [create(), delete(), add(USER, "User:x"), link("l", "orders"), a_local_topic()],
    ids=["create", "delete", "add", "link", "topic"],
)
def test_a_cluster_without_the_feature(request_: req.Request):
    """VC-351, VC-352: no half of it works."""
    with closing(boot(None, options=OFF)) as cluster:
        assert cluster.capabilities.virtual_clusters is VirtualClusterSupport.NONE
        assert not cluster.capabilities.supports("CreateVirtualCluster")
        (result,) = ask(cluster, request_)
        assert result.code is ErrorCode.UNSUPPORTED_VERSION
        assert "virtual.clusters" in (result.message or "")
        assert not cluster.read_state().topics


def test_groups_can_be_copied_and_deleted_without_the_feature():
    """As on today's Kafka, where a group of a virtual cluster is one with a prefix."""
    with closing(boot(None, options=OFF)) as cluster:
        assert admin(cluster).create_topics([a_new_topic("orders")])["orders"].ok
        cluster.commit("old", WHERE)
        done(cluster, COPY)
        assert offsets(cluster) == {"old": WHERE, f"{A}:etl": WHERE}
        done(cluster, req.DeleteGroupRequest(virtual_cluster=A, group="etl"))
        assert offsets(cluster) == {"old": WHERE}
