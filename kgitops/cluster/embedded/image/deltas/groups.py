"""What records change of groups."""

from collections.abc import Mapping
from dataclasses import replace

from kgitops.cluster.embedded.image.deltas.merging import merged
from kgitops.cluster.embedded.image.image import GroupImage, GroupsImage
from kgitops.cluster.embedded.image.records import GroupRecord, RemoveGroupRecord


class GroupsDelta:
    """Changes of groups."""

    def __init__(self, image: GroupsImage) -> None:
        self._image = image
        self._changed: dict[str, GroupImage | None] = {}

    def get(self, group: str) -> GroupImage | None:
        """The group of this physical id."""
        return self._changed[group] if group in self._changed else self._image.groups.get(group)

    def all(self) -> Mapping[str, GroupImage]:
        """Every group by physical id."""
        return merged(self._image.groups, self._changed) if self._changed else self._image.groups

    def commit(self, record: GroupRecord) -> None:
        """Take in a group, or what it committed."""
        group = self.get(record.group) or GroupImage(virtual_cluster=record.virtual_cluster)
        committed = {**group.committed, **record.committed}
        self._changed[record.group] = replace(group, committed=committed)

    def remove(self, record: RemoveGroupRecord) -> None:
        """Take in that a group is gone."""
        self._changed[record.group] = None

    def forget(self, topic: str) -> None:
        """Take in that a topic is gone."""
        for name, group in self.all().items():
            kept = {key: group.committed[key] for key in group.committed if key[0] != topic}
            if len(kept) < len(group.committed):
                self._changed[name] = replace(group, committed=kept)

    def apply(self) -> GroupsImage:
        """The next image."""
        return GroupsImage(groups=self.all()) if self._changed else self._image
