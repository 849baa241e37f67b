"""Patterns of virtual clusters, as scopes and CLUSTER resources have: a name, a prefix, or all."""

from dataclasses import dataclass
from typing import Self

from kgitops.model.resources.acls import CLUSTER_NAME, AclBinding, PatternType, ResourceType

EVERY = "*"


@dataclass(frozen=True, slots=True)
class Scope:
    """Some virtual clusters, also future ones, or the physical cluster (VC-100, VC-144).

    A prefix and ``*`` never mean ``kafka-cluster``, whatever it begins with (VC-108).
    """

    name: str
    pattern_type: PatternType = PatternType.LITERAL

    @classmethod
    def of(cls, binding: AclBinding) -> Self:
        """Where the binding acts; one on CLUSTER carries it in its resource name (VC-140)."""
        if binding.resource_type is ResourceType.CLUSTER:
            return cls(binding.resource_name, binding.pattern_type)
        return cls(binding.virtual_cluster, binding.virtual_cluster_pattern_type)

    @property
    def physical(self) -> bool:
        """Whether it is the physical cluster, and no virtual one."""
        return self._literal and self.name == CLUSTER_NAME

    def covers(self, other: "Scope") -> bool:
        """Whether everything in ``other`` is in here too."""
        if self.physical or other.physical:
            return self == other
        if self.every:
            return True
        if self._literal:
            return self == other
        return other.name.startswith(self.name)

    def meets(self, other: "Scope") -> bool:
        """Whether a virtual cluster can be in both: of two prefixes, one begins with the other."""
        return self.covers(other) or other.covers(self)

    @property
    def _literal(self) -> bool:
        return self.pattern_type is PatternType.LITERAL

    @property
    def every(self) -> bool:
        """Whether it is all virtual clusters."""
        return (self._literal and self.name == EVERY) or (not self._literal and not self.name)
