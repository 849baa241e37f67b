"""What a caller's names stand for: physical ones, or those of the virtual cluster that it is in.

Rights are asked for first and existence after, so that nobody learns by an error what there is
(VC-150). All is of the moment of one request: who is bound meanwhile is so from the next on
(VC-091). A caller authenticated by a delegation token acts as the token's owner (VC-094).
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from kgitops.cluster.embedded.draft import Draft
from kgitops.cluster.embedded.refusal import Refusal
from kgitops.model.resources.acls import Operation, ResourceType
from kgitops.model.resources.virtual_clusters import SEPARATOR, LocalName, TopicLink
from kgitops.model.results import ErrorCode, RequestResult
from kgitops.virtual_clusters.resolution import Binding
from kgitops.virtual_clusters.rights import ApiKey, Scope

_DENIED = {
    ResourceType.TOPIC: (ErrorCode.TOPIC_AUTHORIZATION_FAILED, "Topic authorization failed."),
    ResourceType.GROUP: (ErrorCode.GROUP_AUTHORIZATION_FAILED, "Group authorization failed."),
    ResourceType.TRANSACTIONAL_ID: (
        ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
        "Transactional ID authorization failed.",
    ),
}
_NO_SUCH_TOPIC = "This server does not host this topic-partition."


class GlobalNamespace:
    """The namespace of who is in no virtual cluster: every name is a physical one (VC-088)."""

    virtual_cluster: str | None = None

    def __init__(self, draft: Draft) -> None:
        self.draft = draft

    def may(self, operation: Operation, resource_type: ResourceType, name: str) -> bool:
        """Whether the operation is allowed on what the caller calls by this name."""
        return self.draft.authorizer.allows(operation, resource_type, name)

    def topic(self, operation: Operation, name: str) -> str:
        """The physical topic of that name.

        Raises:
            Refusal: the operation on it is not allowed (29), or it is not there (3).
        """
        self._check(operation, ResourceType.TOPIC, name)
        if self.draft.delta.topics.get(name) is None:
            raise Refusal(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, _NO_SUCH_TOPIC)
        return name

    def group(self, operation: Operation, group: str) -> str:
        """The physical id of a group, which need not exist.

        Raises:
            Refusal: the operation on it is not allowed (30).
        """
        self._check(operation, ResourceType.GROUP, group)
        return self.physical_id(group)

    def transactional_id(self, operation: Operation, transactional_id: str) -> str:
        """The physical transactional id, which need not exist.

        Raises:
            Refusal: the operation on it is not allowed (53).
        """
        self._check(operation, ResourceType.TRANSACTIONAL_ID, transactional_id)
        return self.physical_id(transactional_id)

    def physical_id(self, name: str) -> str:
        """The physical id of a group or of a transactional id."""
        return name

    def local_group(self, physical: str) -> str | None:
        """What the caller calls the group; None: it is not in this namespace."""
        return physical

    def local_topics(self, physical: str) -> tuple[str, ...]:
        """What the caller calls the topic, in order; none: it is not in this namespace."""
        return (physical,)

    def lists_all_groups(self) -> bool:
        """Whether a right on the whole namespace shows its groups (VC-159)."""
        return self.draft.authorizer.allows_cluster(Operation.DESCRIBE)

    def groups(self) -> list[str]:
        """The groups of this namespace, by the caller's names, in order."""
        found = {self.local_group(group) for group in self.draft.delta.groups.all()}
        return sorted(group for group in found if group is not None)

    def has_group(self, group: str) -> bool:
        """Whether it is one of ``groups``."""
        physical = self.physical_id(group)
        known = self.draft.delta.groups.get(physical) is not None
        return known and self.local_group(physical) is not None

    def check_group(self, physical: str) -> None:
        """Refuse to make a group that a virtual cluster's would later be taken for (VC-117).

        Raises:
            Refusal: as said (42).
        """
        owner, separator, _ = physical.partition(SEPARATOR)
        taken = separator and self.draft.delta.virtual_clusters.get(owner) is not None
        if taken and self.draft.delta.groups.get(physical) is None:
            raise _collides(physical)

    def _check(self, operation: Operation, resource_type: ResourceType, name: str) -> None:
        if not self.may(operation, resource_type, name):
            raise Refusal(*_DENIED[resource_type])


class VirtualClusterNamespace(GlobalNamespace):
    """The namespace of one bound caller: its links, and ids below its virtual cluster's name."""

    def __init__(self, draft: Draft, binding: Binding) -> None:
        super().__init__(draft)
        self.binding = binding
        self.name = binding.virtual_cluster.name
        self.virtual_cluster = self.name

    def link(self, name: str) -> TopicLink | None:
        """The link of that name; there is no falling back to physical topics (VC-029)."""
        return self.binding.link(name)

    def may(self, operation: Operation, resource_type: ResourceType, name: str) -> bool:
        """Whether the operation is allowed on what the caller calls by this name."""
        if resource_type is ResourceType.TOPIC:
            link = self.link(name)
            physical = link.topic if link else None
        else:
            physical = self.physical_id(name)
        return self.draft.authorizer.allows_local(operation, resource_type, name, physical)

    def request(self, api_key: ApiKey) -> bool:
        """Whether a right on the virtual cluster allows the request in it (spec §8.2)."""
        return self.draft.authorizer.allows_request(api_key, Scope(self.name))

    def linked(self, operation: Operation, name: str, api_key: ApiKey | None = None) -> TopicLink:
        """The link of that name; a right on the virtual cluster to ``api_key`` is enough too.

        Raises:
            Refusal: the operation on it is not allowed (29), or it is not there (3).
        """
        if api_key is None or not self.request(api_key):
            self._check(operation, ResourceType.TOPIC, name)
        return self.existing(name)

    def existing(self, name: str) -> TopicLink:
        """The link of that name, whoever asks.

        Raises:
            Refusal: it is not there (3).
        """
        link = self.link(name)
        if link is None or self.draft.delta.topics.get(link.topic) is None:
            raise Refusal(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, _NO_SUCH_TOPIC)
        return link

    def topic(self, operation: Operation, name: str) -> str:
        """The physical topic that the link of that name leads to."""
        return self.linked(operation, name).topic

    def physical_id(self, name: str) -> str:
        """The physical id of a group or of a transactional id (VC-111, VC-118, VC-120)."""
        return self.binding.physical_id(name)

    def local_group(self, physical: str) -> str | None:
        """What the caller calls the group; None: it is not in this virtual cluster."""
        found = self.draft.delta.groups.get(physical)
        own = found is not None and found.virtual_cluster == self.name
        return self.binding.local_id(physical) if own else None

    def local_topics(self, physical: str) -> tuple[str, ...]:
        """The names of the links that lead to the topic (VC-023)."""
        links = self.draft.delta.virtual_clusters.links_to(physical)
        return tuple(sorted(link.name for link in links if link.virtual_cluster == self.name))

    def lists_all_groups(self) -> bool:
        """Whether a right on the virtual cluster shows its groups (VC-159)."""
        return self.request(ApiKey.LIST_GROUPS)

    def groups(self) -> list[str]:
        """The groups that members use, and those that were added (VC-113, VC-116)."""
        return sorted({*super().groups(), *self.binding.virtual_cluster.groups})

    def has_group(self, group: str) -> bool:
        """Whether it is one of ``groups``."""
        return super().has_group(group) or group in self.binding.virtual_cluster.groups

    def check_group(self, physical: str) -> None:
        """Refuse to use a group that was made outside and happens to have this id (VC-117)."""
        found = self.draft.delta.groups.get(physical)
        if found is not None and found.virtual_cluster != self.name:
            raise _collides(self.binding.local_id(physical) or "")

    @contextmanager
    def authorized(self, link: TopicLink | None = None) -> Iterator[None]:
        """Let a control decide about what the link leads to: rights were asked for by its name."""
        asked = self.draft.authorizer
        self.draft.authorizer = asked.allowing_everything()
        try:
            with self.draft.naming_topic(LocalName(self.name, link.name) if link else None):
                yield
        finally:
            self.draft.authorizer = asked


def namespace(draft: Draft) -> GlobalNamespace:
    """The namespace of who asks."""
    return tenant(draft) or GlobalNamespace(draft)


def tenant(draft: Draft) -> VirtualClusterNamespace | None:
    """The namespace of who asks, where that is a virtual cluster."""
    binding = draft.authorizer.binding
    return VirtualClusterNamespace(draft, binding) if binding is not None else None


def localized(result: RequestResult, physical: str, local: str) -> RequestResult:
    """The answer as the caller's names have it: it knows no others (VC-249)."""
    if result.message is None:
        return result
    name = rf"(?<![\w.-]){re.escape(physical)}(?![\w-]|\.[\w.-])"
    return replace(result, message=re.sub(name, lambda _: local, result.message))


def _collides(group: str) -> Refusal:
    return Refusal(
        ErrorCode.INVALID_REQUEST,
        f"GROUP_NAME_COLLISION: the group id {group} means one group outside virtual clusters and "
        "another one inside.",
    )
