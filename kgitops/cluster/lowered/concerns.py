"""Which requests are about virtual clusters, and which topics must be looked at to decide them."""

from collections.abc import Iterable
from typing import assert_never

from kgitops.lowering.acls.compile import is_logical
from kgitops.model.requests import (
    AlterBrokerRequest,
    AlterClientQuotaRequest,
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
from kgitops.model.resources.quotas import VIRTUAL_CLUSTER
from kgitops.model.resources.virtual_clusters import LocalName


def concerns(request: Request, *, lowered: bool) -> bool:
    """Whether the request has to be lowered.

    Where something stands for virtual clusters already, ``lowered``, it may be what a request about
    a global object means as well: an ACL, a user's quota, or a topic that links lead to.
    """
    match request:
        case CreateAclRequest(binding=binding) | DeleteAclRequest(binding=binding):
            return lowered or is_logical(binding)
        case AlterClientQuotaRequest(entity=entity):
            return lowered or any(kind == VIRTUAL_CLUSTER for kind, _ in entity)
        case DeleteTopicRequest(local=local):
            return lowered or local is not None
        case CreateTopicRequest(local=local):
            return local is not None
        case (
            CreateVirtualClusterRequest()
            | AlterVirtualClusterRequest()
            | DeleteVirtualClusterRequest()
            | CopyGroupOffsetsRequest()
            | DeleteGroupRequest()
        ):
            return True
        case AlterTopicRequest() | DeleteRecordsRequest() | AlterBrokerRequest():
            return False  # whatever links lead to the topic, it is the same one
        case _:
            assert_never(request)


def topics_of(requests: Iterable[Request]) -> frozenset[str]:
    """The physical topics that these requests name."""
    names = set()
    for request in requests:
        match request:
            case AlterVirtualClusterRequest(topic=str(topic)):
                names.add(topic)
            case DeleteTopicRequest(topic=topic):
                names.add(topic)
            case _:
                pass
    return frozenset(names)


def links_of(requests: Iterable[Request]) -> frozenset[LocalName]:
    """The links, or topics that are being made in a virtual cluster, that these requests name."""
    names = set()
    for request in requests:
        match request:
            case AlterVirtualClusterRequest(target=LocalName() as target):
                names.add(target)
            case CreateTopicRequest(local=LocalName() as local):
                names.add(local)
            case _:
                pass
    return frozenset(names)
