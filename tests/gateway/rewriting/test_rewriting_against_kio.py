"""Rewriting bytes gives what kio's decoding, a renaming of its values, and encoding give."""

import dataclasses
import io
import re
import typing
import uuid
from functools import cache

import hypothesis.strategies as st
import pytest
from gateway.rewriting.frames import LINKS, Rewriter, table_of
from hypothesis import given
from kio.schema import types
from kio.serial import entity_reader, entity_writer
from wire.message_values import message_values
from wire.test_against_kio import KIOS, kios_class

from kgitops.gateway.rewriting.apis import used_in_virtual_clusters
from kgitops.gateway.rewriting.exchange import Exchange, Forward, RefusedFrameError, read_header
from kgitops.gateway.rewriting.hooks import names_splicer
from kgitops.gateway.rewriting.requests import rewrite_request
from kgitops.gateway.rewriting.responses import rewrite_response
from kgitops.wire.apis import apis
from kgitops.wire.codec import write
from kgitops.wire.frames import header_version, request_frame, response_tags

TO_BROKER = {local.decode(): physical.decode() for local, (physical, _) in LINKS.items()}
TO_CLIENT = {physical: local for local, physical in TO_BROKER.items()}
PREFIX = "emea.sales:"
OWN_IDS = [topic_id for _, topic_id in LINKS.values()]

# Fields of text that name something though their type does not say so.
KEYS = {"key", "coordinator_keys"}
# Requests that are more than their names changed, and are tested one by one.
APART = {"Metadata", "ConsumerGroupHeartbeat", "ListTransactions", "ApiVersions", "SaslHandshake"}
APART |= {"CreateTopics", "DeleteTopics", "CreatePartitions", "AlterConfigs", "SaslAuthenticate"}
APART |= {"IncrementalAlterConfigs", "CreateAcls", "DeleteAcls", "AlterClientQuotas"}
APART |= {"ShareGroupHeartbeat"}
ANSWERED = {"Metadata", "ConsumerGroupHeartbeat", "ListTransactions", "ShareGroupHeartbeat"}
USED = [api for key, api in apis().items() if key in used_in_virtual_clusters()]
REQUESTS = [(api, v) for api in USED if api.name not in APART for v in api.versions]
RESPONSES = [(api, v) for api in USED if api.name not in APART - ANSWERED for v in api.versions]
NO_BLOBS = {re.compile("^Metadata$"): st.just(b"")}


def known(topics: list[str], ids: list[str]) -> dict[re.Pattern[str], st.SearchStrategy[object]]:
    """Values of the fields that matter; blobs are tested apart, and texts are of brokers."""
    return KIOS | {
        re.compile("^(Name|Topic|TopicName|Topics|TopicNames|SubscribedTopicNames)$"): (
            st.sampled_from(topics)
        ),
        re.compile("^(GroupId|GroupsNames|Groups|GroupIds|Key|CoordinatorKeys)$"): (
            st.sampled_from(ids)
        ),
        re.compile("TransactionalIds?$"): st.sampled_from(ids),
        re.compile("^ResourceName$"): st.sampled_from(topics),
        re.compile("^ResourceType$"): st.sampled_from([2, 4, 32]),
        re.compile("^TopicId$"): st.sampled_from([*OWN_IDS, bytes(16)]),
        re.compile("^(Assignment|MemberMetadata|MemberAssignment)$"): st.just(b""),
        re.compile("ErrorMessage$"): st.sampled_from(["none", "why"]),
        re.compile("^SubscribedTopicRegex$"): st.just(""),
        re.compile("^Port$"): st.integers(0, 65535),
        re.compile("^(NodeId|BrokerId)$"): st.integers(-1, 1000),
    }


@given(data=st.data(), chosen=st.sampled_from(REQUESTS))
def test_requests(data: st.DataObject, chosen: tuple[typing.Any, int]) -> None:
    """Each API and version that a member of a virtual cluster may use."""
    api, version = chosen
    values = known(["Orders", "stream", "perf", "secret"], ["etl", "x" * 130])
    values |= NO_BLOBS if api.name == "JoinGroup" else {}
    message = data.draw(message_values(api.request, version, values))
    if api.name == "StreamsGroupHeartbeat":
        message = with_known_topics(message)
    frame = request_frame(api, version, 7, "client", message)[4:]
    client = Rewriter(table_of())
    client.connection.fetched = client.connection.share_fetched = client.table
    found = rewrite_request(bytearray(frame), read_header(frame), client.table, client.connection)
    assert isinstance(found, Forward)
    body = read_header(frame).body
    theirs = Renaming(to_broker=True).change(decoded(api.request, version, frame[body:]))
    assert b"".join(found.chunks) == frame[:body] + encoded(theirs)


@given(data=st.data(), chosen=st.sampled_from(RESPONSES))
def test_responses(data: st.DataObject, chosen: tuple[typing.Any, int]) -> None:
    """Names of others, and what they are about, are gone."""
    api, version = chosen
    values = known(["5f1c.Orders", "shared.stream", "others", ""], [f"{PREFIX}etl", "etl", ""])
    values |= NO_BLOBS if api.name == "JoinGroup" else {}
    message = data.draw(message_values(api.response, version, values))
    head = (7).to_bytes(4, "big") + bytes(response_tags(api, version))
    written = bytes(write(message, version))
    client = Rewriter(table_of())
    exchange = Exchange(key=api.key, version=version, correlation_id=7, api=api, table=client.table)
    chunks = rewrite_response(
        bytearray(head + written), exchange, client.connection, client.addresses
    )
    theirs = Renaming(to_broker=False).change(decoded(api.response, version, written))
    changed = b"".join(chunks)
    assert changed[: len(head)] == head
    assert decoded(api.response, version, changed[len(head) :]) == theirs


@given(data=st.data(), chosen=st.sampled_from(RESPONSES))
def test_hostile_responses_close_the_connection_or_pass(
    data: st.DataObject, chosen: tuple[typing.Any, int]
) -> None:
    """Cut off or damaged in any place: nothing but a refusal comes of it."""
    api, version = chosen
    values = known(["5f1c.Orders", "others"], [f"{PREFIX}etl", "etl"])
    written = bytearray(write(data.draw(message_values(api.response, version, values)), version))
    frame = bytearray((7).to_bytes(4, "big") + bytes(response_tags(api, version)) + written)
    frame[data.draw(st.integers(4, len(frame))) :] = data.draw(st.binary(max_size=6))
    client = Rewriter(table_of())
    exchange = Exchange(key=api.key, version=version, correlation_id=7, api=api, table=client.table)
    exchange.unknown = data.draw(st.booleans())
    try:
        rewrite_response(frame, exchange, client.connection, client.addresses)
    except RefusedFrameError as error:
        assert error.reason == "answer"  # noqa: PT017 - it may be raised or not


@given(data=st.data(), chosen=st.sampled_from([(api, v) for api in USED for v in api.versions]))
def test_hostile_requests_close_the_connection_or_pass(
    data: st.DataObject, chosen: tuple[typing.Any, int]
) -> None:
    """Cut off or damaged in any place, header included."""
    api, version = chosen
    values = known(["Orders", "secret"], ["etl"])
    message = data.draw(message_values(api.request, version, values))
    frame = bytearray(request_frame(api, version, 7, "client", message)[4:])
    frame[data.draw(st.integers(4, len(frame))) :] = data.draw(st.binary(max_size=6))
    client = Rewriter(table_of())
    try:
        rewrite_request(frame, read_header(frame), client.table, client.connection)
    except RefusedFrameError as error:
        assert error.reason in {"malformed", "version"}  # noqa: PT017 - it may be raised or not


@pytest.mark.parametrize("api", USED, ids=lambda api: api.name)
def test_every_version_has_a_function(api: typing.Any) -> None:  # noqa: ANN401 - an Api
    """Whatever is announced can be walked over."""
    for version in api.versions:
        for message in (api.request, api.response):
            names_splicer(message, version)
        assert header_version(api, version) in (1, 2)


def with_known_topics(message: typing.Any) -> typing.Any:  # noqa: ANN401 - an application's
    """A streams application whose topics are all there; that of others never gets to a broker."""
    kind = type(message)
    for part in message.topology.subtopologies if message.topology else ():
        part.source_topics, part.source_topic_regex = ["Orders", "stream"], []
        part.repartition_sink_topics = ["perf"]
        names = ("stream", "perf")
        part.repartition_source_topics = [kind.TopicInfo(name=name) for name in names]
        for topic in part.state_changelog_topics:
            topic.name = "Orders"
    return message


def decoded(name: str, version: int, data: bytes) -> typing.Any:  # noqa: ANN401 - kio's
    """kio's value."""
    kind = kios_class(name, version)
    assert kind is not None
    return entity_reader(kind)(data, 0)[0]


def encoded(value: typing.Any) -> bytes:  # noqa: ANN401 - kio's
    """kio's bytes."""
    out = io.BytesIO()
    entity_writer(type(value))(out, value)
    return out.getvalue()


class Renaming:
    """Renames kio's values by their types, which come from Kafka's definitions."""

    def __init__(self, *, to_broker: bool) -> None:
        self.to_broker = to_broker

    def change(self, value: typing.Any) -> typing.Any:  # noqa: ANN401 - kio's
        """The value with other names; at the top nothing is dropped, but emptied."""
        changed = self._struct(value)
        assert changed is not None
        return changed

    def _struct(self, value: typing.Any) -> typing.Any:  # noqa: ANN401 - kio's
        new: dict[str, object] = {}
        for field, kind in kinds(type(value)).items():
            old = getattr(value, field)
            if old is None:
                continue
            if isinstance(old, tuple):
                items = [self._item(each, field, kind, value) for each in old]
                new[field] = tuple(each for each in items if each is not None)
            else:
                new[field] = self._item(old, field, kind, value)
                if new[field] is None:
                    return None
        if not self.to_broker and "host" in new and hasattr(value, "port"):
            node = getattr(value, "node_id", getattr(value, "broker_id", -1))
            if node >= 0 and value.host:
                new |= {"host": "gateway.example", "port": 9100 + node}
        return dataclasses.replace(value, **new)

    def _item(self, old: typing.Any, field: str, kind: str, owner: typing.Any) -> typing.Any:  # noqa: ANN401
        if dataclasses.is_dataclass(old):
            return self._struct(old)
        if isinstance(old, uuid.UUID):
            return old
        if field == "resource_name" and hasattr(owner, "resource_type"):
            kind = {2: "topic", 32: "id"}.get(owner.resource_type, "")
        elif field in KEYS and type(owner).__name__ != "KeyValue":
            kind = "id"
        if kind == "topic":
            if self.to_broker:
                return TO_BROKER.get(old, PREFIX + old)
            return TO_CLIENT.get(old, "" if not old else None)
        if kind == "id":
            if self.to_broker:
                return PREFIX + old
            return old.removeprefix(PREFIX) if old.startswith(PREFIX) or not old else None
        return old


@cache
def kinds(kind: type) -> dict[str, str]:
    """The fields of a class, with ``topic`` or ``id`` for names."""
    found = {}
    for field, hint in typing.get_type_hints(kind).items():
        parts = {hint}
        for _ in range(3):
            parts |= {inner for part in parts for inner in typing.get_args(part)}
        is_id = types.GroupId in parts or types.TransactionalId in parts
        found[field] = "topic" if types.TopicName in parts else "id" if is_id else ""
    return {name: what for name, what in found.items() if not name.startswith("__")}
