"""The declared ACLs and quotas of a logical state while a batch changes them."""

from collections.abc import Mapping

from kgitops.lowering.acls.changes import AclChanges
from kgitops.lowering.acls.compile import INEXPRESSIBLE, is_logical
from kgitops.lowering.effects import Effects, FinalRecord, NotLowerable
from kgitops.lowering.missing import repaired_acls, repaired_quotas
from kgitops.lowering.namespaces import Namespaces
from kgitops.lowering.quota_changes import QuotaChanges
from kgitops.lowering.quota_compile import user_of
from kgitops.lowering.records import RecordStatus, acl_record, removal
from kgitops.model.cluster_state import ClusterState
from kgitops.model.lowered import Lowered
from kgitops.model.requests import AlterClientQuotaRequest, CreateAclRequest, DeleteAclRequest
from kgitops.model.resources.acls import CLUSTER_NAME
from kgitops.model.resources.quotas import (
    CLIENT_ID,
    USER,
    VIRTUAL_CLUSTER,
    ClientQuotaEntity,
    ClientQuotaState,
)
from kgitops.virtual_clusters.image import VirtualClustersDelta
from kgitops.virtual_clusters.refusals import Symbol, VirtualClusterRefusal


class DeclaredRules:
    """ACLs and quotas, global ones and those of virtual clusters.

    The fields ``missing_…`` and ``begun_…`` mean what they mean in :class:`Lowered`.
    """

    def __init__(
        self,
        state: ClusterState,
        delta: VirtualClustersDelta,
        namespaces: Namespaces,
        bindings: AclChanges,
        quotas: QuotaChanges,
    ) -> None:
        lowered = state.lowered or Lowered()
        self.acls = set(state.acls)
        self.missing_acls, self.begun_acls = set(lowered.missing_acls), set(lowered.begun_acls)
        self.missing_quotas = dict(lowered.missing_quotas)
        self.begun_quotas = set(lowered.begun_quotas)
        self._delta = delta
        self._namespaces = namespaces
        self._bindings = bindings
        self._quotas = quotas

    def create_acl(self, request: CreateAclRequest, request_index: int, effects: Effects) -> None:
        """Create an ACL binding, global or of virtual clusters.

        Raises:
            NotLowerable: the binding can't be kept in a virtual cluster.
        """
        binding = request.binding
        if not is_logical(binding):
            self._bindings.create(binding, request_index, effects)
        elif binding not in self.acls:
            if binding.resource_type in INEXPRESSIBLE:
                raise NotLowerable(
                    f"L-ACL-TOKEN: bindings on {binding.resource_type} can't be kept in a virtual "
                    "cluster on this Kafka; create a global one"
                )
            self._namespaces.allow(binding, request_index)
            if binding not in self.missing_acls:
                effects.marks.append((request_index, acl_record(binding, RecordStatus.PENDING)))
            effects.after.append(
                FinalRecord(record=acl_record(binding), requested_by=(request_index,))
            )
            self.missing_acls.discard(binding)
            self.begun_acls.discard(binding)
        self.acls.add(binding)

    def delete_acl(self, request: DeleteAclRequest, request_index: int, effects: Effects) -> None:
        """Delete an ACL binding, global or of virtual clusters."""
        binding = request.binding
        if not is_logical(binding):
            self._bindings.delete(request, request_index, effects)
        elif any(binding in acls for acls in (self.acls, self.missing_acls, self.begun_acls)):
            self._namespaces.disallow(binding, request_index)
            effects.marks.append((request_index, acl_record(binding, RecordStatus.DELETING)))
            effects.after.append(
                FinalRecord(record=removal(acl_record(binding)), requested_by=(request_index,))
            )
            self.missing_acls.discard(binding)
            self.begun_acls.discard(binding)
        self.acls.discard(binding)

    def alter_quotas(
        self, request: AlterClientQuotaRequest, request_index: int, effects: Effects
    ) -> None:
        """Alter quotas, global or of a virtual cluster.

        Raises:
            VirtualClusterRefusal: they are quotas of kafka-cluster.
        """
        kind, name = request.entity[0]
        if kind == VIRTUAL_CLUSTER:
            if name == CLUSTER_NAME:
                raise VirtualClusterRefusal(
                    Symbol.RESERVED_NAME, f"{CLUSTER_NAME} is the physical cluster itself"
                )
            self._quotas.set_quotas(request, request_index)
            self._namespaces.recompile(name, request_index)
            for key in request.quotas:
                self.missing_quotas.pop((request.entity, key), None)
                self.begun_quotas.discard((request.entity, key))
            return
        users = self.affected_users(request)
        self._quotas.set_quotas(request, request_index)
        for user in users:
            self._quotas.mark_dirty(user, request_index)
        if user_of(request.entity) not in users:
            effects.send(request, request_index)

    def affected_users(self, request: AlterClientQuotaRequest) -> frozenset[str]:
        """The members whose physical quotas a global request may change."""
        kind, name = request.entity[0]
        if kind == USER and name is not None:
            bound = self._delta.of_user(f"User:{name}") is not None
            return frozenset({name} if bound or self._quotas.has_lowered(name) else ())
        if kind in (USER, CLIENT_ID) and self._quotas.table.capped:
            return self._namespaces.users()
        return frozenset()

    def recheck_missing(self) -> None:
        """Forget the missing ACLs and quotas that this batch has put in place."""
        acls = tuple(repaired_acls(self.missing_acls, self._namespaces, self._bindings))
        self.missing_acls.difference_update(acls)
        self.acls.update(acls)
        for key in tuple(repaired_quotas(self.missing_quotas, self._namespaces, self._quotas)):
            del self.missing_quotas[key]
            self._quotas.changed = True

    def quotas_after(
        self, before: Mapping[ClientQuotaEntity, ClientQuotaState]
    ) -> Mapping[ClientQuotaEntity, ClientQuotaState]:
        """The declared quotas that are in place; ``before`` itself if they did not change."""
        if not self._quotas.changed:
            return before
        self._quotas.changed = False
        quotas = {entity: dict(s.quotas) for entity, s in self._quotas.table.states().items()}
        for entity, key in self.missing_quotas:
            del quotas[entity][key]
        return {
            entity: ClientQuotaState(entity=entity, quotas=values)
            for entity, values in quotas.items()
            if values
        }
