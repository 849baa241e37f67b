"""The names of each virtual cluster, as bytes on the wire, and who is a member of which."""

from collections.abc import Mapping

from msgspec import Struct

from kgitops.virtual_clusters.image import VirtualClustersImage
from kgitops.virtual_clusters.resolution import bind


class NameTable(Struct, frozen=True, kw_only=True):
    """The names of one virtual cluster, in UTF-8; ``links`` are those that may be used now.

    ``version`` is that of the tables in which a name of this virtual cluster last changed: a table
    that did not change is the same object in the next tables. ``local_names`` leads back from a
    physical topic; several names of one topic are sorted. ``topic_ids`` maps the 16 bytes of a
    topic id to the physical name. ``prefix`` stands before group and transactional ids.
    """

    virtual_cluster: str
    version: int
    links: Mapping[bytes, bytes]
    local_names: Mapping[bytes, tuple[bytes, ...]]
    topic_ids: Mapping[bytes, bytes]
    prefix: bytes


class NameTables(Struct, frozen=True, kw_only=True):
    """The names of all virtual clusters at one moment; the next ones replace them as a whole.

    ``version`` grows by one with each change of a name or a member; ``offset`` is the end of the
    registry's log when they were built. ``image`` tells who is a member.
    """

    version: int
    offset: int
    image: VirtualClustersImage
    by_virtual_cluster: Mapping[str, NameTable]

    def bind(self, principal: str, client_id: str | None) -> NameTable | None:
        """The names for this caller; None if it is in no virtual cluster."""
        binding = bind(self.image, principal, client_id)
        return None if binding is None else self.by_virtual_cluster[binding.virtual_cluster.name]
