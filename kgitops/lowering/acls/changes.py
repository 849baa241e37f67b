"""Physical bindings that stand for those of virtual clusters, and what a batch makes of them."""

from collections import defaultdict
from collections.abc import Collection, Iterable
from dataclasses import replace

from kgitops.lowering.acls.compile import is_logical
from kgitops.lowering.effects import Effects, FinalRecord, PhysicalRequest, once
from kgitops.lowering.records import gone, lowered_acl_record
from kgitops.model.lowered import LoweredAcl
from kgitops.model.requests import CreateAclRequest, DeleteAclRequest
from kgitops.model.resources.acls import AclBinding
from kgitops.model.resources.addresses import acl_address


class AclChanges:
    """Counts for what each physical binding stands (VC-168); the last one takes it along."""

    def __init__(self, lowered: Iterable[LoweredAcl], bindings: Collection[AclBinding]) -> None:
        self.lowered = {acl.binding: acl for acl in lowered}
        self.physical = {binding for binding in bindings if not is_logical(binding)}
        self._leftovers = [acl.binding for acl in self.lowered.values() if not acl.sources]
        self._of_source: defaultdict[str, set[AclBinding]] = defaultdict(set)
        for binding, acl in self.lowered.items():
            for source in acl.sources:
                self._of_source[source].add(binding)
        self._before: dict[AclBinding, LoweredAcl | None] = {}
        self._askers: defaultdict[AclBinding, set[int]] = defaultdict(set)

    def of_source(self, source: str) -> frozenset[AclBinding]:
        """What stands for the binding at this address."""
        return frozenset(self._of_source.get(source, ()))

    def stand(self, binding: AclBinding, source: str, virtual_cluster: str, asker: int) -> None:
        """The physical binding stands for one more, unless it did already."""
        acl = self._touch(binding, asker) or LoweredAcl(
            binding=binding,
            virtual_cluster=virtual_cluster,
            sources=(),
            adopted=binding in self.physical,
            present=binding in self.physical,
        )
        self._of_source[source].add(binding)
        sources = tuple(sorted({*acl.sources, source}))
        self.lowered[binding] = replace(acl, sources=sources, virtual_cluster=virtual_cluster)

    def fall(self, binding: AclBinding, source: str, asker: int) -> None:
        """The physical binding no longer stands for this one."""
        acl = self._touch(binding, asker) if binding in self.lowered else None
        if acl is not None:
            self._of_source[source].discard(binding)
            sources = tuple(other for other in acl.sources if other != source)
            self.lowered[binding] = replace(acl, sources=sources)

    def create(self, binding: AclBinding, asker: int, effects: Effects) -> None:
        """A global binding is asked for; one that stands for others is global as well then."""
        acl = self._touch(binding, asker) if binding in self.lowered else None
        self.physical.add(binding)
        if acl is not None:
            self.lowered[binding] = replace(acl, adopted=True)
        else:
            effects.creations.append(_create(binding, (asker,)))

    def delete(self, request: DeleteAclRequest, asker: int, effects: Effects) -> None:
        """A global binding is to go; what it stands for keeps it on brokers."""
        binding = request.binding
        acl = self._touch(binding, asker) if binding in self.lowered else None
        self.physical.discard(binding)
        if acl is not None:
            self.lowered[binding] = replace(acl, adopted=False)
        else:
            line = f"delete {acl_address(binding)}"
            effects.deletions.append(PhysicalRequest(request=request, askers=(asker,), line=line))

    def clean(self, asker: int) -> None:
        """Look at what an interrupted apply left over."""
        for binding in self._leftovers:
            if binding in self.lowered:
                self._touch(binding, asker)
        self._leftovers.clear()

    def finish(self, effects: Effects) -> None:
        """Say what the batch comes down to, and begin the next one."""
        for binding in sorted(self._before):
            self._finish(binding, self._before[binding], effects)
        self._before.clear()
        self._askers.clear()

    def _finish(self, binding: AclBinding, before: LoweredAcl | None, effects: Effects) -> None:
        acl = self.lowered[binding]
        askers = once(self._askers[binding])
        if not acl.sources:
            del self.lowered[binding]
            if acl.present and not acl.adopted:
                request = DeleteAclRequest(binding=binding)
                line = f"delete {acl_address(binding)}"
                effects.deletions.append(PhysicalRequest(request=request, askers=askers, line=line))
            if before is not None:
                record = gone(lowered_acl_record(acl))
                effects.after.append(FinalRecord(record=record, askers=askers))
            return
        if not acl.present:
            # One that others had made, and have deleted since, is kgitops' own from now on.
            acl = replace(acl, adopted=binding in self.physical)
            effects.creations.append(_create(binding, askers))
        record = lowered_acl_record(acl)
        if before is None or (record != lowered_acl_record(before) and not acl.present):
            effects.before.append(record)
        elif record != lowered_acl_record(before):
            effects.after.append(FinalRecord(record=record, askers=askers))
        self.lowered[binding] = replace(acl, present=True)

    def _touch(self, binding: AclBinding, asker: int) -> LoweredAcl | None:
        acl = self.lowered.get(binding)
        self._before.setdefault(binding, acl)
        self._askers[binding].add(asker)
        return acl


def _create(binding: AclBinding, askers: tuple[int, ...]) -> PhysicalRequest:
    return PhysicalRequest(
        request=CreateAclRequest(binding=binding),
        askers=askers,
        line=f"create {acl_address(binding)}",
    )
