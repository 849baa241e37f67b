"""Refusals of requests about virtual clusters: a symbol, Kafka's nearest code, and a message."""

from collections.abc import Sequence
from enum import StrEnum

from kgitops.model.resources.acls import CLUSTER_NAME
from kgitops.model.resources.virtual_clusters import EntityType, VirtualCluster
from kgitops.model.results import ErrorCode
from kgitops.virtual_clusters.image import VirtualClustersDelta


class Symbol(StrEnum):
    """The errors that KIP-1134 defines no code for (VC-238)."""

    VC_NOT_FOUND = "VC_NOT_FOUND"
    LINK_NOT_FOUND = "LINK_NOT_FOUND"
    MEMBER_NOT_FOUND = "MEMBER_NOT_FOUND"
    VC_ALREADY_EXISTS = "VC_ALREADY_EXISTS"
    DUPLICATE_IN_REQUEST = "DUPLICATE_IN_REQUEST"
    LINK_ALREADY_EXISTS = "LINK_ALREADY_EXISTS"
    ENTITY_BOUND_ELSEWHERE = "ENTITY_BOUND_ELSEWHERE"
    VC_NOT_EMPTY = "VC_NOT_EMPTY"
    TOPIC_HAS_LINKS = "TOPIC_HAS_LINKS"
    RESERVED_NAME = "RESERVED_NAME"
    INVALID_NAME = "INVALID_NAME"
    INVALID_LINK_NAME = "INVALID_LINK_NAME"
    TOPIC_NOT_FOUND = "TOPIC_NOT_FOUND"
    INTERNAL_TOPIC = "INTERNAL_TOPIC"
    GROUP_NAME_COLLISION = "GROUP_NAME_COLLISION"
    TXN_IN_PROGRESS = "TXN_IN_PROGRESS"
    TOPIC_REPLACED = "TOPIC_REPLACED"


# All others are an INVALID_REQUEST.
_CODES = {
    Symbol.VC_NOT_FOUND: ErrorCode.RESOURCE_NOT_FOUND,
    Symbol.LINK_NOT_FOUND: ErrorCode.RESOURCE_NOT_FOUND,
    Symbol.MEMBER_NOT_FOUND: ErrorCode.RESOURCE_NOT_FOUND,
    Symbol.DUPLICATE_IN_REQUEST: ErrorCode.DUPLICATE_RESOURCE,
    Symbol.LINK_ALREADY_EXISTS: ErrorCode.TOPIC_ALREADY_EXISTS,
    Symbol.INVALID_LINK_NAME: ErrorCode.INVALID_TOPIC_EXCEPTION,
    Symbol.TOPIC_NOT_FOUND: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    Symbol.INTERNAL_TOPIC: ErrorCode.INVALID_TOPIC_EXCEPTION,
    Symbol.TXN_IN_PROGRESS: ErrorCode.CONCURRENT_TRANSACTIONS,
    Symbol.TOPIC_REPLACED: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
}


ENTITY_LABELS = {
    EntityType.TOPIC: "link",
    EntityType.GROUP: "group",
    EntityType.TRANSACTIONAL_ID: "transactional id",
    EntityType.USER: "user",
    EntityType.CLIENT_ID: "client id",
}
_MANY = 10


class VirtualClusterRefusal(Exception):  # noqa: N818 (an answer, not an error of this program)
    """The refusal of one item, of which nothing is done; the message begins with the symbol."""

    def __init__(self, symbol: Symbol, problem: str) -> None:
        super().__init__(f"{symbol}: {problem}")
        self.symbol = symbol
        self.code = _CODES.get(symbol, ErrorCode.INVALID_REQUEST)


def abbreviate(items: Sequence[str]) -> str:
    """The first items, and the number of those left out."""
    more = f" and {len(items) - _MANY} more" if len(items) > _MANY else ""
    return ", ".join(items[:_MANY]) + more


def find_virtual_cluster(delta: VirtualClustersDelta, name: str) -> VirtualCluster:
    """The virtual cluster of that name.

    Raises:
        VirtualClusterRefusal: there is no such virtual cluster.
    """
    if name == CLUSTER_NAME:
        raise VirtualClusterRefusal(
            Symbol.RESERVED_NAME, f"{CLUSTER_NAME} is the physical cluster itself"
        )
    virtual_cluster = delta.get(name)
    if virtual_cluster is None:
        raise VirtualClusterRefusal(Symbol.VC_NOT_FOUND, f"there is no virtual cluster {name}")
    return virtual_cluster


def check_member(virtual_cluster: VirtualCluster, entity_type: EntityType, name: str) -> None:
    """Refuse an entity that is not in the virtual cluster.

    Raises:
        VirtualClusterRefusal: the entity is not in it.
    """
    if name not in virtual_cluster.members(entity_type):
        link = entity_type is EntityType.TOPIC
        raise VirtualClusterRefusal(
            Symbol.LINK_NOT_FOUND if link else Symbol.MEMBER_NOT_FOUND,
            f"the virtual cluster {virtual_cluster.name} has no "
            f"{ENTITY_LABELS[entity_type]} {name}",
        )
