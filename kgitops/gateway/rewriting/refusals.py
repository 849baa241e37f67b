"""Requests that would change declared objects, answered with POLICY_VIOLATION."""

from collections.abc import Mapping
from types import MappingProxyType

from msgspec import Struct

from kgitops.gateway.naming.name_table import NameTable
from kgitops.gateway.rewriting.exchange import (
    MOST_IN_REQUEST,
    LocalAnswer,
    RequestHeader,
    own_answer,
)
from kgitops.model.results import ErrorCode
from kgitops.wire.codec import read_part
from kgitops.wire.messages import Message, message_class


class _Form(Struct, frozen=True):
    """The names of a request's items, of their results, and of the fields that both have."""

    objects: str
    items: str
    results: str
    part: str
    same: tuple[str, ...] = ()


_CONFIGS = _Form(
    objects="configs",
    items="resources",
    results="responses",
    part="AlterConfigsResourceResponse",
    same=("resource_type", "resource_name"),
)
_FORMS: Mapping[str, _Form] = MappingProxyType(
    {
        "CreateTopics": _Form("topics", "topics", "topics", "CreatableTopicResult", ("name",)),
        "DeleteTopics": _Form(
            "topics", "topics", "responses", "DeletableTopicResult", ("name", "topic_id")
        ),
        "CreatePartitions": _Form(
            "partitions", "topics", "results", "CreatePartitionsTopicResult", ("name",)
        ),
        "AlterConfigs": _CONFIGS,
        "IncrementalAlterConfigs": _CONFIGS,
        "CreateAcls": _Form("ACLs", "creations", "results", "AclCreationResult"),
        "DeleteAcls": _Form("ACLs", "filters", "filter_results", "DeleteAclsFilterResult"),
        "AlterClientQuotas": _Form("quotas", "entries", "entries", "EntryData"),
    }
)


def refuse_change(frame: bytes | bytearray, header: RequestHeader, table: NameTable) -> LocalAnswer:
    """The response that refuses every item of the request.

    Raises:
        MalformedError: the request is not what its header says.
    """
    api, version = header.api, header.version
    form = _FORMS[api.name]
    request, _ = read_part(
        message_class(api.request), version, bytes(frame), header.body, most=MOST_IN_REQUEST
    )
    kind = message_class(api.response)
    sentence = (
        f"{form.objects} of the virtual cluster {table.virtual_cluster} can't be changed through "
        "the gateway: change their manifests, and apply them with kgitops"
    )
    results = [
        getattr(kind, form.part)(
            error_code=ErrorCode.POLICY_VIOLATION,
            error_message=sentence,
            **_copied(item, form, kind),
        )
        for item in getattr(request, form.items)
    ]
    if api.name == "CreateTopics":
        _tell_existing(results, table)
    if api.name == "DeleteTopics" and version < 6:
        part = getattr(kind, form.part)
        results = [
            part(name=name, error_code=ErrorCode.POLICY_VIOLATION, error_message=sentence)
            for name in request.topic_names
        ]
    return own_answer(header, kind(**{form.results: results}))


def _tell_existing(results: list[Message], table: NameTable) -> None:
    """Answer as brokers do for a topic that there is: Connect creates its own at each start."""
    for result in results:
        if result.name.encode() in table.links:
            result.error_code = int(ErrorCode.TOPIC_ALREADY_EXISTS)
            result.error_message = f"Topic '{result.name}' already exists."


def _copied(item: Message, form: _Form, kind: Message) -> dict[str, object]:
    if form.objects == "quotas":
        entity = [
            kind.EntityData(entity_type=each.entity_type, entity_name=each.entity_name)
            for each in item.entity
        ]
        return {"entity": entity}
    return {name: getattr(item, name) for name in form.same}
