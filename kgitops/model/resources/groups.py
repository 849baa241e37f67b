"""Consumer groups of a cluster, outside of virtual clusters: what they committed, their configs."""

from collections.abc import Mapping
from typing import ClassVar

from msgspec import Struct, field

from kgitops.model.resources.config_resources import ConfigResourceType

CommittedOffsets = Mapping[tuple[str, int], int]
"""(topic, partition) to the offset that a group has committed."""


class FoundGroup(Struct, frozen=True, kw_only=True):
    """A group as a coordinator and the config resource of its name show it.

    ``known``: a coordinator has it, with or without offsets. ``active``: it has members, so that
    its offsets can be changed by nobody else. ``configs`` are its own ones.
    """

    type: ClassVar = ConfigResourceType.GROUP
    name: str
    known: bool = False
    active: bool = False
    offsets: CommittedOffsets = field(default_factory=dict)
    configs: Mapping[str, str] = field(default_factory=dict)

    @property
    def exists(self) -> bool:
        """True if there is anything of this name: a group, or only configs for one."""
        return self.known or bool(self.offsets) or bool(self.configs)


class TopicOffsets(Struct, frozen=True, kw_only=True):
    """The offsets to commit for one topic, by partition; not for another topic of its name."""

    topic: str
    topic_id: str
    offsets: Mapping[int, int]
