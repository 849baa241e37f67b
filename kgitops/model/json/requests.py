"""Requests as JSON, for plan files and journals, and back; exactly one shape for each.

A request's labels are those of its change. 64-bit offsets and config values are text, quotas their
shortest decimals.
"""

from collections.abc import Mapping
from functools import cache
from typing import get_args

from msgspec import NODEFAULT
from msgspec.structs import FieldInfo, fields, replace

from kgitops.model.json.codec import from_json, to_json
from kgitops.model.json.spelled import Codec, exact_codec, without_none
from kgitops.model.json.strict import ShapeError
from kgitops.model.registry import Json
from kgitops.model.requests import (
    AlterBrokerRequest,
    AlterUserScramCredentialsRequest,
    AlterVirtualClusterRequest,
    Request,
    SaltedCredentialsRequest,
)
from kgitops.model.resources.topics import RATES
from kgitops.model.resources.virtual_clusters import ChangeType, EntityType

REQUESTS: Mapping[str, type[Request]] = {
    kind.__name__.removesuffix("Request"): kind for kind in get_args(Request)
}
"""The classes of requests by their ``api``."""
_NEVER_NONE = frozenset({"entity_type", "entity_name", "options"})
"""The fields of AlterVirtualCluster that have a value wherever they are written."""


def body_classes(api: str) -> tuple[type, ...]:
    """The classes whose JSON the body of such a request may be."""
    kind = REQUESTS[api]
    if kind is AlterVirtualClusterRequest:
        return _codec(kind).shape, _codec(kind, of_options=True).shape
    return (_codec(kind).shape,)


@cache
def _codec(kind: type[Request], *, of_options: bool = False) -> Codec:
    """The codec of a body; an AlterVirtualCluster is about its options or about an entity."""
    name = f"{kind.__name__.removesuffix('Request')}Body"
    given = [info for info in fields(kind) if info.name != "labels"]
    if kind is AlterVirtualClusterRequest:
        name = "AlterOptionsBody" if of_options else "AlterEntityBody"
        given = [
            _always_written(info)
            for info in given
            if info.name == "virtual_cluster" or (info.name == "options") is of_options
        ]
    elif kind is AlterUserScramCredentialsRequest:
        given = list(map(_always_written, given))
    return exact_codec(kind, name, given)


def _always_written(info: FieldInfo) -> FieldInfo:
    if info.name in _NEVER_NONE:
        info = replace(info, type=without_none(info.type))
    return replace(info, default=NODEFAULT)


def request_to_json(request: Request) -> dict[str, Json]:
    """The request's ``body`` in a plan; ``api_name`` gives its type."""
    body: dict[str, Json] = to_json(request_body(request))
    return body


def request_body(request: Request) -> dict[str, Json]:
    """The request's body for ``codec.encode``, its mappings in their order."""
    if isinstance(request, SaltedCredentialsRequest):
        raise TypeError("a request with its password is written nowhere")
    of_options = isinstance(request, AlterVirtualClusterRequest) and request.options is not None
    return _codec(type(request), of_options=of_options).write(request)


def request_from_json(api: str, body: Json, *, exactly: bool = True) -> Request:
    """The request that ``request_to_json`` wrote; ``exactly`` as in ``codec.decode``.

    Raises:
        ShapeError: it is of another shape.
    """
    if api not in REQUESTS:
        raise ShapeError(f"api is {api!r}, which is not a request")
    kind = REQUESTS[api]
    has_options = isinstance(body, dict) and "options" in body
    codec = _codec(kind, of_options=kind is AlterVirtualClusterRequest and has_options)
    request = kind(**codec.values(from_json(codec.shape, body, "body", exactly=exactly)))
    if isinstance(request, AlterBrokerRequest):
        for key in request.configs.keys() - RATES:
            raise ShapeError(
                f"body.configs.{key} is not a replication throttle, and no other config may be "
                "changed"
            )
    if isinstance(request, AlterVirtualClusterRequest) and request.options is None:
        adds = request.entity_type is EntityType.TOPIC and request.change is ChangeType.ADD
        if adds != ((request.topic is None) != (request.target is None)):
            raise ShapeError(
                "body.topic or body.target must say where a link that is added leads to"
            )
    return request
