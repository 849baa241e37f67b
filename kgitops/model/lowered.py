"""The physical ACLs and quotas that ``lowering`` keeps for virtual clusters on a Kafka without."""

from collections.abc import Mapping
from enum import StrEnum

from msgspec import Struct, field

from kgitops.model.resources.acls import AclBinding
from kgitops.model.resources.quotas import ClientQuotaEntity
from kgitops.model.resources.virtual_clusters import LocalName


class Grade(StrEnum):
    """The fidelity of a feature on a Kafka without virtual clusters (spec §0)."""

    EXACT = "EXACT"
    SNAPSHOT = "SNAPSHOT"
    APPROX = "APPROX"
    CLIENT = "CLIENT"
    NONE = "NONE"
    REFUSE = "REFUSE"


class DeclaredGateway(Struct, frozen=True, kw_only=True):
    """The gateway that clients of a cluster come through; it translates the names.

    ``bootstrap_servers`` is where they connect, as ``HOST:PORT,HOST:PORT``.
    """

    bootstrap_servers: str


class LoweringLine(Struct, frozen=True, kw_only=True, order=True):
    """One line of the lowering report (spec §18): a deviation, its reason and its remedy.

    ``grade`` is None for a line that grades nothing (L-NATIVE, L-ISOLATION). ``virtual_cluster``
    is empty for a line about the whole cluster.
    """

    code: str
    grade: Grade | None
    virtual_cluster: str = ""
    subject: str = ""
    reason: str = ""
    remedy: str = ""


class LoweredAcl(Struct, frozen=True, kw_only=True):
    """A physical binding that implements scoped ones (VC-168, VC-175).

    ``sources`` are the addresses of the scoped bindings. ``adopted``: it existed before, so it
    stays when its sources go. ``present``: the brokers have it now. One without sources was left
    over by an interrupted apply.
    """

    binding: AclBinding
    virtual_cluster: str
    sources: tuple[str, ...]
    adopted: bool = False
    present: bool = True


class LoweredQuota(Struct, frozen=True, kw_only=True):
    """A physical quota value that implements quotas of a virtual cluster.

    ``hidden`` is the global value that it replaces, restored when the last source goes (VC-220);
    ``value`` is None where the physical entity has no quota because the global one is hidden.
    ``found`` is the value that the brokers have now.
    """

    entity: ClientQuotaEntity
    key: str
    virtual_cluster: str
    value: float | None
    sources: tuple[str, ...] = ()
    hidden: float | None = None
    found: float | None = None


class Lowered(Struct, frozen=True, kw_only=True):
    """Everything physical that kgitops keeps for virtual clusters on one Kafka.

    ``pending`` maps the local name of each topic that is being created to its physical name
    (VC-063). ``missing_acls`` and ``missing_quotas`` are recorded but not fully in place: others
    changed their physical counterparts, or an apply was interrupted (VC-327). ``begun_acls`` and
    ``begun_quotas`` are those that an interrupted apply was about to create: they are not in
    effect, but part of their physical counterparts may exist.
    """

    acls: Mapping[AclBinding, LoweredAcl] = field(default_factory=dict)
    quotas: Mapping[tuple[ClientQuotaEntity, str], LoweredQuota] = field(default_factory=dict)
    pending: Mapping[LocalName, str] = field(default_factory=dict)
    missing_acls: frozenset[AclBinding] = frozenset()
    missing_quotas: Mapping[tuple[ClientQuotaEntity, str], float] = field(default_factory=dict)
    begun_acls: frozenset[AclBinding] = frozenset()
    begun_quotas: frozenset[tuple[ClientQuotaEntity, str]] = frozenset()
