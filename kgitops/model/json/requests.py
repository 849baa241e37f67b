"""Requests as JSON, for plan files and journals, and back; exactly one shape for each.

Keys are snake_case; 64-bit offsets and config values are text, quotas their shortest decimals.
"""

from collections.abc import Mapping
from typing import assert_never

from kgitops.model.json.objects import binding_to_json, read_binding, read_entity, read_quota
from kgitops.model.json.strict import (
    ShapeError,
    array,
    boolean,
    choice,
    integer,
    integer_text,
    mapping,
    members,
    text,
    text_or_none,
)
from kgitops.model.json.virtual_clusters import (
    alter_from_json,
    alter_to_json,
    local_to_json,
    options_to_json,
    read_local,
    read_options,
)
from kgitops.model.registry import Json
from kgitops.model.requests import (
    AlterBrokerRequest,
    AlterClientQuotaRequest,
    AlterStep,
    AlterTopicRequest,
    AlterVirtualClusterRequest,
    CopyGroupOffsetsRequest,
    CreateAclRequest,
    CreateTopicRequest,
    CreateVirtualClusterRequest,
    DeleteAclRequest,
    DeleteGroupRequest,
    DeleteRecordsRequest,
    DeleteTopicRequest,
    DeleteVirtualClusterRequest,
    Request,
)
from kgitops.model.resources.acls import AclBinding
from kgitops.model.resources.quotas import quota_text
from kgitops.model.resources.topics import RATES, RequestedTopicState

_STATE_KEYS = (
    "name",
    "topic_id",
    "assignment",
    "configs",
    "marked_for_deletion",
    "reassigning",
    "requested_configs",
    "generated_replica_assignments",
)


def request_to_json(request: Request) -> dict[str, Json]:
    """The request's ``body`` in a plan; ``api_name`` gives its type."""
    match request:
        case CreateTopicRequest():
            return {
                "topic": request.topic,
                "requested_state": _state_to_json(request.requested_state),
                **local_to_json(request.local),
            }
        case AlterTopicRequest():
            return {
                "topic": request.topic,
                "topic_id": request.topic_id,
                "step": str(request.step),
                "requested_state": _state_to_json(request.requested_state),
                **local_to_json(request.local),
            }
        case DeleteTopicRequest():
            return {
                "topic": request.topic,
                "topic_id": request.topic_id,
                **local_to_json(request.local),
            }
        case DeleteRecordsRequest():
            offsets = request.deleted_message_offsets
            return {
                "topic": request.topic,
                "topic_id": request.topic_id,
                "deleted_message_offsets": {str(k): str(offsets[k]) for k in sorted(offsets)},
                **local_to_json(request.local),
            }
        case CreateAclRequest():
            return {"binding": binding_to_json(request.binding)}
        case DeleteAclRequest():
            body = {"binding": binding_to_json(request.binding)}
            return body | ({"migrated_to": request.migrated_to} if request.migrated_to else {})
        case AlterClientQuotaRequest():
            quotas = request.quotas
            return {
                "entity": dict(request.entity),
                "quotas": {key: _quota_to_json(quotas[key]) for key in sorted(quotas)},
            }
        case AlterBrokerRequest():
            configs = request.configs
            return {
                "broker": request.broker,
                "configs": {key: configs[key] for key in sorted(configs)},
            }
        case CreateVirtualClusterRequest():
            return {
                "virtual_cluster": request.virtual_cluster,
                "options": options_to_json(request.options),
            }
        case AlterVirtualClusterRequest():
            return alter_to_json(request)
        case DeleteVirtualClusterRequest():
            return {"virtual_cluster": request.virtual_cluster}
        case CopyGroupOffsetsRequest():
            return {
                "virtual_cluster": request.virtual_cluster,
                "group": request.group,
                "source": request.source,
            }
        case DeleteGroupRequest():
            return {"virtual_cluster": request.virtual_cluster, "group": request.group}
        case _:
            assert_never(request)


def request_from_json(api: str, body: Json) -> Request:
    """The request that ``request_to_json`` wrote.

    Raises:
        ValueError: the api is not known, or the body is not exactly of its shape.
    """
    match api:
        case "CreateTopic":
            given = members(body, "body", ("topic", "requested_state", *_local(body)))
            return CreateTopicRequest(
                topic=text(given["topic"], "body.topic"),
                requested_state=_state(given["requested_state"], "body.requested_state"),
                local=read_local(given.get("local"), "body.local"),
            )
        case "AlterTopic":
            keys = ("topic", "topic_id", "step", "requested_state", *_local(body))
            given = members(body, "body", keys)
            return AlterTopicRequest(
                topic=text(given["topic"], "body.topic"),
                topic_id=text(given["topic_id"], "body.topic_id"),
                step=choice(AlterStep, given["step"], "body.step"),
                requested_state=_state(given["requested_state"], "body.requested_state"),
                local=read_local(given.get("local"), "body.local"),
            )
        case "DeleteTopic":
            given = members(body, "body", ("topic", "topic_id", *_local(body)))
            return DeleteTopicRequest(
                topic=text(given["topic"], "body.topic"),
                topic_id=text(given["topic_id"], "body.topic_id"),
                local=read_local(given.get("local"), "body.local"),
            )
        case "DeleteRecords":
            keys = ("topic", "topic_id", "deleted_message_offsets", *_local(body))
            given = members(body, "body", keys)
            path = "body.deleted_message_offsets"
            offsets = mapping(given["deleted_message_offsets"], path)
            return DeleteRecordsRequest(
                topic=text(given["topic"], "body.topic"),
                topic_id=text(given["topic_id"], "body.topic_id"),
                deleted_message_offsets={
                    integer_text(key, f"a partition of {path}"): integer_text(
                        value, f"{path}.{key}"
                    )
                    for key, value in offsets.items()
                },
                local=read_local(given.get("local"), "body.local"),
            )
        case "CreateAcl":
            return CreateAclRequest(binding=_binding(members(body, "body", ("binding",))))
        case "DeleteAcl":
            migrated = "migrated_to" in mapping(body, "body")
            given = members(body, "body", ("binding", *(["migrated_to"] if migrated else [])))
            return DeleteAclRequest(
                binding=_binding(given),
                migrated_to=text(given["migrated_to"], "body.migrated_to") if migrated else None,
            )
        case "AlterClientQuota":
            given = members(body, "body", ("entity", "quotas"))
            return AlterClientQuotaRequest(
                entity=read_entity(given["entity"], "body.entity"),
                quotas={
                    key: None if value is None else read_quota(value, f"body.quotas.{key}")
                    for key, value in mapping(given["quotas"], "body.quotas").items()
                },
            )
        case "AlterBroker":
            given = members(body, "body", ("broker", "configs"))
            return AlterBrokerRequest(
                broker=integer(given["broker"], "body.broker"),
                configs=_rates(given["configs"], "body.configs"),
            )
        case "CreateVirtualCluster":
            given = members(body, "body", ("virtual_cluster", "options"))
            return CreateVirtualClusterRequest(
                virtual_cluster=text(given["virtual_cluster"], "body.virtual_cluster"),
                options=read_options(given["options"], "body.options"),
            )
        case "AlterVirtualCluster":
            return alter_from_json(body)
        case "DeleteVirtualCluster":
            given = members(body, "body", ("virtual_cluster",))
            name = text(given["virtual_cluster"], "body.virtual_cluster")
            return DeleteVirtualClusterRequest(virtual_cluster=name)
        case "CopyGroupOffsets":
            given = members(body, "body", ("virtual_cluster", "group", "source"))
            return CopyGroupOffsetsRequest(
                virtual_cluster=text(given["virtual_cluster"], "body.virtual_cluster"),
                group=text(given["group"], "body.group"),
                source=text(given["source"], "body.source"),
            )
        case "DeleteGroup":
            given = members(body, "body", ("virtual_cluster", "group"))
            return DeleteGroupRequest(
                virtual_cluster=text(given["virtual_cluster"], "body.virtual_cluster"),
                group=text(given["group"], "body.group"),
            )
        case _:
            raise ShapeError(f"api is {api!r}, which is not a request")


def _state_to_json(state: RequestedTopicState) -> dict[str, Json]:
    return {
        "name": state.name,
        "topic_id": state.topic_id,
        "assignment": [list(replicas) for replicas in state.assignment],
        "configs": {key: state.configs[key] for key in sorted(state.configs)},
        "marked_for_deletion": state.marked_for_deletion,
        "reassigning": state.reassigning,
        "requested_configs": {
            key: state.requested_configs[key] for key in sorted(state.requested_configs)
        },
        "generated_replica_assignments": state.generated_replica_assignments,
    }


def _state(value: Json, path: str) -> RequestedTopicState:
    given = members(value, path, _STATE_KEYS)
    return RequestedTopicState(
        name=text(given["name"], f"{path}.name"),
        topic_id=text_or_none(given["topic_id"], f"{path}.topic_id"),
        assignment=array(given["assignment"], f"{path}.assignment", _replicas),
        configs={
            key: text(config, f"{path}.configs.{key}")
            for key, config in mapping(given["configs"], f"{path}.configs").items()
        },
        marked_for_deletion=boolean(given["marked_for_deletion"], f"{path}.marked_for_deletion"),
        reassigning=boolean(given["reassigning"], f"{path}.reassigning"),
        requested_configs={
            key: text_or_none(config, f"{path}.requested_configs.{key}")
            for key, config in mapping(
                given["requested_configs"], f"{path}.requested_configs"
            ).items()
        },
        generated_replica_assignments=boolean(
            given["generated_replica_assignments"], f"{path}.generated_replica_assignments"
        ),
    )


def _rates(value: Json, path: str) -> dict[str, str | None]:
    rates = {key: text_or_none(item, f"{path}.{key}") for key, item in mapping(value, path).items()}
    for key in rates:
        if key not in RATES:
            raise ShapeError(
                f"{path}.{key} is not a replication throttle, and no other config may be changed"
            )
    return rates


def _replicas(value: Json, path: str) -> tuple[int, ...]:
    return array(value, path, integer)


def _binding(given: Mapping[str, Json]) -> AclBinding:
    return read_binding(given["binding"], "body.binding")


def _local(body: Json) -> tuple[str, ...]:
    """The key of the local name, where the topic is one of a virtual cluster."""
    return ("local",) if isinstance(body, dict) and "local" in body else ()


def _quota_to_json(value: float | None) -> str | None:
    return None if value is None else quota_text(value)
