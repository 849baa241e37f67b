"""``kind: ClientQuota``: the quotas of one entity."""

from typing import Annotated, Literal

from annotated_types import MinLen

from kgitops.manifests.kinds.fields import NotNull, Number, Says, Text, manifest
from kgitops.manifests.kinds.metadata import Metadata


@manifest
class DefaultEntity:
    """The default entity: what holds where an entity has no quota of its own."""

    default: Literal[True]
    """Always true."""


_ENTITY = Says("a name or {default: true}", "write the name, in quotes if it is a number")
EntityName = Annotated[Text | DefaultEntity | None, _ENTITY]


@manifest
class QuotaEntity:
    """Whom the quotas are for: user, clientId or both, also in a virtual cluster; or ip."""

    user: EntityName = None
    """The user's name without "User:", or {default: true} (or `<default>`) for all others."""
    client_id: EntityName = None
    """The client id, or {default: true} (or `<default>`) for all others."""
    ip: EntityName = None
    """The address, or {default: true} (or `<default>`) for all others; stands alone."""
    virtual_cluster: EntityName = None
    """The virtual cluster that the user or client id belongs to. Alone, the quotas are its cap:
    what all in it may use together; {default: true} (or `<default>`) is the cap of all others."""


_RATE = Says("a number above 0", "write a number such as 1048576, or remove the key")
Rate = Annotated[Number, _RATE]


@manifest
class ClientQuotaSpec:
    """The quotas of one entity."""

    entity: QuotaEntity
    """Whom the quotas are for."""
    quotas: Annotated[dict[str, Rate], MinLen(1)]
    """Quota key to its value: producer_byte_rate, consumer_byte_rate, request_percentage,
    controller_mutation_rate; of an ip: connection_creation_rate."""
    deletion_policy: Annotated[Literal["Protect", "Delete", "Orphan"] | None, NotNull()] = None
    """What removing this document means: Delete (the default), Protect or Orphan."""


@manifest
class ClientQuota:
    """The quotas of one entity.

    Example:
        apiVersion: kgitops/v1
        kind: ClientQuota
        metadata: {name: billing}
        spec:
          entity: {user: billing, clientId: {default: true}}
          quotas: {consumer_byte_rate: 10485760}
    """

    api_version: Literal["kgitops/v1"]
    """The version of this format."""
    kind: Literal["ClientQuota"]
    """What the document declares."""
    metadata: Metadata
    """What the document says about itself."""
    spec: ClientQuotaSpec
    """The quotas."""
