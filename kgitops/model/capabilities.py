"""What a cluster can do, asked before planning and told to the user, never skipped in silence."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum


class Validation(StrEnum):
    """Who checked a planned request before it is sent."""

    BROKER = "broker"
    CLIENT = "client"
    NOT_SUPPORTED = "not-supported"


class VirtualClusterSupport(StrEnum):
    """Whether brokers know virtual clusters, kgitops stands in for them, or there are none."""

    NATIVE = "native"
    LOWERED = "lowered"
    NONE = "none"


@dataclass(frozen=True, slots=True, kw_only=True)
class Client:
    """By what brokers know kgitops where they hold its clients to quotas.

    ``user`` is the name it logs in with, without its type; None where it can't be told, as of a
    certificate or a token.
    """

    client_id: str
    user: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Capabilities:
    """Which APIs a cluster carries out, by their name in a plan, and who can check each.

    ``virtual_clusters`` says how it has them (VC-351). ``client`` is None where quotas don't
    throttle kgitops.
    """

    backend: str
    validation: Mapping[str, Validation]
    virtual_clusters: VirtualClusterSupport = VirtualClusterSupport.NONE
    client: Client | None = None

    def supports(self, api: str) -> bool:
        """Whether the cluster can carry out requests of this api."""
        return api in self.validation
