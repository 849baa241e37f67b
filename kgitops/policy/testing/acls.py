"""Builders of the requests for ACLs, quotas, users who log in by SCRAM, and a broker's configs."""

from collections.abc import Mapping

from kgitops.model import requests as req
from kgitops.model.resources.acls import AclBinding
from kgitops.model.resources.quotas import ClientQuotaEntity, make_entity
from kgitops.model.resources.users import ScramMechanism
from kgitops.policy.api.requests import (
    AlterBrokerRequest,
    AlterClientQuotaRequest,
    AlterUserScramCredentialsRequest,
    CreateAclRequest,
    DeleteAclRequest,
)
from kgitops.policy.building import state_of
from kgitops.policy.testing.verdicts import NOBODY, asked


def create_acl(binding: AclBinding, *, principal: str = NOBODY) -> CreateAclRequest:
    """A binding is to be added; ``principal`` asks."""
    return asked(CreateAclRequest, req.CreateAclRequest(binding=binding), principal)


def delete_acl(binding: AclBinding, *, principal: str = NOBODY) -> DeleteAclRequest:
    """A binding is to be removed; ``principal`` asks."""
    return asked(DeleteAclRequest, req.DeleteAclRequest(binding=binding), principal)


def entity(**names: str | None) -> ClientQuotaEntity:
    """``entity(user="app", client_id=None)``: None is the default of that type."""
    return make_entity({kind.replace("_", "-"): name for kind, name in names.items()})


def alter_client_quota(
    of: ClientQuotaEntity,
    quotas: Mapping[str, float | None],
    *,
    before: Mapping[str, float] | None = None,
    principal: str = NOBODY,
) -> AlterClientQuotaRequest:
    """Quotas of an entity that had ``before``; None as a value removes the key."""
    request = req.AlterClientQuotaRequest(entity=of, quotas=quotas)
    state = state_of(quotas={of: before} if before else {})
    return asked(AlterClientQuotaRequest, request, principal, state)


def alter_broker(
    broker_id: int,
    configs: Mapping[str, str | None],
    *,
    before: Mapping[str, str] | None = None,
    principal: str = NOBODY,
) -> AlterBrokerRequest:
    """Configs of a broker that had ``before``; None as a value removes the key."""
    request = req.AlterBrokerRequest(broker=broker_id, configs=configs)
    return asked(AlterBrokerRequest, request, principal, broker_configs=before)


def alter_user_scram_credentials(
    user: str,
    mechanism: str,
    iterations: int | None,
    *,
    before: Mapping[str, int] | None = None,
    principal: str = NOBODY,
) -> AlterUserScramCredentialsRequest:
    """A mechanism of a user that had ``before`` is set; None as iterations removes it."""
    request = req.AlterUserScramCredentialsRequest(
        user=user, mechanism=ScramMechanism(mechanism), iterations=iterations
    )
    held = {ScramMechanism(name): known for name, known in (before or {}).items()}
    state = state_of(users={user: held} if held else {})
    return asked(AlterUserScramCredentialsRequest, request, principal, state)
