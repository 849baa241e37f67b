"""The effects of a batch: refusals, the order of requests, and the results of failures."""

from contextlib import suppress

import pytest
from lowering import scenario
from lowering.modelled_brokers import Brokers, CrashError, a_requested_topic, id_text
from lowering.scenario import (
    ANALYTICS,
    APP,
    COMMIT_1,
    READ,
    SALES,
    STREAM,
    T,
    acl,
    add,
    after_commit_1,
    before_members,
    create_topic,
    quota,
    remove,
)
from msgspec.structs import replace

from kgitops.lowering.lowerer import Lowerer, lower_batch
from kgitops.lowering.topics import orphaned_topics
from kgitops.model import requests as req
from kgitops.model.resources.quotas import make_entity
from kgitops.model.resources.virtual_clusters import (
    CapLowering,
    EntityType,
    LocalName,
    LoweringOptions,
)
from kgitops.model.results import ErrorCode

KEY = "producer_byte_rate"
CLIENT = make_entity({"user": "sales-app"})


@pytest.mark.parametrize("events", [1, 2])
def test_a_topic_that_was_begun_goes_on_under_its_name(events: int) -> None:
    """VC-063, §24.9g: whether brokers had made the topic or not, there is one, by one uuid."""
    brokers = Brokers()
    brokers.ask(req.CreateVirtualClusterRequest(virtual_cluster=SALES))
    brokers.crash_at = brokers.events + events
    with pytest.raises(CrashError):
        brokers.ask(create_topic(SALES, "Orders"))
    brokers.crash_at = None

    logical = brokers.logical
    assert logical.lowered is not None
    name = f"{brokers.minted[0]}.Orders"
    assert logical.lowered.pending == {LocalName(SALES, "Orders"): name}
    assert not logical.virtual_clusters[SALES].links
    (planned,) = lower_batch(logical, [create_topic(SALES, "Orders")], lambda: req.NEW_UUID).lines
    assert planned == ((f"create topic/{name}",) if events == 1 else ())

    (result,) = brokers.ask(create_topic(SALES, "Orders"))
    assert result.ok
    assert set(brokers.state.topics) == {name}
    assert len(brokers.minted) == 1
    (link,) = brokers.logical.virtual_clusters[SALES].links.values()
    assert (link.topic, link.topic_id) == (name, id_text(name))


def test_a_plan_shows_a_uuid_that_is_not_there_yet_and_makes_none() -> None:
    """VC-064, VC-057: with a placeholder instead of a uuid nothing is minted."""
    brokers = Brokers()
    brokers.ask(req.CreateVirtualClusterRequest(virtual_cluster=SALES))
    planned = lower_batch(brokers.logical, [create_topic(SALES, "Orders")], lambda: req.NEW_UUID)
    assert planned.lines == (("create topic/<uuid:new>.Orders",),)
    assert planned.state.virtual_clusters[SALES].links["Orders"].topic == "<uuid:new>.Orders"


@pytest.mark.parametrize("name", ["app-store-changelog", "app-by-word-repartition"])
def test_what_streams_calls_internal_is_made_as_other_topics_are(name: str) -> None:
    """VC-342: Streams can't make them itself, so they are declared; their names get a UUID."""
    brokers = after_commit_1()
    (result,) = brokers.ask(create_topic(SALES, name))
    assert result.ok
    assert (
        brokers.logical.virtual_clusters[SALES].links[name].topic == f"{brokers.minted[-1]}.{name}"
    )


def test_a_link_to_a_topic_that_the_same_plan_makes_can_be_planned() -> None:
    """One session goes through a whole plan, though nothing is made yet."""
    lowering = Lowerer(scenario.before().logical, iter(["u1", "u2"]).__next__)
    for batch in COMMIT_1:
        assert all(result.ok for result in lowering.lower_batch(batch).results)


@pytest.mark.parametrize(
    ("local", "code", "words"),
    [
        (LocalName(SALES, "Orders"), ErrorCode.TOPIC_ALREADY_EXISTS, "LINK_ALREADY_EXISTS"),
        (LocalName("absent", "x"), ErrorCode.RESOURCE_NOT_FOUND, "VC_NOT_FOUND"),
        (LocalName(SALES, "x" * 213), ErrorCode.INVALID_TOPIC_EXCEPTION, "212 are allowed"),
        (LocalName(SALES, "a b"), ErrorCode.INVALID_TOPIC_EXCEPTION, "contains"),
    ],
)
def test_a_topic_that_can_t_be_made_mints_nothing(
    local: LocalName, code: ErrorCode, words: str
) -> None:
    """VC-058, VC-061: refused before anything is written or sent, in a batch with a valid one."""
    brokers = after_commit_1()
    minted, records = len(brokers.minted), dict(brokers.records)
    bad, good = brokers.ask(
        create_topic(local.virtual_cluster, local.name), create_topic(ANALYTICS, "x" * 212)
    )
    assert (bad.code, good.ok) == (code, True)
    assert words in (bad.message or "")
    assert len(brokers.minted) == minted + 1
    assert len(brokers.records) == len(records) + 1


def test_a_linked_topic_is_not_deleted_whatever_brokers_would_do() -> None:
    """VC-033, §24.9a: refused, and the links are named."""
    brokers = after_commit_1()
    (result,) = brokers.ask(
        req.DeleteTopicRequest(topic=STREAM, topic_id=id_text(STREAM), local=None)
    )
    assert result.code is ErrorCode.INVALID_REQUEST
    assert f"{SALES}/SalesStream" in (result.message or "")
    assert STREAM in brokers.state.topics


def test_what_has_nothing_to_do_with_virtual_clusters_passes_as_it_is() -> None:
    """VC-004, VC-088: one physical request each, the very same; only what concerns virtual clusters
    is told apart."""
    brokers = after_commit_1()
    passing = [
        req.CreateTopicRequest(topic="plain", requested_state=a_requested_topic("plain")),
        req.AlterBrokerRequest(broker=1, configs={}),
        req.CreateAclRequest(binding=acl("kafka-cluster", "User:x", READ, T, "plain")),
        req.DeleteAclRequest(binding=scenario.G1),
        req.AlterClientQuotaRequest(entity=make_entity({"user": "x"}), quotas={KEY: 1.0}),
        req.AlterClientQuotaRequest(entity=make_entity({"ip": "10.0.0.1"}), quotas={}),
        req.DeleteTopicRequest(topic="plain", topic_id=id_text("plain")),
    ]
    lowering = Lowerer(brokers.logical, brokers.new_uuid)
    for request in passing:
        assert not lowering.involves_virtual_clusters(request)
        taken = lowering.lower_batch([request])
        assert [physical.request for physical in taken.physical] == [request]
        assert not taken.before
        assert not taken.after
    for request in (
        create_topic(SALES, "x"),
        req.DeleteTopicRequest(topic=STREAM, topic_id="i"),
        req.CreateAclRequest(binding=scenario.RPT),
        req.CreateAclRequest(binding=scenario.ADMINS),
        req.AlterClientQuotaRequest(entity=CLIENT, quotas={}),
        req.AlterClientQuotaRequest(entity=make_entity({"user": None}), quotas={}),
        req.CreateVirtualClusterRequest(virtual_cluster="v"),
    ):
        assert lowering.involves_virtual_clusters(request)


def test_local_names_are_no_business_of_brokers() -> None:
    """VC-111, VC-114: brokers are asked by physical names; who asks for a group's offsets finds the
    physical group by the same rule as everybody."""
    brokers = after_commit_1()
    topic = brokers.logical.virtual_clusters[SALES].links["Orders"].topic
    state = replace(a_requested_topic(topic), topic_id="i")
    local = LocalName(SALES, "Orders")
    altered = req.AlterTopicRequest(
        topic=topic, topic_id="i", step=req.AlterStep.CONFIGS, requested_state=state, local=local
    )
    (physical,) = lower_batch(brokers.logical, [altered], brokers.new_uuid).physical
    assert physical.request == replace(altered, local=None)
    for request, line in (
        (
            req.CopyGroupOffsetsRequest(virtual_cluster=SALES, group="g", source="old"),
            "copy the offsets of the group old to emea.sales:g",
        ),
        (req.DeleteGroupRequest(virtual_cluster=SALES, group="g"), "delete the group emea.sales:g"),
    ):
        taken = lower_batch(brokers.logical, [request], brokers.new_uuid)
        assert [physical.request for physical in taken.physical] == [request]
        assert taken.lines == ((line,),)


def test_what_fails_physically_fails_for_whom_it_was_asked_and_for_nobody_else() -> None:
    """VC-402, VC-329: the other goes through; of the failed one nothing is final, so that it is
    planned again, and done then."""
    brokers = before_members()
    topic = brokers.logical.virtual_clusters[ANALYTICS].links["Reports"].topic
    failing = req.CreateAclRequest(
        binding=replace(scenario.REPORTS, resource_name=topic, virtual_cluster="kafka-cluster")
    )
    brokers.refuse = [(failing, ErrorCode.CLUSTER_AUTHORIZATION_FAILED)]
    reader, app = brokers.ask(*COMMIT_1[-1])
    assert reader.code is ErrorCode.CLUSTER_AUTHORIZATION_FAILED
    assert app.ok
    logical = brokers.logical
    assert not logical.virtual_clusters[ANALYTICS].users
    assert logical.virtual_clusters[SALES].users == {APP}

    brokers.refuse = []
    assert all(result.ok for result in brokers.ask(*COMMIT_1[-1][:1]))
    assert brokers.logical.virtual_clusters == after_commit_1().logical.virtual_clusters
    assert brokers.state.acls == after_commit_1().state.acls
    assert brokers.state.quotas == after_commit_1().state.quotas


def test_the_new_way_is_made_before_the_old_one_goes() -> None:
    """VC-028, VC-403: a link that is redirected."""
    brokers = after_commit_1()
    brokers.asked.clear()
    orders = brokers.logical.virtual_clusters[SALES].links["Orders"].topic
    (result,) = brokers.ask(
        add(SALES, EntityType.TOPIC, "SalesStream", topic=orders, replaces=STREAM),
    )
    assert result.ok
    assert brokers.asked == []  # Orders grants the same, and the long name still leads there
    brokers.ask(remove(SALES, EntityType.TOPIC, "Orders"))
    (result,) = brokers.ask(
        add(SALES, EntityType.TOPIC, "SalesStream", topic=STREAM, replaces=orders),
    )
    assert result.ok
    assert {type(request) for request in brokers.asked} == {req.DeleteAclRequest}
    assert {request.binding.resource_name for request in brokers.asked} == {orders}


def test_what_is_written_first_says_that_it_has_begun() -> None:
    """VC-329: PENDING or DELETING before brokers are asked, the ownership of each binding before it
    is made, what a quota hides before it is overwritten; and tombstones last."""
    brokers = before_members()
    binding = lower_batch(brokers.logical, COMMIT_1[-1], brokers.new_uuid)
    written = dict(binding.before)
    assert written[f"vcs/user/{APP}"]["status"] == "PENDING"
    assert sum(key.startswith("vcs/acl/") for key in written) == 9
    assert written[f"vcs/quota-shadow/user=sales-app/{KEY}"]["value"] == "5242880"
    assert all(value is not None for value in written.values())

    scenario.apply(brokers, COMMIT_1[-1:])
    leaving = lower_batch(brokers.logical, [remove(SALES, EntityType.USER, APP)], brokers.new_uuid)
    assert [(key, value["status"]) for key, value in leaving.before] == [
        (f"vcs/user/{APP}", "DELETING")
    ]
    removed = {final.record[0] for final in leaving.after if final.record[1] is None}
    assert f"vcs/user/{APP}" in removed
    assert f"vcs/quota-shadow/user=sales-app/{KEY}" in removed


def test_each_request_has_a_line_for_each_thing_that_is_done_for_it() -> None:
    """VC-411: hidden quotas are mentioned too."""
    brokers = before_members()
    reader, app = lower_batch(brokers.logical, COMMIT_1[-1], brokers.new_uuid).lines
    assert len(reader) == 4
    assert len(app) == 7
    assert (
        "set quota/user=sales-app consumer_byte_rate=52428800, "
        "producer_byte_rate=10485760 (in the place of 5242880)"
    ) in app


def test_a_hidden_global_quota_can_be_changed_and_comes_back_as_it_is_meant() -> None:
    """VC-220: brokers see it again once the user is unbound; removed while hidden, it is gone."""
    for value in (6000000.0, None):
        brokers = after_commit_1()
        (result,) = brokers.ask(req.AlterClientQuotaRequest(entity=CLIENT, quotas={KEY: value}))
        assert result.ok
        assert brokers.state.quotas[CLIENT].quotas[KEY] == 10485760.0
        meant = brokers.logical.quotas.get(CLIENT)
        assert (meant.quotas.get(KEY) if meant else None) == value
        brokers.ask(remove(SALES, EntityType.USER, APP))
        back = brokers.state.quotas.get(CLIENT)
        assert (dict(back.quotas) if back else {}) == ({KEY: value} if value else {})


def test_a_global_quota_of_a_user_who_was_cut_off_on_its_way_in_is_what_was_asked_last() -> None:
    """VC-220: the user is in no virtual cluster, and something stands on its entities all the
    same; what was hidden before may not come back in the place of what is asked for now."""
    whole = after_commit_1().events
    cut = 0
    for crash_at in range(1, whole + 1):
        brokers = before_members()
        brokers.crash_at = brokers.events + crash_at
        with suppress(CrashError):
            brokers.ask(*COMMIT_1[-1])
        brokers.crash_at = None
        if APP in brokers.logical.virtual_clusters[SALES].users:
            break
        cut += 1
        (result,) = brokers.ask(req.AlterClientQuotaRequest(entity=CLIENT, quotas={KEY: 7000000.0}))
        assert result.ok
        assert brokers.logical.quotas[CLIENT].quotas[KEY] == 7000000.0
        assert brokers.state.quotas[CLIENT].quotas[KEY] == 7000000.0
        assert all(result.ok for result in brokers.ask(*COMMIT_1[-1]))
        brokers.ask(remove(SALES, EntityType.USER, APP))
        assert brokers.state.quotas[CLIENT].quotas[KEY] == 7000000.0
    assert cut > 3


def test_a_finer_global_quota_that_comes_later_is_hidden_at_once() -> None:
    """VC-220: brokers would prefer it to the virtual cluster's, so they don't get it."""
    brokers = after_commit_1()
    finer = make_entity({"user": "sales-app", "client-id": "c"})
    (result,) = brokers.ask(req.AlterClientQuotaRequest(entity=finer, quotas={KEY: 1.0}))
    assert result.ok
    assert finer not in brokers.state.quotas
    assert brokers.logical.quotas[finer].quotas == {KEY: 1.0}
    brokers.ask(remove(SALES, EntityType.USER, APP))
    assert brokers.state.quotas[finer].quotas == {KEY: 1.0}


def test_options_and_members_change_what_a_cap_is_for_everyone() -> None:
    """VC-221: by division each new member makes the others' share smaller."""
    brokers = Brokers()
    divide = LoweringOptions(cap_lowering=CapLowering.DIVIDE)
    brokers.ask(req.CreateVirtualClusterRequest(virtual_cluster="v", options=divide))
    brokers.ask(quota(10, KEY, vc="v"))
    brokers.ask(add("v", EntityType.USER, "User:u"))
    assert brokers.state.quotas[make_entity({"user": "u"})].quotas == {KEY: 10.0}
    brokers.ask(add("v", EntityType.USER, "User:w"))
    assert [state.quotas[KEY] for state in brokers.state.quotas.values()] == [5.0, 5.0]
    brokers.ask(replace(add("v", EntityType.USER, "x"), options=LoweringOptions()))
    assert [state.quotas[KEY] for state in brokers.state.quotas.values()] == [10.0, 10.0]


def test_a_quota_of_the_physical_cluster_is_refused() -> None:
    """VC-104, VC-205, §24.9d: this is the name of the cluster itself."""
    (result,) = after_commit_1().ask(quota(1, KEY, vc="kafka-cluster"))
    assert result.code is ErrorCode.INVALID_REQUEST
    assert "RESERVED_NAME" in (result.message or "")


def test_topics_of_nobody_are_found_and_a_lost_registry_stops_it() -> None:
    """VC-032, VC-068, VC-330: an orphan is told by its name; without any registry nobody can tell
    whose they were, so no virtual cluster is made."""
    brokers = after_commit_1()
    assert orphaned_topics(brokers.logical) == ()
    reports = brokers.logical.virtual_clusters[ANALYTICS].links["Reports"].topic
    brokers.ask(remove(ANALYTICS, EntityType.TOPIC, "Reports"))
    assert orphaned_topics(brokers.logical) == (reports,)
    assert brokers.ask(req.CreateVirtualClusterRequest(virtual_cluster="v"))[0].ok

    lost = replace(brokers.state, registry=None)
    planned = lower_batch(
        lost, [req.CreateVirtualClusterRequest(virtual_cluster="v")], brokers.new_uuid
    )
    (result,) = planned.results
    assert result.code is ErrorCode.INVALID_REQUEST
    assert "the registry is gone" in (result.message or "")
    assert planned.before == planned.physical == planned.after == ()


def test_a_super_user_is_not_bound() -> None:
    """VC-092: brokers would allow it everything anyway."""
    lowering = Lowerer(after_commit_1().logical, str, super_users={"User:root"})
    (result,) = lowering.lower_batch([add(SALES, EntityType.USER, "User:root")]).results
    assert "super user" in (result.message or "")


def test_a_binding_left_over_goes_with_the_next_change_of_its_virtual_cluster() -> None:
    """VC-329: it was created for a binding whose apply was interrupted and never repeated."""
    brokers = after_commit_1()
    (again,) = brokers.logical.virtual_clusters[ANALYTICS].users
    late = acl(ANALYTICS, again, READ, T, "Reports")
    brokers.crash_at = brokers.events + 2
    with pytest.raises(CrashError):
        brokers.ask(req.CreateAclRequest(binding=late))
    brokers.crash_at = None
    logical = brokers.logical
    assert logical.lowered is not None
    assert late not in logical.acls
    (left,) = (found for found in logical.lowered.acls.values() if not found.sources)
    assert left.binding in brokers.state.acls

    brokers.ask(remove(ANALYTICS, EntityType.TOPIC, "sales.orders"))
    assert left.binding not in brokers.state.acls


def test_a_member_that_was_begun_and_is_not_wanted_any_more_leaves_nothing() -> None:
    """VC-089, VC-329: what was done for it makes bindings and quotas of the virtual cluster show as
    missing, and asking for these again takes it back, also what a quota hides."""
    brokers = before_members()
    wanted = brokers.state
    brokers.crash_at = brokers.events + 1 + 7
    with pytest.raises(CrashError):
        brokers.ask(add(SALES, EntityType.USER, APP))
    brokers.crash_at = None
    assert brokers.state.acls != wanted.acls
    assert brokers.state.quotas != wanted.quotas

    logical = brokers.logical
    assert logical.lowered is not None
    assert not logical.virtual_clusters[SALES].users
    assert logical.quotas[CLIENT].quotas == {KEY: 5242880.0}
    assert set(logical.lowered.missing_quotas) == {
        (make_entity({"virtual-cluster": SALES, "user": "sales-app"}), KEY),
        (make_entity({"virtual-cluster": None}), "consumer_byte_rate"),
    }
    for binding in sorted(logical.lowered.missing_acls):
        brokers.ask(req.CreateAclRequest(binding=binding))
    for (entity, key), value in logical.lowered.missing_quotas.items():
        brokers.ask(req.AlterClientQuotaRequest(entity=entity, quotas={key: value}))
    assert brokers.state.acls == wanted.acls
    assert brokers.state.quotas == wanted.quotas
    repaired = brokers.logical.lowered
    assert repaired is not None
    assert not repaired.missing_acls
    assert not repaired.missing_quotas


@pytest.mark.parametrize(
    ("request_", "kind", "status"),
    [
        (remove(SALES, EntityType.TOPIC, "Orders"), "link", "DELETING"),
        (req.DeleteAclRequest(binding=scenario.ORDERS_READ), "vcacl", "DELETING"),
        (req.CreateAclRequest(binding=acl(SALES, APP, READ, T, "*")), "vcacl", None),
        (req.CreateAclRequest(binding=acl(ANALYTICS, APP, READ, T, "*")), "vcacl", None),
        (
            req.CreateAclRequest(binding=acl(SALES, "User:*", scenario.WRITE, scenario.G, "g")),
            None,
            "",
        ),
        (
            req.CreateAclRequest(binding=acl(SALES, APP, READ, scenario.G, "new")),
            "vcacl",
            "PENDING",
        ),
        (quota(5, KEY, vc=SALES, user="sales-app"), "vcquota", "DELETING"),
        (quota(5, "request_percentage", vc=SALES, user="sales-app"), "vcquota", "PENDING"),
    ],
)
def test_what_is_done_physically_is_marked_before_and_nothing_else(
    request_: object, kind: str | None, status: str | None
) -> None:
    """VC-329: a request without physical requests needs no mark."""
    brokers = after_commit_1()
    taken = lower_batch(brokers.logical, [request_], brokers.new_uuid)
    marks = {key.split("/")[1]: value["status"] for key, value in taken.before if "status" in value}
    assert marks == ({kind: status} if kind and status else {})
    assert bool(marks) == bool(taken.physical)


def test_what_is_repaired_is_there_in_the_state_after() -> None:
    """VC-327: also those that a batch repaired, for the next batch."""
    brokers = after_commit_1()
    brokers.do(req.DeleteAclRequest(binding=acl("kafka-cluster", APP, READ, T, STREAM)))
    request = req.CreateAclRequest(binding=scenario.STREAM_READ)
    after = lower_batch(brokers.logical, [request], brokers.new_uuid).state
    assert after.lowered is not None
    assert not after.lowered.missing_acls
    assert {scenario.STREAM_READ, scenario.LONG_READ} <= after.acls
