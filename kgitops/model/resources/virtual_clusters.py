"""Virtual clusters (KIP-1134): their links to physical topics and their members."""

import re
from collections.abc import Mapping
from enum import StrEnum

from msgspec import Struct, field

from kgitops.model.resources.acls import CLUSTER_NAME
from kgitops.model.resources.names import MAX_TOPIC_NAME

SEPARATOR = ":"
"""Separates a virtual cluster's name from a group or transactional id (VC-112); no name has it."""
MAX_LOCAL_NAME = MAX_TOPIC_NAME - 37
"""The longest local name of a topic, whose physical name begins with ``<uuid>.`` (VC-058)."""
DEFAULT = "<default>"

_NAME = re.compile(r"[A-Za-z0-9._-]{1,249}")
_GENERATED = re.compile(r"([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\.(.+)", re.DOTALL)


class EntityType(StrEnum):
    """The types of entities in a virtual cluster (VC-239)."""

    TOPIC = "topic"
    GROUP = "group"
    TRANSACTIONAL_ID = "transactionalId"
    USER = "user"
    CLIENT_ID = "clientId"


EXCLUSIVE = (EntityType.USER, EntityType.CLIENT_ID)
"""Types whose entities are in at most one virtual cluster, where all they do counts (VC-080)."""


class ChangeType(StrEnum):
    """KIP-1134's ResourceChangeType."""

    ADD = "add"
    REMOVE = "remove"


class CapLowering(StrEnum):
    """Ways to express a cap on a Kafka that has no quota over several users (VC-221)."""

    CLAMP = "clamp"
    DIVIDE = "divide"
    NONE = "none"


class LoweringOptions(Struct, frozen=True, kw_only=True):
    """``spec.lowering`` of one virtual cluster."""

    cap_lowering: CapLowering = CapLowering.CLAMP
    deny_wins: bool = False


class LocalName(Struct, frozen=True, order=True):
    """A name within a virtual cluster."""

    virtual_cluster: str
    name: str

    def __str__(self) -> str:
        return f"{self.virtual_cluster}/{self.name}"


class TopicLink(Struct, frozen=True, kw_only=True):
    """A local name for a physical topic: ``topic`` is that topic's name (VC-020, VC-047)."""

    name: str
    topic: str
    topic_id: str | None = None


class VirtualCluster(Struct, frozen=True, kw_only=True):
    """One virtual cluster (VC-316).

    ``links`` are by link name; ``users`` are principals; ``groups`` maps a local group id to the
    global group that it took over, None where it took over none (VC-114); ``options`` apply only on
    a Kafka without virtual clusters; the rest are names.
    """

    name: str
    links: Mapping[str, TopicLink] = field(default_factory=dict)
    users: frozenset[str] = frozenset()
    client_ids: frozenset[str] = frozenset()
    groups: Mapping[str, str | None] = field(default_factory=dict)
    transactional_ids: frozenset[str] = frozenset()
    options: LoweringOptions = field(default_factory=LoweringOptions)

    @property
    def empty(self) -> bool:
        """True if it has no entities, so that it can be deleted (VC-245)."""
        return not (
            self.links or self.users or self.client_ids or self.groups or self.transactional_ids
        )

    def members(self, entity_type: EntityType) -> frozenset[str]:
        """The names of its entities of this type."""
        match entity_type:
            case EntityType.TOPIC:
                return frozenset(self.links)
            case EntityType.GROUP:
                return frozenset(self.groups)
            case EntityType.TRANSACTIONAL_ID:
                return self.transactional_ids
            case EntityType.USER:
                return self.users
            case EntityType.CLIENT_ID:
                return self.client_ids


def physical_id(virtual_cluster: str, local_id: str) -> str:
    """The physical id of a local group or transactional id (VC-111, VC-120)."""
    return f"{virtual_cluster}{SEPARATOR}{local_id}"


def generated_topic_name(uuid: str, name: str) -> str:
    """The physical name of a virtual cluster's topic; a uuid has 36 characters (VC-056)."""
    return f"{uuid}.{name}"


def placeholder_topic_name(local: LocalName) -> str:
    """Placeholder for the physical name of a virtual cluster's topic until it is created.

    Unlike the name in a plan it is unique: two virtual clusters may each get an Orders.
    """
    return generated_topic_name(f"<uuid:new of {local.virtual_cluster}>", local.name)


def generated_parts(topic: str) -> tuple[str, str] | None:
    """The uuid and the user's part of a name that looks generated; None for any other name."""
    match = _GENERATED.fullmatch(topic)
    return (match[1], match[2]) if match else None


def default_link_name(topic: str) -> str:
    """The default name of a link to ``topic`` (VC-025)."""
    parts = generated_parts(topic)
    return parts[1] if parts else topic


def virtual_cluster_name_problem(name: str) -> str | None:
    """The reason why the name of a virtual cluster is illegal (VC-007, VC-104), or None."""
    if name == CLUSTER_NAME:
        return f"{CLUSTER_NAME} is the physical cluster itself and can't be a virtual cluster"
    if name in (".", ".."):
        return f"a virtual cluster can't be named {name!r}"
    if not name:
        return "the name of a virtual cluster can't be empty"
    if len(name) > MAX_TOPIC_NAME:
        return f"the name has {len(name)} characters, {MAX_TOPIC_NAME} are allowed"
    if not _NAME.fullmatch(name):
        illegal = sorted(set(re.sub(r"[A-Za-z0-9._-]", "", name)))
        return f"the name {name!r} contains {', '.join(map(repr, illegal))}"
    return None


def as_principal(user: str) -> str:
    """The principal of a user: ``jane`` and ``User:jane`` are the same (VC-083)."""
    return user if SEPARATOR in user else f"User:{user}"


def user_name(principal: str) -> str | None:
    """The user's name in quotas; None for a principal that is not a ``User:`` (VC-083)."""
    kind, colon, name = principal.partition(SEPARATOR)
    return name if colon and kind == "User" else None
