"""Requests as JSON, for plan files and journals, and back; exactly one shape for each.

Most requests are their own JSON, apart from their labels, which are those of the change. The others
have a document class here. 64-bit offsets and config values are text, quotas their shortest
decimals.
"""

from collections.abc import Mapping
from functools import cache
from typing import TypeVar, get_args

from msgspec import NODEFAULT, Struct, defstruct
from msgspec.structs import asdict, fields, replace

from kgitops.model.json.codec import WholeNumberText, from_json, to_json
from kgitops.model.json.objects import (
    BindingDocument,
    Entity,
    ShortestDecimals,
    binding_document,
    binding_of,
    like,
)
from kgitops.model.json.strict import ShapeError, integer_text
from kgitops.model.registry import Json
from kgitops.model.requests import (
    AlterBrokerRequest,
    AlterClientQuotaRequest,
    AlterConfigResourceRequest,
    AlterConsumerGroupOffsetsRequest,
    AlterTopicRequest,
    AlterUserScramCredentialsRequest,
    AlterVirtualClusterRequest,
    CreateAclRequest,
    CreateTopicRequest,
    DeleteAclRequest,
    DeleteRecordsRequest,
    Request,
    SaltedCredentialsRequest,
)
from kgitops.model.resources.acls import AclBinding
from kgitops.model.resources.groups import TopicOffsets
from kgitops.model.resources.quotas import make_entity
from kgitops.model.resources.topics import RATES
from kgitops.model.resources.users import PasswordSource, ScramMechanism
from kgitops.model.resources.virtual_clusters import (
    ChangeType,
    EntityType,
    LocalName,
    LoweringOptions,
)

V = TypeVar("V")

REQUESTS: Mapping[str, type[Request]] = {
    kind.__name__.removesuffix("Request"): kind for kind in get_args(Request)
}
"""The classes of requests by their ``api``."""


class DeleteRecordsBody(
    Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True
):
    """``DeleteRecords``: partitions and offsets as text."""

    topic: str
    topic_id: str
    deleted_message_offsets: Mapping[str, WholeNumberText]
    local: LocalName | None = None


class CreateAclBody(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """``CreateAcl``."""

    binding: BindingDocument


class DeleteAclBody(CreateAclBody, frozen=True, kw_only=True, omit_defaults=True):
    """``DeleteAcl``."""

    migrated_to: str | None = None


class AlterClientQuotaBody(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """``AlterClientQuota``: the names of the entity by their type."""

    entity: Entity
    quotas: Mapping[str, ShortestDecimals | None]


class AlterUserBody(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """``AlterUserScramCredentials``: a mechanism without iterations is one that is removed."""

    user: str
    mechanism: ScramMechanism
    iterations: int | None
    password: PasswordSource | None
    virtual_cluster: str | None


class TopicOffsetsDocument(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The offsets to commit for one topic: partitions and offsets as text."""

    topic: str
    topic_id: str
    offsets: Mapping[str, WholeNumberText]


class AlterConsumerGroupOffsetsBody(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """``AlterConsumerGroupOffsets``."""

    group: str
    topics: tuple[TopicOffsetsDocument, ...]


class AlterEntityBody(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """``AlterVirtualCluster`` of one entity."""

    virtual_cluster: str
    change: ChangeType
    entity_type: EntityType
    entity_name: str
    topic: str | None
    target: LocalName | None
    replaces: str | None
    moved_from: str | None
    adopts: str | None


class AlterOptionsBody(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """``AlterVirtualCluster`` of the options alone."""

    virtual_cluster: str
    options: LoweringOptions


def body_classes(api: str) -> tuple[type[Struct], ...]:
    """The document classes that the body of such a request may be of."""
    special: dict[str, tuple[type[Struct], ...]] = {
        "DeleteRecords": (DeleteRecordsBody,),
        "CreateAcl": (CreateAclBody,),
        "DeleteAcl": (DeleteAclBody,),
        "AlterClientQuota": (AlterClientQuotaBody,),
        "AlterUserScramCredentials": (AlterUserBody,),
        "AlterConsumerGroupOffsets": (AlterConsumerGroupOffsetsBody,),
        "AlterVirtualCluster": (AlterEntityBody, AlterOptionsBody),
    }
    return special.get(api) or (_body_class(REQUESTS[api]),)


def request_to_json(request: Request) -> dict[str, Json]:
    """The request's ``body`` in a plan; ``api_name`` gives its type."""
    body: dict[str, Json] = to_json(request_body(request))
    return body


def request_body(request: Request) -> Struct:
    """The value whose JSON is the request's body, its mappings in their order."""
    match request:
        case CreateTopicRequest() | AlterTopicRequest():
            state = request.requested_state
            ordered = replace(
                state,
                configs=_sorted(state.configs),
                requested_configs=_sorted(state.requested_configs),
            )
            return _as_it_is(replace(request, requested_state=ordered))
        case DeleteRecordsRequest():
            offsets = sorted(request.deleted_message_offsets.items())
            return DeleteRecordsBody(
                topic=request.topic,
                topic_id=request.topic_id,
                deleted_message_offsets={str(partition): str(at) for partition, at in offsets},
                local=request.local,
            )
        case CreateAclRequest():
            return CreateAclBody(binding=binding_document(request.binding))
        case DeleteAclRequest():
            binding = binding_document(request.binding)
            return DeleteAclBody(binding=binding, migrated_to=request.migrated_to or None)
        case AlterClientQuotaRequest():
            return AlterClientQuotaBody(
                entity=dict(request.entity),
                quotas={
                    key: None if value is None else ShortestDecimals.of(value)
                    for key, value in sorted(request.quotas.items())
                },
            )
        case SaltedCredentialsRequest():
            raise TypeError("a request with its password is written nowhere")
        case AlterUserScramCredentialsRequest():
            return like(AlterUserBody, request)
        case AlterConsumerGroupOffsetsRequest():
            return AlterConsumerGroupOffsetsBody(
                group=request.group, topics=tuple(map(_topic_offsets, request.topics))
            )
        case AlterBrokerRequest() | AlterConfigResourceRequest():
            return _as_it_is(replace(request, configs=_sorted(request.configs)))
        case AlterVirtualClusterRequest(options=LoweringOptions() as options):
            return AlterOptionsBody(virtual_cluster=request.virtual_cluster, options=options)
        case AlterVirtualClusterRequest():
            return like(AlterEntityBody, request)
        case _:
            return _as_it_is(request)


def _as_it_is(request: Request) -> Struct:
    return like(_body_class(type(request)), request)


@cache
def _body_class(kind: type[Request]) -> type[Struct]:
    """A document class with the fields of a request: what may be left out is last, labels are not.

    Labels are those of the change.
    """
    own = [field for field in fields(kind) if field.name != "labels"]
    always = [(field.name, field.type) for field in own if field.default is NODEFAULT]
    optional = [
        (field.name, field.type, field.default) for field in own if field.default is not NODEFAULT
    ]
    return defstruct(
        kind.__name__.removesuffix("Request") + "Body",
        [*always, *optional],
        frozen=True,
        kw_only=True,
        omit_defaults=True,
        forbid_unknown_fields=True,
    )


def _sorted(values: Mapping[str, V]) -> dict[str, V]:
    return dict(sorted(values.items()))


def request_from_json(api: str, body: Json, *, exactly: bool = True) -> Request:
    """The request that ``request_to_json`` wrote; ``exactly`` as in ``codec.decode``.

    Raises:
        ShapeError: it is of another shape.
    """
    match api:
        case "DeleteRecords":
            return _delete_records(from_json(DeleteRecordsBody, body, "body"))
        case "CreateAcl":
            return CreateAclRequest(binding=_binding(from_json(CreateAclBody, body, "body")))
        case "DeleteAcl":
            acl = from_json(DeleteAclBody, body, "body")
            return DeleteAclRequest(binding=_binding(acl), migrated_to=acl.migrated_to)
        case "AlterClientQuota":
            return _alter_client_quota(from_json(AlterClientQuotaBody, body, "body"))
        case "AlterUserScramCredentials":
            user = from_json(AlterUserBody, body, "body")
            return AlterUserScramCredentialsRequest(**asdict(user))
        case "AlterConsumerGroupOffsets":
            return _alter_offsets(from_json(AlterConsumerGroupOffsetsBody, body, "body"))
        case "AlterVirtualCluster":
            return _alter_virtual_cluster(body)
        case _:
            return _read_as_it_is(api, body, exactly)


def _read_as_it_is(api: str, body: Json, exactly: bool) -> Request:
    """A request whose JSON has the fields of its class."""
    if api not in REQUESTS:
        raise ShapeError(f"api is {api!r}, which is not a request")
    kind = REQUESTS[api]
    request = kind(**asdict(from_json(_body_class(kind), body, "body", exactly=exactly)))
    if isinstance(request, AlterBrokerRequest):
        for key in request.configs.keys() - RATES:
            raise ShapeError(
                f"body.configs.{key} is not a replication throttle, and no other config may be "
                "changed"
            )
    return request


def _delete_records(body: DeleteRecordsBody) -> DeleteRecordsRequest:
    path = "a partition of body.deleted_message_offsets"
    offsets = body.deleted_message_offsets.items()
    return DeleteRecordsRequest(
        topic=body.topic,
        topic_id=body.topic_id,
        deleted_message_offsets={integer_text(key, path): int(offset) for key, offset in offsets},
        local=body.local,
    )


def _topic_offsets(item: TopicOffsets) -> TopicOffsetsDocument:
    return TopicOffsetsDocument(
        topic=item.topic,
        topic_id=item.topic_id,
        offsets={str(partition): str(at) for partition, at in sorted(item.offsets.items())},
    )


def _alter_offsets(body: AlterConsumerGroupOffsetsBody) -> AlterConsumerGroupOffsetsRequest:
    path = "a partition of body.topics"
    return AlterConsumerGroupOffsetsRequest(
        group=body.group,
        topics=tuple(
            TopicOffsets(
                topic=item.topic,
                topic_id=item.topic_id,
                offsets={
                    integer_text(key, path): int(offset) for key, offset in item.offsets.items()
                },
            )
            for item in body.topics
        ),
    )


def _binding(body: CreateAclBody) -> AclBinding:
    return binding_of(body.binding)


def _alter_client_quota(body: AlterClientQuotaBody) -> AlterClientQuotaRequest:
    return AlterClientQuotaRequest(
        entity=make_entity(body.entity),
        quotas={key: None if value is None else float(value) for key, value in body.quotas.items()},
    )


def _alter_virtual_cluster(body: Json) -> AlterVirtualClusterRequest:
    if isinstance(body, dict) and "options" in body:
        given = from_json(AlterOptionsBody, body, "body")
        return AlterVirtualClusterRequest(
            virtual_cluster=given.virtual_cluster, options=given.options
        )
    entity = from_json(AlterEntityBody, body, "body")
    link = entity.entity_type is EntityType.TOPIC and entity.change is ChangeType.ADD
    if link != ((entity.topic is None) != (entity.target is None)):
        raise ShapeError("body.topic or body.target must say where a link that is added leads to")
    return AlterVirtualClusterRequest(**asdict(entity))
