"""What a plan says about virtual clusters beside its changes."""

from collections.abc import Iterable
from dataclasses import replace

from kgitops.desired.state import DesiredAcl, DesiredObject, DesiredState
from kgitops.lowering.acls.compile import is_logical
from kgitops.model.cluster_state import VirtualClusterSupport
from kgitops.model.requests import AlterVirtualClusterRequest
from kgitops.model.resources.acls import CLUSTER_NAME
from kgitops.model.resources.quotas import VIRTUAL_CLUSTER
from kgitops.model.resources.virtual_clusters import EXCLUSIVE, ChangeType, physical_id
from kgitops.model.source import Finding, Severity
from kgitops.plan.document.plan import Change

_ADDRESSES = ("vc/", f"quota/{VIRTUAL_CLUSTER}=")
_SHOWN = 5


def cut_overs(changes: Iterable[Change], support: VirtualClusterSupport) -> list[Finding]:
    """Whose clients change from one set of names to another, by virtual cluster (VC-412).

    Where brokers know no virtual clusters they change nothing by themselves: clients have to be
    told their names (VC-048).
    """
    bound: dict[str, list[str]] = {}
    for change in changes:
        for planned in change.requests:
            request = planned.request
            if (
                isinstance(request, AlterVirtualClusterRequest)
                and request.change is ChangeType.ADD
                and request.entity_type in EXCLUSIVE
            ):
                bound.setdefault(request.virtual_cluster, []).append(request.entity_name or "")
    told = _on_brokers if support is VirtualClusterSupport.NATIVE else _by_clients
    return [told(name, _list(sorted(names))) for name, names in sorted(bound.items())]


def _on_brokers(name: str, members: str) -> Finding:
    return Finding(
        source=None,
        problem=f"clients of {members} see the names of the virtual cluster {name} from their "
        "first request after this plan was applied, and no others",
        advice="see that it has every topic, group and right that they use, by those names",
        severity=Severity.WARNING,
    )


def _by_clients(name: str, members: str) -> Finding:
    return Finding(
        source=None,
        problem=f"clients of {members} are in the virtual cluster {name} once this plan was "
        "applied, and these brokers translate no names: topics keep their physical ones, and ids "
        f"of groups and transactions begin with {physical_id(name, '')}",
        advice="configure the clients by their binding sheet: kgitops vc bindings",
        severity=Severity.WARNING,
    )


def without_virtual_clusters(
    desired: DesiredState, backend: str
) -> tuple[DesiredState, list[Finding]]:
    """What is left to plan where there are no virtual clusters, and a finding for each document."""
    inside = [item for item in desired.objects if _is_inside(item)]
    said = {item.located.source: _said(item, backend) for item in inside}
    findings = [
        Finding(
            source=source,
            problem=said[source],
            advice="leave the document out for it with metadata.clusters",
        )
        for source in sorted(said)
    ]
    if not findings:
        return desired, []
    gone = {item.address for item in inside}
    return (
        replace(
            desired,
            topics=tuple(item for item in desired.topics if item.address not in gone),
            acls=tuple(item for item in desired.acls if item.address not in gone),
            quotas=tuple(item for item in desired.quotas if item.address not in gone),
            virtual_clusters=(),
            links=(),
            members=(),
        ),
        findings,
    )


def _is_inside(item: DesiredObject) -> bool:
    """True if it is about virtual clusters; an administrator's right only says so by its name."""
    if isinstance(item, DesiredAcl):
        return is_logical(item.binding)
    return item.address.startswith(_ADDRESSES)


def _said(item: DesiredObject, backend: str) -> str:
    problem = f"this cluster, of the kind {backend}, has no virtual clusters"
    if isinstance(item, DesiredAcl) and not item.binding.scoped:
        return f"{problem}, and the name of its resource cluster is {CLUSTER_NAME}"
    return problem


def _list(names: list[str]) -> str:
    more = [f"{len(names) - _SHOWN} more"] if len(names) > _SHOWN else []
    return ", ".join([*names[:_SHOWN], *more])
