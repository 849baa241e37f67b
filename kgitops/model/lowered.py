"""What stands for virtual clusters on a Kafka that has none (``lowering`` makes it)."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from kgitops.model.resources.acls import AclBinding
from kgitops.model.resources.quotas import ClientQuotaEntity
from kgitops.model.resources.virtual_clusters import LocalName


class Grade(StrEnum):
    """How well a feature is kept on a Kafka without virtual clusters (spec §0)."""

    EXACT = "EXACT"
    SNAPSHOT = "SNAPSHOT"
    APPROX = "APPROX"
    CLIENT = "CLIENT"
    NONE = "NONE"
    REFUSE = "REFUSE"


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class LoweringLine:
    """One line of the lowering report (spec §18): what is not exact, why, and what to do.

    ``grade`` is None for a line that grades nothing (L-NATIVE, L-ISOLATION). ``virtual_cluster``
    is empty for a line about the whole cluster.
    """

    code: str
    grade: Grade | None
    virtual_cluster: str = ""
    subject: str = ""
    reason: str = ""
    remedy: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class LoweredAcl:
    """A physical binding that stands for scoped ones (VC-168, VC-175).

    ``sources`` are the addresses of the scoped bindings. ``adopted``: it was there before, so it
    stays when its sources go. ``present``: the brokers have it now. Without sources it is left over
    from an apply that was interrupted.
    """

    binding: AclBinding
    virtual_cluster: str
    sources: tuple[str, ...]
    adopted: bool = False
    present: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class LoweredQuota:
    """A physical quota value that stands for ones of a virtual cluster.

    ``hidden`` is the global value in its place that comes back with the last source (VC-220);
    ``value`` None: the physical entity has none because it is hidden. ``found`` is what the
    brokers have now.
    """

    entity: ClientQuotaEntity
    key: str
    virtual_cluster: str
    value: float | None
    sources: tuple[str, ...] = ()
    hidden: float | None = None
    found: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Lowered:
    """Everything physical that kgitops keeps for virtual clusters on one Kafka.

    ``pending`` are topics on their way into being, by local name: the physical names they were
    given (VC-063). ``missing_acls`` and ``missing_quotas`` are recorded, and not there any more, or
    not yet: what stood for them was changed by others, or an apply was interrupted (VC-327).
    ``begun_acls`` and ``begun_quotas`` an interrupted apply was about to make: they count for
    nothing, but part of what stands for them may be there.
    """

    acls: Mapping[AclBinding, LoweredAcl] = field(default_factory=dict)
    quotas: Mapping[tuple[ClientQuotaEntity, str], LoweredQuota] = field(default_factory=dict)
    pending: Mapping[LocalName, str] = field(default_factory=dict)
    missing_acls: frozenset[AclBinding] = frozenset()
    missing_quotas: Mapping[tuple[ClientQuotaEntity, str], float] = field(default_factory=dict)
    begun_acls: frozenset[AclBinding] = frozenset()
    begun_quotas: frozenset[tuple[ClientQuotaEntity, str]] = frozenset()
