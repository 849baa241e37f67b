"""Options of an embedded cluster: its brokers' static configs, its clock, simulated faults."""

import base64
import uuid
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from enum import StrEnum
from typing import Protocol

from msgspec import Struct, field

BROKER_PRINCIPAL = "User:kafka"
DEFAULT_BUSY_TIMEOUT_MS = 5_000


SECRET_ENDINGS = ("sasl.jaas.config", "ssl.keystore.key", ".password")
"""The ends of the keys whose values only the listeners may see."""
_HIDDEN = "[hidden]"


class Compat(StrEnum):
    """The answers to give where the seed KIPs differ from today's KRaft (spec §5)."""

    SEED = "seed"
    KRAFT = "kraft"


class AuthorizerKind(StrEnum):
    """``none`` keeps ACLs and allows everything; ``disabled`` refuses ACLs themselves (A4-95)."""

    NONE = "none"
    ACLS = "acls"
    DISABLED = "disabled"


class Options(Struct, frozen=True, kw_only=True):
    """Options of a connection to an embedded cluster; none of them is kept in the store.

    ``vendor_configs`` allows topic configs that Kafka does not know. ``static_configs`` is the
    properties file of all brokers, ``broker_configs`` what single brokers have in addition, by id.
    ``virtual_clusters``: the feature ``virtual.clusters`` is at level 1 (VC-351).
    ``registry_topic``: clients may create the topic in which kgitops keeps its registry on a Kafka;
    this cluster's own registry is in the store.
    """

    compat: Compat = Compat.SEED
    authorizer: AuthorizerKind = AuthorizerKind.NONE
    super_users: frozenset[str] = frozenset()
    virtual_clusters: bool = True
    vendor_configs: bool = False
    registry_topic: bool = False
    static_configs: Mapping[str, str] = field(default_factory=dict)
    broker_configs: Mapping[int, Mapping[str, str]] = field(default_factory=dict)
    busy_timeout_ms: int = DEFAULT_BUSY_TIMEOUT_MS

    @property
    def seed(self) -> bool:
        """True if the seed KIPs are followed to the letter."""
        return self.compat is Compat.SEED

    def static_configs_of(self, broker: int) -> Mapping[str, str]:
        """The content of one broker's properties file."""
        return {**self.static_configs, **self.broker_configs.get(broker, {})}


class GroupMembers(Protocol):
    """Knows the consumers in groups; they are in memory, and not in the store."""

    def has_members(self, group: str) -> bool:
        """Return whether anyone is in the group of this physical id."""
        ...

    def subscribed_topics(self, group: str) -> frozenset[str] | None:
        """The topics that its consumers read, by their own names; None if they don't tell."""
        ...


def without_secrets(configs: Mapping[str, str]) -> dict[str, str]:
    """The configs with Kafka's word for a password in the place of each secret."""
    return {
        key: _HIDDEN if key.endswith(SECRET_ENDINGS) else value for key, value in configs.items()
    }


class Faults(Struct, kw_only=True):
    """Delays and failures to simulate for tests; each names the topics it holds up, or all.

    ``busy_groups`` are the physical ids of groups that have members; a served cluster knows them.
    Operations that are held up are finished by ``EmbeddedCluster.release``.
    """

    hold_reassignments: bool = False
    hold_deletions: bool = False
    leaderless_topics: frozenset[str] = frozenset()
    authorizer_fails: bool = False
    busy_groups: frozenset[str] = frozenset()


def uuid_text(value: uuid.UUID) -> str:
    """A UUID as Kafka writes one: 22 characters of base64url."""
    return base64.urlsafe_b64encode(value.bytes).decode().rstrip("=")


def random_uuid() -> uuid.UUID:
    """A random UUID that Kafka accepts: its text does not begin with a dash."""
    while True:
        value = uuid.uuid4()
        if not uuid_text(value).startswith("-"):
            return value


def random_id() -> str:
    """A random UUID in Kafka's text."""
    return uuid_text(random_uuid())


class ClockAndIds(Struct, frozen=True, kw_only=True):
    """The sources of time and of fresh ids, so that tests can give their own."""

    now: Callable[[], datetime]
    new_id: Callable[[], str]
    new_uuid: Callable[[], uuid.UUID] = random_uuid

    def now_ms(self) -> int:
        """Milliseconds since 1970, as Kafka's timestamps."""
        return int(self.now().timestamp() * 1000)


def utc_now() -> datetime:
    """The machine's clock."""
    return datetime.now(UTC)


SYSTEM_CLOCK_AND_IDS = ClockAndIds(now=utc_now, new_id=random_id)
