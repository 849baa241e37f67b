"""Name tables say what the rules of virtual clusters say, for every state of a registry."""

from collections.abc import Mapping
from contextlib import suppress
from itertools import product

import pytest
from gateway.naming.logs import ID, OTHER_ID
from hypothesis import given, settings
from hypothesis import strategies as st
from lowering import scenario
from lowering.fleets import LINKS, TOPICS, USERS, fleets
from lowering.modelled_brokers import Brokers, CrashError, id_text
from lowering.scenario import ANALYTICS, SALES
from lowering.test_laws import batches
from msgspec.structs import replace
from tiers import examples

from kgitops.gateway.naming.building import build_name_tables
from kgitops.gateway.naming.name_table import NameTables
from kgitops.lowering.binding_sheets import binding_sheets
from kgitops.lowering.lowerer import Lowerer
from kgitops.lowering.records import RecordStatus, link_record, user_record, virtual_cluster_record
from kgitops.model.cluster_state import ClusterState
from kgitops.model.errors import SafetyError
from kgitops.model.json.records import Record
from kgitops.model.registry import Json
from kgitops.model.requests import Request
from kgitops.model.resources.virtual_clusters import LoweringOptions, TopicLink
from kgitops.virtual_clusters.image import build_image
from kgitops.virtual_clusters.resolution import bind

Raw = Mapping[str, Mapping[str, Json]]
CALLERS = tuple(product((*USERS, "User:ANONYMOUS"), (None, "", *LINKS, "nobody")))


def raw_of(*records: Record) -> dict[str, Mapping[str, Json]]:
    return {key.removeprefix("vcs/"): value for key, value in records if value is not None}


def a_registry(**links: str) -> dict[str, Mapping[str, Json]]:
    """One virtual cluster with these links."""
    return raw_of(
        virtual_cluster_record("v", LoweringOptions()),
        *(link_record("v", TopicLink(name=n, topic=t, topic_id=ID)) for n, t in links.items()),
    )


def agrees(tables: NameTables, state: ClusterState, raw: Raw) -> None:
    """Each caller has the namespace, and each name in it the topic, that the rules say."""
    image = build_image(state.virtual_clusters.values())
    begun = {key for key in raw if raw[key].get("status") not in (None, "ACTIVE")}
    assert set(tables.by_virtual_cluster) == set(image.by_name)
    for principal, client_id in CALLERS:
        binding = bind(image, principal, client_id)
        table = tables.bind(principal, client_id)
        if binding is None:
            assert table is None
            continue
        assert table is not None
        assert table.virtual_cluster == binding.virtual_cluster.name
        assert table.prefix + b"etl" == binding.physical_id("etl").encode()
        for name in (*LINKS, *TOPICS, "unknown"):
            link = binding.link(name)
            if link is None or f"link/{table.virtual_cluster}/{name}" in begun:
                assert name.encode() not in table.links
                assert not any(name.encode() in names for names in table.local_names.values())
                continue
            assert table.links[name.encode()] == link.topic.encode()
            assert name.encode() in table.local_names[link.topic.encode()]
    for table in tables.by_virtual_cluster.values():
        back = {name: topic for topic, names in table.local_names.items() for name in names}
        assert back == table.links
        assert all(list(names) == sorted(set(names)) for names in table.local_names.values())
        assert set(table.topic_ids.values()) == set(table.local_names)
        for topic in table.local_names:
            (topic_id,) = (i for i, named in table.topic_ids.items() if named == topic)
            assert id_text(topic.decode()) == _text(topic_id)


def _text(topic_id: bytes) -> str:
    from uuid import UUID

    from kgitops.cluster.kafka.protocol_values import uuid_to_text

    return uuid_to_text(UUID(bytes=topic_id))


@settings(max_examples=examples(200))
@given(fleets(), st.data())
def test_tables_bind_and_name_as_the_rules_do_whatever_happened(
    asked: list[Request], data: st.DataObject
) -> None:
    """VC-010, VC-028, VC-084, VC-088, VC-111: after each batch, and after a crash in the middle of
    the last one; versions grow with each change of a name or member, and with nothing else."""
    brokers = Brokers(topics=TOPICS)
    lowering = Lowerer(brokers.logical, brokers.new_uuid)
    *before, last = batches(asked)
    tables: NameTables | None = None
    for batch in before:
        brokers.take(lowering.lower_batch(batch))
        tables = follow(brokers, tables)
    brokers.crash_at = brokers.events + data.draw(st.integers(0, 12))
    with suppress(CrashError):
        brokers.take(lowering.lower_batch(last))
    follow(brokers, tables)


def follow(brokers: Brokers, before: NameTables | None) -> NameTables:
    raw: Raw = brokers.records  # type: ignore[assignment]
    after = build_name_tables(raw, brokers.events, before)
    agrees(after, brokers.logical, raw)
    fresh = build_name_tables(raw, 0)
    assert _content(fresh) == _content(after)
    if before is None:
        assert after.version == 1
    elif _content(after) == _content(before):
        assert after is before
    else:
        assert after.version == before.version + 1
        for name, table in after.by_virtual_cluster.items():
            known = before.by_virtual_cluster.get(name)
            if known is not None and _names(known) == _names(table):
                assert table is known
            else:
                assert table.version == after.version
    return after


def _names(table: object) -> object:
    return replace(table, version=0)  # type: ignore[type-var]


def _content(tables: NameTables) -> object:
    return tables.image, {n: _names(t) for n, t in tables.by_virtual_cluster.items()}


def test_tables_say_what_the_binding_sheets_of_the_members_say() -> None:
    """VC-111, VC-120: what people are told to call things is what the gateway calls them."""
    brokers = scenario.after_commit_1()
    tables = build_name_tables(brokers.records, 7)  # type: ignore[arg-type]
    sheets = binding_sheets(brokers.logical)
    assert {sheet.virtual_cluster for sheet in sheets} == {SALES, ANALYTICS}
    for sheet in sheets:
        table = tables.bind(sheet.principal, None)
        assert table is not None
        named = {local.decode(): topic.decode() for local, topic in table.links.items()}
        assert named == dict(sheet.topics)
        for local, physical in (*sheet.groups.items(), *sheet.transactional_ids.items()):
            assert table.prefix + local.encode() == physical.encode()


def test_an_alias_leads_to_one_topic_and_back_to_both_names() -> None:
    """VC-039: two names of one topic share its id."""
    table = build_name_tables(a_registry(b="t", a="t"), 3).by_virtual_cluster["v"]
    assert table.links == {b"a": b"t", b"b": b"t"}
    assert table.local_names == {b"t": (b"a", b"b")}
    assert list(table.topic_ids.values()) == [b"t"]
    assert [topic_id.hex() for topic_id in table.topic_ids] == ["1509b57c6e8b439c81d812c155972660"]
    assert table.prefix == b"v:"


@pytest.mark.parametrize("status", [RecordStatus.PENDING, RecordStatus.DELETING])
def test_a_link_on_its_way_in_or_out_is_not_to_be_used(status: RecordStatus) -> None:
    """VC-329: its ACLs are not there yet, or not there any more."""
    raw = a_registry(a="t")
    key, value = link_record("v", TopicLink(name="b", topic="u", topic_id=OTHER_ID), status)
    table = build_name_tables({**raw, **raw_of((key, value))}, 0).by_virtual_cluster["v"]
    assert table.links == {b"a": b"t"}
    assert list(table.topic_ids.values()) == [b"t"]


def test_a_topic_that_is_being_made_has_no_id_yet_and_stops_nothing() -> None:
    """VC-063: its link is pending, without a topic id."""
    begun = link_record("v", TopicLink(name="b", topic="u"), RecordStatus.PENDING)
    tables = build_name_tables({**a_registry(a="t"), **raw_of(begun)}, 0)
    assert tables.by_virtual_cluster["v"].links == {b"a": b"t"}


def test_a_user_who_is_being_bound_is_no_member_yet_and_one_who_leaves_still_is() -> None:
    """VC-329: a member leaves when the rights are gone, and enters when they are there."""
    raw = {
        **a_registry(a="t"),
        **raw_of(
            user_record("v", "User:in", RecordStatus.PENDING),
            user_record("v", "User:out", RecordStatus.DELETING),
        ),
    }
    tables = build_name_tables(raw, 0)
    assert tables.bind("User:in", None) is None
    assert tables.bind("User:out", None) is tables.by_virtual_cluster["v"]


def test_options_of_lowering_are_no_change_of_names() -> None:
    """What only quotas depend on makes no new tables."""
    before = build_name_tables(a_registry(a="t"), 1)
    changed = raw_of(virtual_cluster_record("v", LoweringOptions(deny_wins=True)))
    assert build_name_tables({**a_registry(a="t"), **changed}, 2, before) is before


@pytest.mark.parametrize(
    "topic_id",
    [None, "", "short", ID[:-1], f"{ID}=", f"{ID}==", ID[:-1] + "B", f" {ID}", "€" * 22, "A" * 22],
)
def test_a_link_without_the_id_of_a_topic_is_damaged(topic_id: str | None) -> None:
    """Without it, the gateway could not tell foreign topics from its own; nothing is guessed."""
    damaged = link_record("v", TopicLink(name="b", topic="u", topic_id=topic_id))
    with pytest.raises(SafetyError, match=r"vcs/link/v/b is damaged: .*restore the registry"):
        build_name_tables({**a_registry(a="t"), **raw_of(damaged)}, 0)


@pytest.mark.parametrize(
    ("name", "topic"),
    [("v:a", "t"), ("", "t"), ("a", "t:u"), ("a b", "t"), ("a", "__consumer_offsets")],
)
def test_names_that_could_be_taken_for_others_are_damaged(name: str, topic: str) -> None:
    """A name that Kafka allows for no topic, or a topic of Kafka's own."""
    damaged = link_record("v", TopicLink(name=name, topic=topic, topic_id=ID))
    with pytest.raises(SafetyError, match="damaged"):
        build_name_tables({**a_registry(b="t"), **raw_of(damaged)}, 0)


def test_a_virtual_cluster_whose_prefix_would_be_that_of_others_is_damaged() -> None:
    """``a:b`` would share groups with the virtual cluster ``a``."""
    raw = raw_of(virtual_cluster_record("a:b", LoweringOptions()))
    with pytest.raises(SafetyError, match="vcs/vc/a:b is damaged"):
        build_name_tables(raw, 0)


def test_one_topic_id_of_two_topics_is_damaged() -> None:
    """An answer by topic id could be given either name."""
    with pytest.raises(SafetyError, match=r"vcs/link/v/. is damaged: .* another topic"):
        build_name_tables(a_registry(a="t", b="u"), 0)


@pytest.mark.parametrize(
    "damage",
    [
        {"novelty/x": {"schema_version": 1}},
        {"link/v/b": {"schema_version": 3}},
        {"link/w/b": link_record("w", TopicLink(name="b", topic="t", topic_id=ID))[1]},
    ],
)
def test_records_that_are_not_understood_leave_no_table(damage: Raw) -> None:
    """VC-326, VC-330: of another kind or version, or of a virtual cluster without a record."""
    with pytest.raises(SafetyError):
        build_name_tables({**a_registry(a="t"), **damage}, 0)


def test_without_virtual_clusters_nobody_is_bound() -> None:
    """A registry may have none."""
    tables = build_name_tables({}, 4)
    assert tables.bind("User:u", "n") is None
    assert (tables.version, tables.offset, tables.by_virtual_cluster) == (1, 4, {})
