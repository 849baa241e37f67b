"""Virtual clusters, answered alike by brokers that know them and by kgitops in their place."""

from cluster_contract.contract import (
    await_state,
    can_judge,
    comparable,
    created,
    done,
    judge,
    refused,
    send,
)
from cluster_contract.tenant_requests import (
    CLIENT_ID,
    GROUP,
    TOPIC,
    TRANSACTIONAL_ID,
    USER,
    add,
    all_done,
    creation_in,
    deletion,
    described,
    drop,
    link_of,
    linked,
    make,
    remove,
)

from kgitops.cluster.port import Cluster
from kgitops.model.requests import AlterVirtualClusterRequest, Request
from kgitops.model.resources.virtual_clusters import (
    CapLowering,
    LocalName,
    LoweringOptions,
    VirtualCluster,
    generated_parts,
)
from kgitops.model.results import ErrorCode


def test_none_is_there_and_none_is_written(cluster: Cluster) -> None:
    """VC-109, VC-380."""
    created(cluster, "orders")
    state = cluster.read_state()
    assert (state.virtual_clusters, state.registry) == ({}, None)
    assert not state.lowered or not state.lowered.acls


def test_one_is_made_empty_and_deleted_empty(cluster: Cluster) -> None:
    """VC-001, VC-231, VC-245."""
    options = LoweringOptions(cap_lowering=CapLowering.DIVIDE)
    state = all_done(cluster, make("emea.sales"), make("a"))
    assert [*state.virtual_clusters] == ["a", "emea.sales"]
    assert state.virtual_clusters == {
        "a": VirtualCluster(name="a"),
        "emea.sales": VirtualCluster(name="emea.sales"),
    }
    set_options = AlterVirtualClusterRequest(virtual_cluster="a", options=options)
    state = all_done(cluster, set_options, drop("emea.sales"))
    assert state.virtual_clusters == {"a": VirtualCluster(name="a", options=options)}
    assert all_done(cluster, drop("a")).virtual_clusters == {}


REFUSED: list[tuple[Request, ErrorCode]] = [
    (make("there"), ErrorCode.INVALID_REQUEST),
    (make("kafka-cluster"), ErrorCode.INVALID_REQUEST),
    (make("a:b"), ErrorCode.INVALID_REQUEST),
    (make(""), ErrorCode.INVALID_REQUEST),
    (drop("absent"), ErrorCode.RESOURCE_NOT_FOUND),
    (drop("kafka-cluster"), ErrorCode.INVALID_REQUEST),
    (drop("there"), ErrorCode.INVALID_REQUEST),
    (add("absent", USER, "User:b"), ErrorCode.RESOURCE_NOT_FOUND),
    (add("there", USER, "User:elsewhere"), ErrorCode.INVALID_REQUEST),
    (add("there", USER, "User:*"), ErrorCode.INVALID_REQUEST),
    (add("there", USER, "User:ANONYMOUS"), ErrorCode.INVALID_REQUEST),
    (add("there", CLIENT_ID, "app"), ErrorCode.INVALID_REQUEST),
    (add("there", GROUP, "g", adopts="old"), ErrorCode.INVALID_REQUEST),
    (remove("there", USER, "User:b"), ErrorCode.RESOURCE_NOT_FOUND),
    (remove("there", TOPIC, "none"), ErrorCode.RESOURCE_NOT_FOUND),
    (add("there", TOPIC, "x", topic="none"), ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
    (add("there", TOPIC, "a b", topic="orders"), ErrorCode.INVALID_TOPIC_EXCEPTION),
    (
        add("there", TOPIC, "x", topic="__consumer_offsets"),
        ErrorCode.INVALID_TOPIC_EXCEPTION,
    ),
    (add("there", TOPIC, "orders", topic="other"), ErrorCode.TOPIC_ALREADY_EXISTS),
    (
        add("there", TOPIC, "x", target=LocalName("elsewhere", "none")),
        ErrorCode.RESOURCE_NOT_FOUND,
    ),
    (creation_in("there", "orders"), ErrorCode.TOPIC_ALREADY_EXISTS),
    (creation_in("absent", "orders"), ErrorCode.RESOURCE_NOT_FOUND),
    (creation_in("there", "x" * 213), ErrorCode.INVALID_TOPIC_EXCEPTION),
]


def test_what_is_refused(cluster: Cluster) -> None:
    """VC-007, 026, 028, 037, 043, 046, 058, 061, 080, 081, 093, 104, 115, 245: nothing changes."""
    for name in ("orders", "other"):
        created(cluster, name)
    all_done(
        cluster,
        make("there"),
        make("elsewhere"),
        add("there", TOPIC, "orders", topic="orders"),
        add("elsewhere", USER, "User:elsewhere"),
        add("elsewhere", CLIENT_ID, "app"),
        add("elsewhere", GROUP, "g", adopts="old"),
    )
    assert [(request, refused(cluster, request)) for request, _ in REFUSED] == REFUSED


def test_links_lead_to_topics_under_any_name(cluster: Cluster) -> None:
    """VC-020, 022, 023, 024, 027, 028, 046, 047: their topic's id is kept beside its name."""
    ids = {name: created(cluster, name).topic_id for name in ("eu.sales", "eu.stock")}
    state = all_done(
        cluster,
        make("a"),
        make("b"),
        add("a", TOPIC, "sales", topic="eu.sales"),
        add("a", TOPIC, "eu.sales", topic="eu.sales"),
        add("b", TOPIC, "theirs", target=LocalName("a", "sales")),
        add("b", TOPIC, "theirs", topic="eu.sales"),
    )
    led = {
        str(LocalName(found.name, link.name)): (link.topic, link.topic_id)
        for found in state.virtual_clusters.values()
        for link in found.links.values()
    }
    assert led == dict.fromkeys(
        ("a/sales", "a/eu.sales", "b/theirs"), ("eu.sales", ids["eu.sales"])
    )
    state = all_done(
        cluster,
        add("b", TOPIC, "theirs", topic="eu.stock", replaces="eu.sales"),
        remove("a", TOPIC, "eu.sales"),
    )
    link = link_of(state, LocalName("b", "theirs"))
    assert (link.topic, link.topic_id) == ("eu.stock", ids["eu.stock"])
    assert [*state.virtual_clusters["a"].links] == ["sales"]
    assert {name: state.topics[name].topic_id for name in ids} == ids


def test_members_of_every_kind(cluster: Cluster) -> None:
    """VC-080, 081, 083, 086, 110, 114, 115, 119, 120."""
    all_done(
        cluster,
        make("a"),
        make("b"),
        add("a", USER, "User:CN=jane, O=x"),
        add("a", CLIENT_ID, "app 1"),
        add("a", GROUP, "etl", adopts="old-etl"),
        add("a", GROUP, "own"),
        add("b", GROUP, "own"),
        add("a", TRANSACTIONAL_ID, "tx/1"),
        add("a", USER, "User:CN=jane, O=x"),
    )
    whole = VirtualCluster(
        name="a",
        users=frozenset({"User:CN=jane, O=x"}),
        client_ids=frozenset({"app 1"}),
        groups={"etl": "old-etl", "own": None},
        transactional_ids=frozenset({"tx/1"}),
    )
    assert described(cluster, "a") == whole
    all_done(
        cluster,
        add("b", USER, "User:CN=jane, O=x", moved_from="a"),
        add("b", CLIENT_ID, "app 1", moved_from="a"),
        remove("a", GROUP, "etl"),
        add("b", GROUP, "etl", adopts="old-etl"),
        remove("a", GROUP, "own"),
        remove("a", TRANSACTIONAL_ID, "tx/1"),
    )
    assert described(cluster, "a").empty
    assert described(cluster, "b").users == whole.users
    assert described(cluster, "b").client_ids == whole.client_ids
    assert described(cluster, "b").groups == {"own": None, "etl": "old-etl"}


def test_a_topic_made_in_one_has_a_name_of_its_own(cluster: Cluster) -> None:
    """VC-055, 056, 057, 061, 067: the same name outside, elsewhere and again is another topic."""
    created(cluster, "Orders")
    all_done(cluster, make("a"), make("b"))
    first, other = linked(cluster, "a", "Orders"), linked(cluster, "b", "Orders")
    for link in (first, other):
        parts = generated_parts(link.topic)
        assert parts is not None
        assert parts[1] == "Orders"
    state = all_done(cluster, remove("a", TOPIC, "Orders"))
    again = linked(cluster, "a", "Orders")
    assert len({first.topic, other.topic, again.topic, "Orders"}) == 4
    assert state.topics[first.topic].topic_id == first.topic_id
    assert len({first.topic_id, other.topic_id, again.topic_id}) == 3


def test_a_topic_is_not_deleted_while_a_link_leads_to_it(cluster: Cluster) -> None:
    """VC-033, VC-034: an own one, and one that is made by its global name."""
    created(cluster, "orders")
    all_done(cluster, make("a"), add("a", TOPIC, "orders", topic="orders"))
    own, local = linked(cluster, "a", "Own"), LocalName("a", "Own")
    state = cluster.read_state()
    for request in (deletion(state, "orders"), deletion(state, own.topic, local)):
        assert refused(cluster, request) is ErrorCode.INVALID_REQUEST
    all_done(cluster, remove("a", TOPIC, "orders"), remove("a", TOPIC, "Own"))
    done(cluster, deletion(state, "orders"), lambda state: "orders" not in state.topics)
    gone = deletion(state, own.topic, local)
    assert done(cluster, gone, lambda state: own.topic not in state.topics).topics == {}


def test_a_dry_run_changes_nothing(cluster: Cluster) -> None:
    """VC-064, VC-241."""
    created(cluster, "orders")
    all_done(cluster, make("a"))
    requests: tuple[Request, ...] = (
        make("b"),
        add("a", TOPIC, "orders", topic="orders"),
        add("a", USER, "User:x"),
        drop("a"),
        creation_in("a", "New"),
    )
    before = cluster.registry.read()
    for request in requests:
        assert can_judge(cluster, request)
        assert judge(cluster, request) is ErrorCode.NONE
    assert cluster.registry.read() == before
    wrong = creation_in("a", "New", configs={"no.such": "1"})
    assert judge(cluster, wrong) is ErrorCode.INVALID_CONFIG


def test_one_that_fails_hides_no_other(cluster: Cluster) -> None:
    """VC-236: one result each, in order, and what came first in a batch counts for the next."""
    requests = [make("a"), make("kafka-cluster"), make("b"), make("a")]
    results = cluster.execute(requests, validate_only=False, principal="User:kgitops")
    codes = [result.code for result in results]
    bad = ErrorCode.INVALID_REQUEST
    assert codes == [ErrorCode.NONE, bad, ErrorCode.NONE, bad]
    batch = [creation_in("a", "One"), creation_in("a", "x" * 213), creation_in("b", "One")]
    results = cluster.execute(batch, validate_only=False, principal="User:kgitops")
    assert [result.ok for result in results] == [True, False, True]
    state = await_state(cluster, lambda state: len(state.topics) == 2)
    links = {name: [*found.links] for name, found in state.virtual_clusters.items()}
    assert links == {"a": ["One"], "b": ["One"]}


def test_topics_of_links_are_read_beside_those_that_are_named(cluster: Cluster) -> None:
    """The link is followed where its topic is not known by name."""
    for name in ("orders", "other", "third"):
        created(cluster, name)
    all_done(cluster, make("a"), add("a", TOPIC, "x", topic="other"))
    links = frozenset({LocalName("a", "x"), LocalName("a", "none"), LocalName("none", "x")})
    state = cluster.read_state(frozenset({"orders"}), links)
    assert state.topics.keys() == {"orders", "other"}
    assert cluster.read_state(frozenset(), links).topics.keys() == {"other"}
    assert cluster.read_state(None, links).topics.keys() == {"orders", "other", "third"}
    whole, part = cluster.read_state(), cluster.read_state(frozenset())
    assert comparable(part).virtual_clusters == whole.virtual_clusters
    assert send(cluster, remove("a", TOPIC, "x")).ok


def test_a_topic_goes_to_another_virtual_cluster_by_its_links_alone(cluster: Cluster) -> None:
    """VC-366, VC-008: its name and id on the cluster stay, and say nothing of where it is."""
    state = all_done(cluster, make("a"), make("b"), creation_in("a", "orders"))
    physical = state.virtual_clusters["a"].links["orders"].topic
    before = state.topics[physical]
    assert generated_parts(physical) is not None
    state = all_done(
        cluster, add("b", TOPIC, "orders", topic=physical), remove("a", TOPIC, "orders"), drop("a")
    )
    assert state.virtual_clusters["b"].links["orders"].topic == physical
    assert state.topics == {physical: before}
