"""A topic that a virtual cluster does not have: each answer about it is that it is unknown."""

from collections.abc import Iterator

import pytest
from gateway.rewriting.frames import Rewriter, table_of
from msgspec import Struct, structs
from real_kafka.foreign_requests import Filled

from kgitops.gateway.rewriting.apis import REFUSED, used_in_virtual_clusters, versions_of
from kgitops.gateway.rewriting.exchange import Exchange
from kgitops.model.results import ErrorCode
from kgitops.wire import messages
from kgitops.wire.apis import Api, apis
from kgitops.wire.codec import read, write
from kgitops.wire.definitions import FieldDefinition, definition
from kgitops.wire.messages import NIL_UUID, Message, message_class

NOBODYS = "emea.sales:secret"
TOPIC, GROUP = 2, 32
DENIED = ErrorCode.TOPIC_AUTHORIZATION_FAILED
UNKNOWN = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
WHY = "the principal User:sales may not describe it"


class Answer(Filled):
    """A broker's answer about a topic in each place for one, with one code in all of them."""

    def __init__(self, code: ErrorCode) -> None:
        super().__init__(NOBODYS, b"\x0a" * 16, b"")
        self.code = code

    def response(self, api: Api, version: int) -> Message:
        message = definition(api.response)
        made = self._struct(message, message.fields, message_class(api.response), version, TOPIC)
        return read(type(made), version, bytes(write(made, version)))

    def _value(self, field: FieldDefinition, resource_type: int) -> object:
        if field.name.endswith("ErrorMessage"):
            return WHY
        if field.name in ("ErrorCode", "PartitionErrorCode"):
            return int(self.code)
        if field.entity in ("groupId", "transactionalId") or field.name == "Key":
            return "emea.sales:etl"
        return super()._value(field, resource_type)


def about_topics(value: object, *, inside: bool = False) -> Iterator[tuple[str, object]]:
    """Each field of a response that says something about a topic, with its value."""
    if isinstance(value, list | tuple):
        for item in value:
            yield from about_topics(item, inside=inside)
    elif isinstance(value, Struct):
        fields = structs.asdict(value)
        inside = inside or bool(NAMES & {each for each in fields.values() if type(each) is str})
        for name, each in fields.items():
            yield from about_topics(each, inside=inside)
            if inside and name.endswith(("error_code", "error_message", "topic_id")):
                yield name, each


NAMES = {NOBODYS, NOBODYS.removeprefix("emea.sales:")}
APIS = [apis()[key] for key in sorted(used_in_virtual_clusters())]
TOLD = [
    (api, version)
    for api in APIS
    if api.name not in REFUSED
    for version in versions_of(api)
    if any(True for _ in about_topics(Answer(DENIED).response(api, version)))
]


def answered(api: Api, version: int, answer: Message) -> Message:
    client = Rewriter(table_of())
    exchange = Exchange(key=api.key, version=version, correlation_id=7, api=api, table=client.table)
    exchange.unknown = True
    return client.response(answer, exchange)


def test_most_apis_tell_of_topics() -> None:
    """The next tests are not about nothing."""
    told = {api.name for api, _ in TOLD}
    assert {"Produce", "Metadata", "DescribeConfigs", "AddPartitionsToTxn"} <= told
    assert len(told) > 12


@pytest.mark.parametrize(("api", "version"), TOLD, ids=lambda value: getattr(value, "name", value))
def test_nothing_of_the_brokers_reason_is_left(api: Api, version: int) -> None:
    """Its sentence tells of principals and physical names, and its id of a topic (VC-029)."""
    found = list(about_topics(answered(api, version, Answer(DENIED).response(api, version))))
    assert found
    wanted = {"code": UNKNOWN, "message": None, "id": NIL_UUID}
    assert found == [(name, wanted[name.rpartition("_")[2]]) for name, _ in found]


@pytest.mark.parametrize(("api", "version"), TOLD, ids=lambda value: getattr(value, "name", value))
def test_no_error_is_made_of_none(api: Api, version: int) -> None:
    """A group has no offset of a topic that nobody has, and a broker says so without an error."""
    found = about_topics(answered(api, version, Answer(ErrorCode.NONE).response(api, version)))
    assert {value for name, value in found if name.endswith("code")} <= {0}


def test_a_group_beside_it_has_the_brokers_own_answer() -> None:
    """Groups have configs as well, and names with the same prefix."""
    client = Rewriter(table_of())
    kind = messages.DescribeConfigsRequest
    asked = [
        kind.DescribeConfigsResource(resource_type=TOPIC, resource_name="secret"),
        kind.DescribeConfigsResource(resource_type=GROUP, resource_name="etl"),
    ]
    sent, exchange = client.request(kind(resources=asked), 4)
    assert [each.resource_name for each in sent.resources] == [NOBODYS, "emea.sales:etl"]
    result = messages.DescribeConfigsResponse.DescribeConfigsResult
    denied = ErrorCode.GROUP_AUTHORIZATION_FAILED
    rows = [
        result(error_code=denied, error_message="no", resource_type=type_, resource_name=name)
        for type_, name in ((TOPIC, NOBODYS), (GROUP, "emea.sales:etl"))
    ]
    answer = client.response(messages.DescribeConfigsResponse(results=rows), exchange)
    assert [(row.resource_name, row.error_code, row.error_message) for row in answer.results] == [
        ("secret", UNKNOWN, None),
        ("etl", denied, "no"),
    ]
