"""Dependencies between the credentials of a user and its membership in a virtual cluster.

Whoever administers a virtual cluster may touch the credentials of its members alone (VC-160c): so a
user is let in before its password is set, and its credentials go before its membership does.
"""

from collections.abc import Iterator, Sequence

from kgitops.model import requests as req
from kgitops.model.resources.users import user_principal
from kgitops.model.resources.virtual_clusters import ChangeType, EntityType
from kgitops.plan.document.plan import PlannedRequest


class MemberEdges:
    """The ids of requests about users whose documents are in a virtual cluster."""

    def __init__(self, requests: Sequence[PlannedRequest]) -> None:
        self._lets_in: dict[str, list[str]] = {}
        self._changed: dict[str, list[str]] = {}
        for planned in requests:
            match planned.request:
                case req.AlterVirtualClusterRequest(
                    entity_type=EntityType.USER, change=ChangeType.ADD, entity_name=str(principal)
                ):
                    self._lets_in.setdefault(principal, []).append(planned.id)
                case req.AlterUserScramCredentialsRequest(virtual_cluster=str()) as request:
                    principal = user_principal(request.user)
                    self._changed.setdefault(principal, []).append(planned.id)
                case _:
                    pass

    def first(self, planned: PlannedRequest) -> Iterator[str]:
        """Yield the ids of the requests that must be done before this one."""
        match planned.request:
            case req.AlterUserScramCredentialsRequest(virtual_cluster=str()) as request:
                yield from self._lets_in.get(user_principal(request.user), ())
            case req.AlterVirtualClusterRequest(
                entity_type=EntityType.USER, change=ChangeType.REMOVE, entity_name=str(principal)
            ):
                yield from self._changed.get(principal, ())
            case _:
                pass
