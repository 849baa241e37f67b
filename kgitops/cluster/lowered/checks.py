"""What no broker sees and is refused all the same: ACLs and quotas that no virtual cluster has."""

from kgitops.lowering.acls.compile import is_logical
from kgitops.model.requests import AlterClientQuotaRequest, CreateAclRequest, Request
from kgitops.model.resources.quotas import VIRTUAL_CLUSTER
from kgitops.model.results import ErrorCode, RequestResult
from kgitops.virtual_clusters.well_formed import binding_problem, entity_problem, quota_problem


def refusal(request: Request) -> RequestResult | None:
    """Why brokers that know virtual clusters would refuse an ACL or a quota as such; None: no."""
    match request:
        case CreateAclRequest(binding=binding) if is_logical(binding):
            problem = binding_problem(binding)
        case AlterClientQuotaRequest(entity=entity) if entity and entity[0][0] == VIRTUAL_CLUSTER:
            found = (quota_problem(entity, key, value) for key, value in request.quotas.items())
            problem = entity_problem(entity) or next(filter(None, found), None)
        case _:
            problem = None
    return RequestResult(code=ErrorCode.INVALID_REQUEST, message=problem) if problem else None
