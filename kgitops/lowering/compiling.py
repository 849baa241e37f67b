"""What must be there physically for one virtual cluster: the whole of it, from what is meant."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from kgitops.lowering.acls.compile import lower
from kgitops.lowering.quotas.compile import Target, lower_user
from kgitops.lowering.quotas.table import QuotaTable
from kgitops.model.resources.acls import AclBinding
from kgitops.model.resources.addresses import acl_address
from kgitops.model.resources.quotas import ClientQuotaEntity
from kgitops.model.resources.virtual_clusters import VirtualCluster, user_name


@dataclass(frozen=True, slots=True, kw_only=True)
class Compiled:
    """Physical bindings and the addresses of their sources (VC-168), and physical quota values."""

    acls: Mapping[AclBinding, tuple[str, ...]]
    quotas: Mapping[tuple[ClientQuotaEntity, str], Target]


def compile_virtual_cluster(
    found: VirtualCluster, bindings: Iterable[AclBinding], table: QuotaTable
) -> Compiled:
    """``bindings`` are those that act in the virtual cluster, ``table`` holds all quotas.

    No user is in two virtual clusters, so nothing physical belongs to two.
    """
    acls: dict[AclBinding, list[str]] = {}
    for binding in bindings:
        source = acl_address(binding)
        for physical in lower(binding, found.name, found.links, found.users):
            acls.setdefault(physical, []).append(source)
    quotas: dict[tuple[ClientQuotaEntity, str], Target] = {}
    for user in sorted(filter(None, map(user_name, found.users))):
        quotas |= lower_user(table, found, user)
    return Compiled(
        acls={physical: tuple(sorted(sources)) for physical, sources in acls.items()},
        quotas=quotas,
    )
