"""Updates physical bindings and quotas when virtual clusters and their ACLs change."""

from collections.abc import Iterable, Iterator

from kgitops.lowering.acls.changes import AclChanges
from kgitops.lowering.acls.compile import lower_binding, matches_link
from kgitops.lowering.acls.conflicts import find_conflicts
from kgitops.lowering.acls.scoped_acls import ScopedAcls, is_topic_denial, spans_virtual_clusters
from kgitops.lowering.effects import NotLowerable
from kgitops.lowering.quota_changes import QuotaChanges
from kgitops.model.resources.acls import EVERYONE, AclBinding, ResourceType
from kgitops.model.resources.addresses import acl_address
from kgitops.model.resources.virtual_clusters import (
    CapLowering,
    LocalName,
    TopicLink,
    VirtualCluster,
    user_name,
)
from kgitops.virtual_clusters.image import VirtualClustersDelta
from kgitops.virtual_clusters.rights import VirtualClusterScope


class Namespaces:
    """The current virtual clusters and their bindings, with the physical objects behind them."""

    def __init__(
        self,
        delta: VirtualClustersDelta,
        names: Iterable[str],
        scoped: ScopedAcls,
        acls: AclChanges,
        quotas: QuotaChanges,
    ) -> None:
        self.delta = delta
        self.names = set(names)
        self._scoped = scoped
        self._acls = acls
        self._quotas = quotas

    def refuse_conflicts(
        self, after: VirtualCluster, added: AclBinding | None = None, *, all_of: bool = False
    ) -> None:
        """Refuse a change that makes rules on one physical topic contradict each other (VC-169).

        ``after`` is the virtual cluster after the change; with ``all_of`` conflicts that existed
        before are refused too.

        Raises:
            NotLowerable: there is such a conflict.
        """
        bindings = self._scoped.in_virtual_cluster(after.name)
        denies = bindings.denies or (added is not None and is_topic_denial(added))
        if after.options.deny_wins or not denies:
            return
        existing = list(bindings.all())
        conflicts = set(find_conflicts(after, [*existing, added] if added else existing))
        before = self.delta.get(after.name)
        if conflicts and before is not None and not all_of:
            conflicts -= set(find_conflicts(before, existing))
        if conflicts:
            raise NotLowerable(
                f"L-ACL-CONFLICT: {min(conflicts)}; brokers know the topic only, so change one of "
                f"the rules, or set lowering.denyWins on the virtual cluster {after.name}"
            )

    def link(self, local: LocalName, link: TopicLink, request_index: int) -> None:
        """Require the bindings for a new link (VC-161 to VC-163)."""
        virtual_cluster = self._existing(local.virtual_cluster)
        for binding in self._scoped.in_virtual_cluster(virtual_cluster.name).about(local.name):
            source = acl_address(binding)
            for physical in lower_binding(
                binding, virtual_cluster.name, {link.name: link}, virtual_cluster.users
            ):
                self._acls.require(physical, source, virtual_cluster.name, request_index)

    def unlink(self, local: LocalName, link: TopicLink, request_index: int) -> None:
        """Release the bindings for a removed link, except those that another link needs."""
        virtual_cluster = self._existing(local.virtual_cluster)
        others = [
            other.name
            for other in self.delta.links_to(link.topic)
            if other.virtual_cluster == virtual_cluster.name and other != local
        ]
        for binding in list(
            self._scoped.in_virtual_cluster(virtual_cluster.name).about(local.name)
        ):
            if any(matches_link(binding, other) for other in others):
                continue
            source = acl_address(binding)
            for physical in lower_binding(
                binding, virtual_cluster.name, {link.name: link}, virtual_cluster.users
            ):
                self._acls.release(physical, source, request_index)

    def bind(self, name: str, principal: str, request_index: int) -> None:
        """Require the bindings for a new member (VC-145, VC-166)."""
        virtual_cluster = self._existing(name)
        for binding in self._scoped.in_virtual_cluster(name).of(principal):
            source = acl_address(binding)
            for physical in lower_binding(binding, name, virtual_cluster.links, (principal,)):
                self._acls.require(physical, source, name, request_index)
        self._member_changed(virtual_cluster, principal, request_index)

    def unbind(self, name: str, principal: str, request_index: int) -> None:
        """Release all bindings for a former member (VC-089)."""
        virtual_cluster = self._existing(name)
        for binding in self._scoped.in_virtual_cluster(name).of(principal):
            source = acl_address(binding)
            for physical in lower_binding(binding, name, virtual_cluster.links, (principal,)):
                self._acls.release(physical, source, request_index)
        self._member_changed(virtual_cluster, principal, request_index)

    def allow(self, binding: AclBinding, request_index: int) -> None:
        """Add a binding of virtual clusters."""
        for virtual_cluster in self.virtual_clusters_of(binding):
            self.refuse_conflicts(virtual_cluster, binding)
        self._scoped.add(binding)
        source = acl_address(binding)
        required = set()
        for virtual_cluster in self.virtual_clusters_of(binding):
            for physical in lower_binding(
                binding, virtual_cluster.name, virtual_cluster.links, virtual_cluster.users
            ):
                self._acls.require(physical, source, virtual_cluster.name, request_index)
                required.add(physical)
        for physical in self._acls.bindings_for(source) - required:
            self._acls.release(physical, source, request_index)

    def disallow(self, binding: AclBinding, request_index: int) -> None:
        """Remove a binding of virtual clusters."""
        self._scoped.discard(binding)
        source = acl_address(binding)
        for physical in self._acls.bindings_for(source):
            self._acls.release(physical, source, request_index)

    def recompile(self, name: str | None, request_index: int) -> None:
        """Have the quotas of all members recompiled; with None those of all virtual clusters."""
        for each in (name,) if name is not None else tuple(self.names):
            virtual_cluster = self.delta.get(each)
            users = (
                {user_name(user) for user in virtual_cluster.users}
                if virtual_cluster is not None
                else set()
            )
            for user in users | self._quotas.users_in(each):
                if user:
                    self._quotas.mark_dirty(user, request_index)

    def users(self) -> frozenset[str]:
        """The members of all virtual clusters, by their name in quotas."""
        current = filter(None, map(self.delta.get, self.names))
        return frozenset(filter(None, (user_name(user) for vc in current for user in vc.users)))

    def virtual_clusters_of(self, binding: AclBinding) -> Iterator[VirtualCluster]:
        """The virtual clusters where the binding can apply: a user is in one at most (X-15)."""
        if binding.resource_type is ResourceType.CLUSTER:
            return
        if not spans_virtual_clusters(binding):
            names: Iterable[str | None] = (binding.virtual_cluster,)
        elif binding.principal == EVERYONE:
            names = sorted(self.names)
        else:
            names = (self.delta.of_user(binding.principal),)
        scope = VirtualClusterScope.of(binding)
        for name in names:
            virtual_cluster = self.delta.get(name) if name is not None else None
            if virtual_cluster is not None and scope.covers(
                VirtualClusterScope(virtual_cluster.name)
            ):
                yield virtual_cluster

    def _member_changed(
        self, virtual_cluster: VirtualCluster, principal: str, request_index: int
    ) -> None:
        user = user_name(principal)
        if user is not None:
            self._quotas.mark_dirty(user, request_index)
        if virtual_cluster.options.cap_lowering is CapLowering.DIVIDE:
            self.recompile(virtual_cluster.name, request_index)

    def _existing(self, name: str) -> VirtualCluster:
        virtual_cluster = self.delta.get(name)
        if virtual_cluster is None:
            raise ValueError(f"there is no virtual cluster {name!r} that could change")
        return virtual_cluster
