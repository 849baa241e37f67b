"""What becomes of physical bindings and quotas when virtual clusters and their rules change."""

from collections.abc import Iterable, Iterator

from kgitops.lowering.acls.changes import AclChanges
from kgitops.lowering.acls.compile import lower, names_link
from kgitops.lowering.acls.conflicts import conflicts
from kgitops.lowering.acls.scoped_acls import ScopedAcls, is_wide, takes_away
from kgitops.lowering.effects import NotLowerable
from kgitops.lowering.quotas.changes import QuotaChanges
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
from kgitops.virtual_clusters.rights import Scope


class Namespaces:
    """Virtual clusters by now, their bindings, and what stands for them: changed one by one."""

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
        """Refuse what would contradict another rule on the same physical topic (VC-169).

        ``after`` is the virtual cluster as it would be; with ``all_of`` also what did before.

        Raises:
            NotLowerable: it would.
        """
        bindings = self._scoped.in_virtual_cluster(after.name)
        denies = bindings.denies or (added is not None and takes_away(added))
        if after.options.deny_wins or not denies:
            return
        there = list(bindings.all())
        found = set(conflicts(after, [*there, added] if added else there))
        before = self.delta.get(after.name)
        if found and before is not None and not all_of:
            found -= set(conflicts(before, there))
        if found:
            raise NotLowerable(
                f"L-ACL-CONFLICT: {min(found)}; brokers know the topic only, so change one of the "
                f"rules, or set lowering.denyWins on the virtual cluster {after.name}"
            )

    def link(self, local: LocalName, link: TopicLink, asker: int) -> None:
        """A link is there from now on (VC-161 to VC-163)."""
        found = self._known(local.virtual_cluster)
        for binding in self._scoped.in_virtual_cluster(found.name).about(local.name):
            source = acl_address(binding)
            for physical in lower(binding, found.name, {link.name: link}, found.users):
                self._acls.stand(physical, source, found.name, asker)

    def unlink(self, local: LocalName, link: TopicLink, asker: int) -> None:
        """A link is gone, or leads elsewhere; another to the same topic keeps what it needs."""
        found = self._known(local.virtual_cluster)
        others = [
            other.name
            for other in self.delta.links_to(link.topic)
            if other.virtual_cluster == found.name and other != local
        ]
        for binding in list(self._scoped.in_virtual_cluster(found.name).about(local.name)):
            if any(names_link(binding, other) for other in others):
                continue
            source = acl_address(binding)
            for physical in lower(binding, found.name, {link.name: link}, found.users):
                self._acls.fall(physical, source, asker)

    def bind(self, name: str, principal: str, asker: int) -> None:
        """A user is a member from now on (VC-145, VC-166)."""
        found = self._known(name)
        for binding in self._scoped.in_virtual_cluster(name).of(principal):
            source = acl_address(binding)
            for physical in lower(binding, name, found.links, (principal,)):
                self._acls.stand(physical, source, name, asker)
        self._member_changed(found, principal, asker)

    def unbind(self, name: str, principal: str, asker: int) -> None:
        """A user is no member any more: nothing that stood for it stays (VC-089)."""
        found = self._known(name)
        for binding in self._scoped.in_virtual_cluster(name).of(principal):
            source = acl_address(binding)
            for physical in lower(binding, name, found.links, (principal,)):
                self._acls.fall(physical, source, asker)
        self._member_changed(found, principal, asker)

    def allow(self, binding: AclBinding, asker: int) -> None:
        """A binding of virtual clusters is meant from now on."""
        for found in self.acting_in(binding):
            self.refuse_conflicts(found, binding)
        self._scoped.add(binding)
        source = acl_address(binding)
        standing = set()
        for found in self.acting_in(binding):
            for physical in lower(binding, found.name, found.links, found.users):
                self._acls.stand(physical, source, found.name, asker)
                standing.add(physical)
        for physical in self._acls.of_source(source) - standing:
            self._acls.fall(physical, source, asker)

    def disallow(self, binding: AclBinding, asker: int) -> None:
        """A binding of virtual clusters is not meant any more."""
        self._scoped.discard(binding)
        source = acl_address(binding)
        for physical in self._acls.of_source(source):
            self._acls.fall(physical, source, asker)

    def recompile(self, name: str | None, asker: int) -> None:
        """The quotas of all members are to be looked at; None: of all virtual clusters."""
        for each in (name,) if name is not None else tuple(self.names):
            found = self.delta.get(each)
            users = {user_name(user) for user in found.users} if found is not None else set()
            for user in users | self._quotas.users_in(each):
                if user:
                    self._quotas.touch(user, asker)

    def users(self) -> frozenset[str]:
        """Every member, by the name in quotas."""
        found = filter(None, map(self.delta.get, self.names))
        return frozenset(filter(None, (user_name(user) for vc in found for user in vc.users)))

    def acting_in(self, binding: AclBinding) -> Iterator[VirtualCluster]:
        """The virtual clusters where the binding can matter: one user is only in one (X-15)."""
        if binding.resource_type is ResourceType.CLUSTER:
            return
        if not is_wide(binding):
            names: Iterable[str | None] = (binding.virtual_cluster,)
        elif binding.principal == EVERYONE:
            names = sorted(self.names)
        else:
            names = (self.delta.of_user(binding.principal),)
        scope = Scope.of(binding)
        for name in names:
            found = self.delta.get(name) if name is not None else None
            if found is not None and scope.covers(Scope(found.name)):
                yield found

    def _member_changed(self, found: VirtualCluster, principal: str, asker: int) -> None:
        user = user_name(principal)
        if user is not None:
            self._quotas.touch(user, asker)
        if found.options.cap_lowering is CapLowering.DIVIDE:
            self.recompile(found.name, asker)

    def _known(self, name: str) -> VirtualCluster:
        found = self.delta.get(name)
        if found is None:
            raise ValueError(f"there is no virtual cluster {name!r} that could change")
        return found
