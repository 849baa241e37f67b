"""Physical requests in words, a line each."""

from kgitops.model.requests import (
    NEW_UUID,
    AlterBrokerRequest,
    AlterClientQuotaRequest,
    AlterTopicRequest,
    CopyGroupOffsetsRequest,
    CreateAclRequest,
    CreateTopicRequest,
    DeleteAclRequest,
    DeleteGroupRequest,
    DeleteRecordsRequest,
    DeleteTopicRequest,
    Request,
)
from kgitops.model.resources.addresses import acl_address, broker_address, encode, quota_address
from kgitops.model.resources.quotas import quota_text
from kgitops.model.resources.virtual_clusters import physical_id


def wording(request: Request) -> str:
    """What brokers are asked for."""
    match request:
        case CreateTopicRequest():
            return f"create topic/{_topic(request.topic)}"
        case AlterTopicRequest():
            return f"alter topic/{_topic(request.topic)} ({request.step})"
        case DeleteTopicRequest():
            return f"delete topic/{_topic(request.topic)}"
        case DeleteRecordsRequest():
            return f"delete records of topic/{_topic(request.topic)}"
        case CreateAclRequest():
            return f"create {acl_address(request.binding)}"
        case DeleteAclRequest():
            return f"delete {acl_address(request.binding)}"
        case AlterClientQuotaRequest():
            values = ", ".join(
                f"{key}={'none' if value is None else quota_text(value)}"
                for key, value in sorted(request.quotas.items())
            )
            return f"set {quota_address(request.entity)} {values}"
        case AlterBrokerRequest():
            return f"alter {broker_address(request.broker)}"
        case CopyGroupOffsetsRequest():
            group = physical_id(request.virtual_cluster, request.group)
            return f"copy the offsets of the group {request.source} to {group}"
        case DeleteGroupRequest():
            return f"delete the group {physical_id(request.virtual_cluster, request.group)}"
        case _:
            raise ValueError(f"brokers are never asked for {type(request).__name__}")


def _topic(name: str) -> str:
    # The uuid that is still to be minted stands there as in the rest of a plan.
    return name if name.startswith(NEW_UUID) else encode(name)
