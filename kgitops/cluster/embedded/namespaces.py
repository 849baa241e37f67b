"""Resolves a caller's names: physical ones, or those of the virtual cluster that the caller is in.

Rights are checked first and existence after, so that no error tells a caller what exists (VC-150).
A namespace is of the moment of one request: a caller that is bound meanwhile is bound from its
next request on (VC-091). A caller with a delegation token acts as the token's owner (VC-094).
"""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from msgspec.structs import replace

from kgitops.cluster.embedded.draft import Draft
from kgitops.cluster.embedded.image.image import TopicImage
from kgitops.cluster.embedded.refusal import Refusal, attempt
from kgitops.model.resources.acls import Operation, ResourceType
from kgitops.model.resources.virtual_clusters import SEPARATOR, LocalName, TopicLink
from kgitops.model.results import ErrorCode, RequestResult
from kgitops.virtual_clusters.resolution import Binding
from kgitops.virtual_clusters.rights import ApiKey, VirtualClusterScope

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
    """The namespace of a caller in no virtual cluster: every name is a physical one (VC-088)."""

    virtual_cluster: str | None = None

    def __init__(self, draft: Draft) -> None:
        self.draft = draft

    def may(self, operation: Operation, resource_type: ResourceType, name: str) -> bool:
        """Return whether the caller may do the operation on the resource that it calls ``name``."""
        return self.draft.authorizer.allows(operation, resource_type, name)

    def topic(self, operation: Operation, name: str) -> str:
        """Resolve a topic's name to the physical one.

        Raises:
            Refusal: the operation on it is not allowed (29), or it does not exist (3).
        """
        self._check(operation, ResourceType.TOPIC, name)
        if self.draft.delta.topics.get(name) is None:
            raise Refusal(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, _NO_SUCH_TOPIC)
        return name

    def find_topic(self, name: str) -> TopicImage | None:
        """Find the topic of that name without asking for a right."""
        return self.draft.delta.topics.get(name)

    def topics(self) -> list[str]:
        """Names of all topics of this namespace, in order."""
        return sorted(self.draft.image.topics.by_name)

    def group(self, operation: Operation, group: str) -> str:
        """Resolve a group, which need not exist, to its physical id.

        Raises:
            Refusal: the operation on it is not allowed (30).
        """
        self._check(operation, ResourceType.GROUP, group)
        return self.physical_id(group)

    def transactional_id(self, operation: Operation, transactional_id: str) -> str:
        """Resolve a transactional id, which need not exist, to the physical one.

        Raises:
            Refusal: the operation on it is not allowed (53).
        """
        self._check(operation, ResourceType.TRANSACTIONAL_ID, transactional_id)
        return self.physical_id(transactional_id)

    def physical_id(self, name: str) -> str:
        """The physical id of a group or of a transactional id."""
        return name

    def local_id(self, physical: str) -> str | None:
        """The caller's name of a transactional id; None if it is not in this namespace."""
        return physical

    def local_group(self, physical: str) -> str | None:
        """The caller's name of the group; None if it is not in this namespace."""
        return physical

    def local_topics(self, physical: str) -> tuple[str, ...]:
        """The caller's names of the topic, in order; none if it is not in this namespace."""
        return (physical,)

    def lists_all_groups(self) -> bool:
        """Return whether a right on the whole namespace shows its groups (VC-159)."""
        return self.draft.authorizer.allows_cluster(Operation.DESCRIBE)

    def groups(self) -> list[str]:
        """The groups of this namespace, by the caller's names, in order."""
        names = {self.local_group(group) for group in self.draft.delta.groups.all()}
        return sorted(name for name in names if name is not None)

    def has_group(self, group: str) -> bool:
        physical = self.physical_id(group)
        exists = self.draft.delta.groups.get(physical) is not None
        return exists and self.local_group(physical) is not None

    def check_group(self, physical: str) -> None:
        """Refuse to make a group that would later be taken for a virtual cluster's (VC-117).

        Raises:
            Refusal: it would (42).
        """
        owner, separator, _ = physical.partition(SEPARATOR)
        taken = separator and self.draft.delta.virtual_clusters.get(owner) is not None
        if taken and self.draft.delta.groups.get(physical) is None:
            raise _group_collision(physical)

    @contextmanager
    def acting_on(
        self,
        operation: Operation,  # noqa: ARG002 (the control asks for the right itself)
        name: str,
        api_key: ApiKey | None = None,  # noqa: ARG002
    ) -> Iterator[str]:
        """Let a control act on the topic of that name; yields the topic's physical name.

        In this namespace the control itself checks the right, and that the topic exists.
        """
        yield name

    def decide_on(
        self,
        operation: Operation,
        name: str,
        decide: Callable[[str], RequestResult | None],
        api_key: ApiKey | None = None,
    ) -> RequestResult:
        """Answer of a control that acts on the topic of that name, in the caller's names."""
        try:
            with self.acting_on(operation, name, api_key) as physical:
                return self.localized(attempt(decide, physical), name)
        except Refusal as refusal:
            return refusal.result

    def localized(
        self,
        result: RequestResult,
        name: str,  # noqa: ARG002 (it is the physical one)
    ) -> RequestResult:
        """The answer about the topic of that name, with no other name of it in the message."""
        return result

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
        """The link of that name; physical topics are no fallback (VC-029)."""
        return self.binding.link(name)

    def may(self, operation: Operation, resource_type: ResourceType, name: str) -> bool:
        """Return whether the caller may do the operation on the resource that it calls ``name``."""
        if resource_type is ResourceType.TOPIC:
            link = self.link(name)
            physical = link.topic if link else None
        else:
            physical = self.physical_id(name)
        return self.draft.authorizer.allows_local(operation, resource_type, name, physical)

    def allows_request(self, api_key: ApiKey) -> bool:
        """Return whether a right on the virtual cluster allows the request in it (spec §8.2)."""
        return self.draft.authorizer.allows_request(api_key, VirtualClusterScope(self.name))

    def linked(self, operation: Operation, name: str, api_key: ApiKey | None = None) -> TopicLink:
        """The link of that name; a right on the virtual cluster to ``api_key`` is enough too.

        Raises:
            Refusal: the operation on it is not allowed (29), or it does not exist (3).
        """
        if api_key is None or not self.allows_request(api_key):
            self._check(operation, ResourceType.TOPIC, name)
        return self.existing_link(name)

    def existing_link(self, name: str) -> TopicLink:
        """The link of that name, without asking for a right.

        Raises:
            Refusal: it does not exist (3).
        """
        link = self.link(name)
        if link is None or self.draft.delta.topics.get(link.topic) is None:
            raise Refusal(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, _NO_SUCH_TOPIC)
        return link

    def topic(self, operation: Operation, name: str) -> str:
        """Resolve a link's name to the physical topic that it leads to."""
        return self.linked(operation, name).topic

    def find_topic(self, name: str) -> TopicImage | None:
        """Find the topic that the link of that name leads to, without asking for a right."""
        link = self.link(name)
        return self.draft.delta.topics.get(link.topic) if link else None

    def topics(self) -> list[str]:
        """Names of all links, in order."""
        return sorted(self.binding.virtual_cluster.links)

    def physical_id(self, name: str) -> str:
        """The physical id of a group or of a transactional id (VC-111, VC-118, VC-120)."""
        return self.binding.physical_id(name)

    def local_id(self, physical: str) -> str | None:
        """The name of a transactional id in this virtual cluster."""
        return self.binding.local_id(physical)

    def local_group(self, physical: str) -> str | None:
        """The caller's name of the group; None if it is not in this virtual cluster."""
        group = self.draft.delta.groups.get(physical)
        own = group is not None and group.virtual_cluster == self.name
        return self.binding.local_id(physical) if own else None

    def local_topics(self, physical: str) -> tuple[str, ...]:
        """The names of the links that lead to the topic (VC-023)."""
        links = self.draft.delta.virtual_clusters.links_to(physical)
        return tuple(sorted(link.name for link in links if link.virtual_cluster == self.name))

    def lists_all_groups(self) -> bool:
        """Return whether a right on the virtual cluster shows its groups (VC-159)."""
        return self.allows_request(ApiKey.LIST_GROUPS)

    def groups(self) -> list[str]:
        """The groups that members use, and those that were added (VC-113, VC-116)."""
        return sorted({*super().groups(), *self.binding.virtual_cluster.groups})

    def has_group(self, group: str) -> bool:
        return super().has_group(group) or group in self.binding.virtual_cluster.groups

    def check_group(self, physical: str) -> None:
        """Refuse to use a group that was made outside and happens to have this id (VC-117)."""
        group = self.draft.delta.groups.get(physical)
        if group is not None and group.virtual_cluster != self.name:
            raise _group_collision(self.binding.local_id(physical) or "")

    @contextmanager
    def acting_on(
        self, operation: Operation, name: str, api_key: ApiKey | None = None
    ) -> Iterator[str]:
        """Check the right and the link here, and let the control act on the topic unchecked."""
        link = self.linked(operation, name, api_key)
        with self.authorized(link):
            yield link.topic

    def localized(self, result: RequestResult, name: str) -> RequestResult:
        """The answer with the link's name in place of the topic's: the caller knows no other."""
        link = self.link(name)
        if result.message is None or link is None:
            return result
        physical = rf"(?<![\w.-]){re.escape(link.topic)}(?![\w-]|\.[\w.-])"
        return replace(result, message=re.sub(physical, lambda _: name, result.message))

    @contextmanager
    def authorized(self, link: TopicLink | None = None) -> Iterator[None]:
        """Let a control act with every right: the caller's were checked by its own names."""
        caller = self.draft.authorizer
        self.draft.authorizer = caller.allowing_everything()
        try:
            with self.draft.naming_topic(LocalName(self.name, link.name) if link else None):
                yield
        finally:
            self.draft.authorizer = caller


def namespace(draft: Draft) -> GlobalNamespace:
    """The caller's namespace."""
    return virtual_cluster_namespace(draft) or GlobalNamespace(draft)


def virtual_cluster_namespace(draft: Draft) -> VirtualClusterNamespace | None:
    """The caller's namespace if it is in a virtual cluster."""
    binding = draft.authorizer.binding
    return VirtualClusterNamespace(draft, binding) if binding is not None else None


def _group_collision(group: str) -> Refusal:
    return Refusal(
        ErrorCode.INVALID_REQUEST,
        f"GROUP_NAME_COLLISION: the group id {group} means one group outside virtual clusters and "
        "another one inside.",
    )
