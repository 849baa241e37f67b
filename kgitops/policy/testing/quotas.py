"""Whom quotas are for, and the requests for them."""

from collections.abc import Mapping

from kgitops.model.resources.quotas import ClientQuotaEntity, make_entity
from kgitops.policy.api.principal import ANONYMOUS, Principal
from kgitops.policy.api.requests import AlterClientQuotaRequest
from kgitops.policy.api.states import RequestedQuotaState
from kgitops.policy.state.simulated import overlaid


def entity(**names: str | None) -> ClientQuotaEntity:
    """``entity(user="app", client_id=None)``: None is the default of that type."""
    return make_entity({kind.replace("_", "-"): name for kind, name in names.items()})


def alter_client_quota(
    of: ClientQuotaEntity,
    quotas: Mapping[str, float | None],
    *,
    before: Mapping[str, float] | None = None,
    principal: str = str(ANONYMOUS),
) -> AlterClientQuotaRequest:
    """Quotas of an entity that had ``before``; None as a value removes the key."""
    return AlterClientQuotaRequest(
        entity=of,
        principal=Principal.parse(principal),
        requested_state=RequestedQuotaState(
            quotas=overlaid(before or {}, quotas), requested_quotas=dict(quotas)
        ),
    )
