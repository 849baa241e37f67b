"""Parts of documents about access: the resource of rights, the name of an entity of quotas."""

from typing import Annotated, Literal

from kgitops.manifests.kinds.fields import EnumName, ErrorText, Text, manifest
from kgitops.model.resources.acls import PatternType, ResourceType


@manifest
class AclResource:
    """The resource that the bindings are for."""

    type: Annotated[ResourceType, EnumName(ResourceType)]
    """The type of the resource."""
    name: Text
    """The name of the resource, its prefix, or "*" for all; for the type cluster: kafka-cluster,
    or the virtual cluster to administer."""
    pattern_type: Annotated[PatternType, EnumName(PatternType)] = PatternType.LITERAL
    """The pattern type: literal for exactly this name, prefixed for names that begin with it."""


@manifest
class DefaultEntity:
    """The default entity: its quotas hold for entities that have none of their own."""

    default: Literal[True]
    """Always true."""


_ENTITY = ErrorText("a name or {default: true}", "write the name, in quotes if it is a number")
EntityName = Annotated[Text | DefaultEntity | None, _ENTITY]
