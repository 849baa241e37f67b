"""What a request names must be there: the virtual cluster, and what is to leave it."""

from kgitops.model.resources.acls import CLUSTER_NAME
from kgitops.model.resources.virtual_clusters import EntityType, VirtualCluster
from kgitops.virtual_clusters.image import VirtualClustersDelta
from kgitops.virtual_clusters.refusals import WORDS, Symbol, VirtualClusterRefusal


def existing(delta: VirtualClustersDelta, name: str) -> VirtualCluster:
    """The virtual cluster of that name.

    Raises:
        VirtualClusterRefusal: there is none.
    """
    if name == CLUSTER_NAME:
        raise VirtualClusterRefusal(
            Symbol.RESERVED_NAME, f"{CLUSTER_NAME} is the physical cluster itself"
        )
    found = delta.get(name)
    if found is None:
        raise VirtualClusterRefusal(Symbol.VC_NOT_FOUND, f"there is no virtual cluster {name}")
    return found


def check_has(found: VirtualCluster, entity_type: EntityType, name: str) -> None:
    """The entity is in the virtual cluster.

    Raises:
        VirtualClusterRefusal: it is not.
    """
    if name not in found.members(entity_type):
        link = entity_type is EntityType.TOPIC
        raise VirtualClusterRefusal(
            Symbol.LINK_NOT_FOUND if link else Symbol.MEMBER_NOT_FOUND,
            f"the virtual cluster {found.name} has no {WORDS[entity_type]} {name}",
        )
