"""What a plan says about virtual clusters beside its changes."""

from collections.abc import Iterable
from dataclasses import replace

from kgitops.desired.state import DesiredState
from kgitops.model.quotas import VIRTUAL_CLUSTER
from kgitops.model.requests import AlterVirtualClusterRequest
from kgitops.model.source import Finding, Severity
from kgitops.model.virtual_clusters import ChangeType, EntityType
from kgitops.plan.plan import Change

_BOUND = (EntityType.USER, EntityType.CLIENT_ID)
_ADDRESSES = ("vc/", f"quota/{VIRTUAL_CLUSTER}=")
_SHOWN = 5


def cut_overs(changes: Iterable[Change]) -> list[Finding]:
    """Whose clients change from one set of names to another, by virtual cluster (VC-412)."""
    bound: dict[str, list[str]] = {}
    for change in changes:
        for planned in change.requests:
            request = planned.request
            if (
                isinstance(request, AlterVirtualClusterRequest)
                and request.change is ChangeType.ADD
                and request.entity_type in _BOUND
            ):
                bound.setdefault(request.virtual_cluster, []).append(request.entity_name or "")
    return [
        Finding(
            source=None,
            problem=f"clients of {_list(sorted(names))} see the names of the virtual cluster "
            f"{name} from their first request after this plan was applied, and no others",
            advice="see that it has every topic, group and right that they use, by those names",
            severity=Severity.WARNING,
        )
        for name, names in sorted(bound.items())
    ]


def without_virtual_clusters(
    desired: DesiredState, backend: str
) -> tuple[DesiredState, list[Finding]]:
    """What is left to plan where there are no virtual clusters, and a finding for each document."""
    inside = [item for item in desired.objects if item.address.startswith(_ADDRESSES)]
    findings = [
        Finding(
            source=source,
            problem=f"this cluster, of the kind {backend}, has no virtual clusters",
            advice="leave the document out for it with metadata.clusters",
        )
        for source in sorted({item.located.source for item in inside})
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


def _list(names: list[str]) -> str:
    more = [f"{len(names) - _SHOWN} more"] if len(names) > _SHOWN else []
    return ", ".join([*names[:_SHOWN], *more])
