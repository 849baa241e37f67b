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
class Capabilities:
    """Which APIs a cluster carries out, by their name in a plan, and who can check each.

    ``virtual_clusters`` says how it has them (VC-351).
    """

    backend: str
    validation: Mapping[str, Validation]
    virtual_clusters: VirtualClusterSupport = VirtualClusterSupport.NONE

    def supports(self, api: str) -> bool:
        """Whether the cluster can carry out requests of this api."""
        return api in self.validation
