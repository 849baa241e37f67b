"""§24 of the specification on a Kafka without virtual clusters."""

from collections import Counter

from lowering import scenario
from lowering.modelled_brokers import id_text
from lowering.scenario import (
    ACLS,
    ANALYTICS,
    APP,
    COMMIT_1,
    COMMIT_2,
    COMMIT_3,
    G1,
    G2,
    G3,
    LITERAL,
    PREFIXED,
    READ,
    READER,
    SALES,
    STREAM,
    WRITE,
    G,
    T,
    X,
    acl,
)
from msgspec.structs import replace

from kgitops.model.requests import AlterClientQuotaRequest, CreateAclRequest, DeleteAclRequest
from kgitops.model.resources.quotas import make_entity

U1 = "00000000-0000-4000-8000-000000000001.Reports"
U2 = "00000000-0000-4000-8000-000000000002.Orders"


def lowered(principal, operation, kind, name, pattern=LITERAL):
    return acl("kafka-cluster", principal, operation, kind, name, pattern)


def kinds(brokers):
    return dict(Counter(key.partition("/")[0] for key in brokers.records))


def physical_quotas(brokers):
    return {entity: dict(state.quotas) for entity, state in brokers.state.quotas.items()}


NINE = {
    lowered(READER, READ, G, "analytics:rpt-", PREFIXED),
    lowered(READER, WRITE, T, U1),
    lowered(READER, READ, T, U2),
    lowered(APP, READ, G, "emea.sales:sales-etl"),
    lowered(APP, READ, T, U2),
    lowered(APP, WRITE, T, U2),
    lowered(APP, READ, T, STREAM),
    lowered(APP, WRITE, T, STREAM),
    lowered(APP, WRITE, X, "emea.sales:sales-", PREFIXED),
}


def test_the_whole_physical_state_after_the_first_commit() -> None:
    """VC-161, VC-164, VC-168, VC-201, VC-220, VC-326: §24.5, to the letter."""
    brokers = scenario.after_commit_1()

    assert set(brokers.state.topics) == {STREAM, U1, U2}
    assert brokers.state.acls == NINE | {G1, G2, G3}
    assert physical_quotas(brokers) == {
        make_entity({"user": "sales-app"}): {
            "producer_byte_rate": 10485760.0,
            "consumer_byte_rate": 52428800.0,
        },
        make_entity({"user": "ana-reader"}): {"consumer_byte_rate": 10485760.0},
    }
    assert kinds(brokers) == {
        "vc": 2, "link": 5, "user": 2, "group": 1, "vcacl": 12, "acl": 9, "vcquota": 4, "quota": 3,
        "quota-shadow": 1,
    }  # fmt: skip
    assert "group/emea.sales:sales-etl" in brokers.records
    assert "PENDING" not in str(brokers.records)
    assert "DELETING" not in str(brokers.records)


def test_the_logical_state_after_the_first_commit() -> None:
    """VC-322, VC-327: lifting returns the declared objects, without their physical stand-ins."""
    brokers = scenario.after_commit_1()
    logical = brokers.logical

    assert logical.acls == {G1, G2, G3, *ACLS}
    assert logical.quotas[make_entity({"user": "sales-app"})].quotas == {
        "producer_byte_rate": 5242880.0
    }
    assert make_entity({"user": "ana-reader"}) not in logical.quotas
    assert len(logical.quotas) == 5
    sales = logical.virtual_clusters[SALES]
    assert {name: link.topic for name, link in sales.links.items()} == {
        "Orders": U2, "SalesStream": STREAM, STREAM: STREAM,
    }  # fmt: skip
    assert {link.topic_id for link in sales.links.values()} == {id_text(U2), id_text(STREAM)}
    assert sales.users == {APP}
    assert sales.groups == {"sales-etl": "sales-etl"}
    assert logical.virtual_clusters[ANALYTICS].users == {READER}
    assert logical.lowered is not None
    assert not logical.lowered.missing_acls
    assert not logical.lowered.missing_quotas
    assert not logical.lowered.pending
    sources = logical.lowered.acls[lowered(APP, READ, T, STREAM)].sources
    assert sources == (
        "vc/emea.sales/acl/User:sales-app/Allow/Read/topic/literal/SalesStream@*",
        "vc/emea.sales/acl/User:sales-app/Allow/Read/topic/literal/emea.eu.sales.SalesStream@*",
    )


def test_old_acls_go_and_then_the_prefixed_link_without_touching_brokers() -> None:
    """VC-168: §24.6 and §24.7: the second source of a physical binding goes, the binding stays."""
    brokers = scenario.before()
    scenario.apply(brokers, COMMIT_1 + COMMIT_2)
    assert brokers.state.acls == NINE

    brokers.asked.clear()
    scenario.apply(brokers, COMMIT_3)

    assert brokers.asked == []
    assert brokers.state.acls == NINE
    assert kinds(brokers)["vcacl"] == 10
    assert kinds(brokers)["link"] == 4
    assert STREAM in brokers.state.topics


def test_a_tenant_leaves_and_nothing_that_stood_for_it_stays() -> None:
    """VC-089, VC-216, VC-220, VC-329: §24.8, objects shared with the other tenant stay."""
    brokers = scenario.before()
    scenario.apply(brokers, COMMIT_1 + COMMIT_2 + COMMIT_3 + scenario.commit_4(U1))

    assert brokers.state.acls == {binding for binding in NINE if binding.principal == APP}
    assert set(brokers.state.topics) == {STREAM, U2}
    assert set(brokers.state.quotas) == {make_entity({"user": "sales-app"})}
    assert not [key for key in brokers.records if "analytics" in key]
    assert set(brokers.logical.virtual_clusters) == {SALES}


def test_a_lowered_binding_that_others_delete_is_missing_and_repaired() -> None:
    """VC-327: what somebody deleted shows as missing, also its second source; asked for anew, it
    is there again."""
    brokers = scenario.after_commit_1()
    gone = lowered(APP, READ, T, STREAM)
    brokers.do(DeleteAclRequest(binding=gone))

    logical = brokers.logical
    missing = set(ACLS) - logical.acls
    assert missing == {scenario.STREAM_READ, scenario.LONG_READ}
    assert logical.lowered is not None
    assert logical.lowered.missing_acls == missing

    brokers.ask(CreateAclRequest(binding=scenario.STREAM_READ))
    assert gone in brokers.state.acls
    assert not set(ACLS) - brokers.logical.acls


def test_a_lowered_quota_that_others_change_is_missing_and_repaired() -> None:
    """VC-327, VC-220: someone sets the hidden entity; the quota of the virtual cluster is missing,
    and what is hidden keeps its own value."""
    brokers = scenario.after_commit_1()
    entity = make_entity({"user": "sales-app"})
    brokers.do(AlterClientQuotaRequest(entity=entity, quotas={"producer_byte_rate": 1.0}))

    logical = brokers.logical
    wanted = make_entity({"virtual-cluster": SALES, "user": "sales-app"})
    assert wanted not in logical.quotas
    assert logical.quotas[entity].quotas == {"producer_byte_rate": 5242880.0}

    request = AlterClientQuotaRequest(entity=wanted, quotas={"producer_byte_rate": 10485760.0})
    brokers.ask(request)
    assert physical_quotas(brokers)[entity]["producer_byte_rate"] == 10485760.0
    assert wanted in brokers.logical.quotas


def test_without_records_it_is_the_very_same_state() -> None:
    """VC-004, VC-380: nothing about virtual clusters, nothing is done."""
    brokers = scenario.before()
    assert brokers.logical is brokers.state
    unread = replace(brokers.state, registry=None)
    from kgitops.lowering.lifting import lift

    assert lift(unread) is unread
