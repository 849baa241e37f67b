"""Report lines on quotas of virtual clusters that are not kept exactly."""

from collections.abc import Iterable, Iterator, Mapping

from kgitops.lowering.quotas.compile import QuotaTable, lower_user_quotas
from kgitops.lowering.report.lines import report_line
from kgitops.model.lowered import Grade, LoweringLine
from kgitops.model.resources.addresses import quota_address
from kgitops.model.resources.quotas import (
    CLIENT_ID,
    USER,
    VIRTUAL_CLUSTER,
    ClientQuotaEntity,
    ClientQuotaState,
    quota_text,
)
from kgitops.model.resources.virtual_clusters import CapLowering, VirtualCluster, user_name


def quota_lines(
    quotas: Mapping[ClientQuotaEntity, ClientQuotaState],
    virtual_clusters: Mapping[str, VirtualCluster],
) -> Iterator[LoweringLine]:
    """Lines for each entity of a virtual cluster, and for global quotas that are hidden."""
    scoped = {e: state for e, state in quotas.items() if e[0][0] == VIRTUAL_CLUSTER}
    if not scoped:
        return
    yield report_line("L-QUOTA-API")
    table = QuotaTable(quotas.values())
    for entity, state in scoped.items():
        name = entity[0][1] or ""
        if len(entity) == 1:
            yield from _cap(table, state, virtual_clusters)
        elif (USER, None) in entity:
            yield report_line("L-QUOTA-EXPAND", virtual_cluster=name, subject=quota_address(entity))
        elif entity[1][0] == CLIENT_ID:
            yield report_line("L-QUOTA-CLIENT", virtual_cluster=name, subject=quota_address(entity))
    for virtual_cluster in virtual_clusters.values():
        yield from _hidden(table, virtual_cluster)


def _cap(
    table: QuotaTable, state: ClientQuotaState, virtual_clusters: Mapping[str, VirtualCluster]
) -> Iterator[LoweringLine]:
    """A line for a cap, which limits each member instead of all together, with the worst case."""
    name = state.entity[0][1]
    capped = [
        virtual_cluster
        for virtual_cluster in virtual_clusters.values()
        if any(
            (cap := table.cap(virtual_cluster.name, key)) is not None and cap[0] == state.entity
            for key in state.quotas
        )
    ]
    grades = {_grade(virtual_cluster) for virtual_cluster in capped} or {Grade.APPROX}
    members = max((_multiple(virtual_cluster) for virtual_cluster in capped), default=0)
    worst = ", ".join(
        f"{key} {quota_text(value)} times {members} = {quota_text(value * members)}"
        for key, value in sorted(state.quotas.items())
    )
    where = "in the largest of them " if name is None else ""
    reason = f"brokers have no quota for several users together; at worst {where}it is {worst}"
    if Grade.NONE in grades:
        reason = "a cap is not lowered where lowering.capLowering is none"
    yield report_line(
        "L-QUOTA-CAP",
        virtual_cluster=name or "",
        subject=quota_address(state.entity),
        reason=reason,
        grade=Grade.NONE if Grade.NONE in grades else Grade.APPROX,
    )


def _grade(virtual_cluster: VirtualCluster) -> Grade:
    return Grade.NONE if virtual_cluster.options.cap_lowering is CapLowering.NONE else Grade.APPROX


def _multiple(virtual_cluster: VirtualCluster) -> int:
    """The factor by which all members together may exceed the cap."""
    if virtual_cluster.options.cap_lowering is CapLowering.DIVIDE:
        return min(len(virtual_cluster.users), 1)
    return len(virtual_cluster.users)


def _hidden(table: QuotaTable, virtual_cluster: VirtualCluster) -> Iterable[LoweringLine]:
    for user in sorted(filter(None, map(user_name, virtual_cluster.users))):
        for (entity, key), target in lower_user_quotas(table, virtual_cluster, user).items():
            value = table.get(entity, key)
            if value is not None and value != target.value:
                yield report_line(
                    "L-QUOTA-SHADOW",
                    virtual_cluster=virtual_cluster.name,
                    subject=quota_address(entity),
                    reason=f"the global {key} of {quota_text(value)} is hidden while the user is a "
                    "member",
                )
