"""Tracks the physical bindings for those of virtual clusters while a batch changes them."""

from collections import defaultdict
from collections.abc import Collection, Iterable

from msgspec.structs import replace

from kgitops.lowering.acls.compile import is_logical
from kgitops.lowering.effects import Effects, FinalRecord, PhysicalRequest, unique
from kgitops.lowering.records import lowered_acl_record, removal
from kgitops.model.lowered import LoweredAcl
from kgitops.model.requests import CreateAclRequest, DeleteAclRequest
from kgitops.model.resources.acls import AclBinding
from kgitops.model.resources.addresses import acl_address


class AclChanges:
    """Keeps the sources of each physical binding (VC-168); it is deleted with the last of them."""

    def __init__(self, lowered: Iterable[LoweredAcl], bindings: Collection[AclBinding]) -> None:
        self.lowered = {acl.binding: acl for acl in lowered}
        self.physical = {binding for binding in bindings if not is_logical(binding)}
        self._stale = [acl.binding for acl in self.lowered.values() if not acl.sources]
        self._of_source: defaultdict[str, set[AclBinding]] = defaultdict(set)
        for binding, acl in self.lowered.items():
            for source in acl.sources:
                self._of_source[source].add(binding)
        self._before: dict[AclBinding, LoweredAcl | None] = {}
        self._requested_by: defaultdict[AclBinding, set[int]] = defaultdict(set)

    def bindings_for(self, source: str) -> frozenset[AclBinding]:
        """The physical bindings that implement the binding at this address."""
        return frozenset(self._of_source.get(source, ()))

    def require(
        self, binding: AclBinding, source: str, virtual_cluster: str, request_index: int
    ) -> None:
        """Add a source that requires the physical binding."""
        acl = self._begin_change(binding, request_index) or LoweredAcl(
            binding=binding,
            virtual_cluster=virtual_cluster,
            sources=(),
            adopted=binding in self.physical,
            present=binding in self.physical,
        )
        self._of_source[source].add(binding)
        sources = tuple(sorted({*acl.sources, source}))
        self.lowered[binding] = replace(acl, sources=sources, virtual_cluster=virtual_cluster)

    def release(self, binding: AclBinding, source: str, request_index: int) -> None:
        """Remove a source of the physical binding."""
        acl = self._begin_change(binding, request_index) if binding in self.lowered else None
        if acl is not None:
            self._of_source[source].discard(binding)
            sources = tuple(other for other in acl.sources if other != source)
            self.lowered[binding] = replace(acl, sources=sources)

    def create(self, binding: AclBinding, request_index: int, effects: Effects) -> None:
        """Create a global binding; if it exists for virtual clusters it becomes global as well."""
        acl = self._begin_change(binding, request_index) if binding in self.lowered else None
        self.physical.add(binding)
        if acl is not None:
            self.lowered[binding] = replace(acl, adopted=True)
        else:
            effects.creations.append(_create(binding, (request_index,)))

    def delete(self, request: DeleteAclRequest, request_index: int, effects: Effects) -> None:
        """Delete a global binding; it stays on the brokers while it has sources."""
        binding = request.binding
        acl = self._begin_change(binding, request_index) if binding in self.lowered else None
        self.physical.discard(binding)
        if acl is not None:
            self.lowered[binding] = replace(acl, adopted=False)
        else:
            line = f"delete {acl_address(binding)}"
            effects.deletions.append(
                PhysicalRequest(request=request, requested_by=(request_index,), line=line)
            )

    def drop_stale(self, request_index: int) -> None:
        """Remove the physical bindings without sources, left over by an interrupted apply."""
        for binding in self._stale:
            if binding in self.lowered:
                self._begin_change(binding, request_index)
        self._stale.clear()

    def finish(self, effects: Effects) -> None:
        """Add the effects of the batch to ``effects``, and begin the next batch."""
        for binding in sorted(self._before):
            self._finish(binding, self._before[binding], effects)
        self._before.clear()
        self._requested_by.clear()

    def _finish(self, binding: AclBinding, before: LoweredAcl | None, effects: Effects) -> None:
        acl = self.lowered[binding]
        requested_by = unique(self._requested_by[binding])
        if not acl.sources:
            del self.lowered[binding]
            if acl.present and not acl.adopted:
                request = DeleteAclRequest(binding=binding)
                line = f"delete {acl_address(binding)}"
                effects.deletions.append(
                    PhysicalRequest(request=request, requested_by=requested_by, line=line)
                )
            if before is not None:
                record = removal(lowered_acl_record(acl))
                effects.after.append(FinalRecord(record=record, requested_by=requested_by))
            return
        if not acl.present:
            # A binding that others created, and have deleted since, belongs to kgitops from now on.
            acl = replace(acl, adopted=binding in self.physical)
            effects.creations.append(_create(binding, requested_by))
        record = lowered_acl_record(acl)
        if before is None or (record != lowered_acl_record(before) and not acl.present):
            effects.before.append(record)
        elif record != lowered_acl_record(before):
            effects.after.append(FinalRecord(record=record, requested_by=requested_by))
        self.lowered[binding] = replace(acl, present=True)

    def _begin_change(self, binding: AclBinding, request_index: int) -> LoweredAcl | None:
        acl = self.lowered.get(binding)
        self._before.setdefault(binding, acl)
        self._requested_by[binding].add(request_index)
        return acl


def _create(binding: AclBinding, requested_by: tuple[int, ...]) -> PhysicalRequest:
    return PhysicalRequest(
        request=CreateAclRequest(binding=binding),
        requested_by=requested_by,
        line=f"create {acl_address(binding)}",
    )
