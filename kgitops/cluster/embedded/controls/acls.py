"""Decides CreateAcls, DeleteAcls, DescribeAcls, and KIP-4's AlterAcls and ListAcls (spec §3.8)."""

import logging
from collections import Counter
from collections.abc import Sequence

from msgspec import Struct

from kgitops.cluster.embedded.controls.acl_filter import AclFilter, PatternFilter, exact_filter
from kgitops.cluster.embedded.draft import Draft
from kgitops.cluster.embedded.image.records import (
    AccessControlEntryRecord,
    RemoveAccessControlEntryRecord,
)
from kgitops.cluster.embedded.options import AuthorizerKind
from kgitops.cluster.embedded.refusal import Refusal, attempt, duplicate, missing_right
from kgitops.cluster.embedded.rights import check_virtual_clusters_enabled
from kgitops.model.requests import CreateAclRequest, DeleteAclRequest
from kgitops.model.resources.acls import (
    CLUSTER_NAME,
    VIRTUAL_CLUSTER_OPERATIONS,
    AclBinding,
    Operation,
    PatternType,
    PermissionType,
    ResourceType,
)
from kgitops.model.results import OK, ErrorCode, RequestResult
from kgitops.virtual_clusters.rights import ApiKey, VirtualClusterScope
from kgitops.virtual_clusters.well_formed import binding_problem

_log = logging.getLogger(__name__)


class MatchedAcls(Struct, frozen=True, kw_only=True):
    """The outcome of one filter, and the bindings that it matched."""

    result: RequestResult = OK
    bindings: tuple[AclBinding, ...] = ()


AclResource = tuple[ResourceType, str]


class IllegalAcl(Struct, frozen=True):
    """A binding or a filter with a value that Kafka does not know, or does not take there."""

    problem: str


class AclAction(Struct, frozen=True, kw_only=True):
    """One action of KIP-4's AlterAcls."""

    binding: AclBinding
    is_add: bool


NewAcl = AclBinding | AclFilter | IllegalAcl


def create_acls(draft: Draft, bindings: Sequence[NewAcl]) -> list[RequestResult]:
    """One result for each binding, in order; one that exists already is a success (A4-95)."""
    return [attempt(_create_where_allowed, draft, binding) for binding in bindings]


def delete_acls(draft: Draft, filters: Sequence[AclFilter | IllegalAcl]) -> list[MatchedAcls]:
    """One outcome for each filter, in order; matching nothing is not an error (A4-94)."""
    return [_deleted_where_allowed(draft, wanted) for wanted in filters]


def describe_acls(draft: Draft, wanted: AclFilter | IllegalAcl) -> MatchedAcls:
    """The bindings that the filter matches, in order; none that is not legal."""
    matching: list[AclBinding] = []
    if isinstance(wanted, AclFilter):
        matching = sorted(filter(wanted.matches, draft.image.acls.bindings))
    scope = _scope_of_filter(wanted)
    refused = attempt(_check_may, draft, Operation.DESCRIBE, ApiKey.DESCRIBE_ACLS, scope)
    if not refused.ok and not _are_own_allows(draft, wanted, matching):
        return MatchedAcls(result=refused)
    return MatchedAcls(bindings=tuple(matching))


def alter_acls(
    draft: Draft, requests: Sequence[tuple[AclResource, Sequence[AclAction]]]
) -> dict[AclResource, list[RequestResult]]:
    """One result for each action of each resource, in order; its deletions are done first."""
    refused = attempt(
        _check_may, draft, Operation.ALTER, ApiKey.CREATE_ACLS, VirtualClusterScope(CLUSTER_NAME)
    )
    times = Counter(resource for resource, _ in requests)
    results: dict[AclResource, list[RequestResult]] = {}
    for resource, actions in requests:
        if not refused.ok:
            results[resource] = [refused for _ in actions]
        elif times[resource] == 1:
            results[resource] = _alter(draft, resource, actions)
        elif resource not in results:
            _log.info("%s %r is in one AlterAcls request more than once", *resource)
            results[resource] = [duplicate("Duplicate resource.")]
    return results


def _alter(
    draft: Draft, resource: AclResource, actions: Sequence[AclAction]
) -> list[RequestResult]:
    results: dict[int, RequestResult] = {}
    # A later deletion never undoes an addition (A4-84).
    for index, action in sorted(enumerate(actions), key=lambda item: item[1].is_add):
        binding = action.binding
        if (binding.resource_type, binding.resource_name) != resource:
            results[index] = RequestResult(
                code=ErrorCode.INVALID_REQUEST, message="The ACL is of another resource."
            )
        elif action.is_add:
            results[index] = attempt(_create, draft, binding)
        else:
            results[index] = _deleted(draft, exact_filter(binding)).result
    return [results[index] for index in range(len(actions))]


def _create_where_allowed(draft: Draft, binding: NewAcl) -> None:
    scope = (
        VirtualClusterScope.of(binding)
        if isinstance(binding, AclBinding)
        else VirtualClusterScope(CLUSTER_NAME)
    )
    _check_may(draft, Operation.ALTER, ApiKey.CREATE_ACLS, scope)
    _create(draft, binding)


def _deleted_where_allowed(draft: Draft, wanted: AclFilter | IllegalAcl) -> MatchedAcls:
    scope = _scope_of_filter(wanted)
    refused = attempt(_check_may, draft, Operation.ALTER, ApiKey.DELETE_ACLS, scope)
    return _deleted(draft, wanted) if refused.ok else MatchedAcls(result=refused)


def _scope_of_filter(wanted: AclFilter | IllegalAcl) -> VirtualClusterScope:
    """The smallest scope that holds all bindings that the filter can match."""
    if isinstance(wanted, IllegalAcl):
        return VirtualClusterScope(CLUSTER_NAME)
    if wanted.resource_type is ResourceType.CLUSTER and wanted.resource_name:
        if wanted.pattern in (PatternFilter.LITERAL, PatternFilter.PREFIXED):
            return VirtualClusterScope(wanted.resource_name, PatternType(wanted.pattern))
    elif wanted.virtual_cluster is not None and wanted.virtual_cluster != CLUSTER_NAME:
        return VirtualClusterScope(wanted.virtual_cluster, wanted.virtual_cluster_pattern)
    return VirtualClusterScope(CLUSTER_NAME)


def _check_may(
    draft: Draft, operation: Operation, api_key: ApiKey, scope: VirtualClusterScope
) -> None:
    """Refuse callers without the right; administrators have it in theirs (VC-106, VC-147)."""
    if draft.options.authorizer is AuthorizerKind.DISABLED:
        raise Refusal(ErrorCode.SECURITY_DISABLED, "No Authorizer is configured on the broker.")
    if draft.faults.authorizer_fails:
        # There is no specific error for this: every ACL of the call gets the general code (A4-90).
        _log.error("the authorizer failed")
        raise Refusal(ErrorCode.UNKNOWN_SERVER_ERROR)
    # KIP-4 asks for All on the cluster, KRaft for the operation itself (C-11).
    needed = Operation.ALL if draft.options.seed else operation
    if draft.authorizer.allows_cluster(needed):
        return
    if scope.physical or not draft.authorizer.allows_request(api_key, scope):
        raise missing_right(needed)


def _are_own_allows(
    draft: Draft, wanted: AclFilter | IllegalAcl, matching: Sequence[AclBinding]
) -> bool:
    """KIP-4 lets every principal list the bindings that allow it something (A4-93)."""
    return (
        isinstance(wanted, AclFilter)
        and draft.options.seed
        and draft.options.authorizer is AuthorizerKind.ACLS
        and wanted.principal == draft.authorizer.principal
        and all(binding.permission_type is PermissionType.ALLOW for binding in matching)
    )


def _create(draft: Draft, binding: NewAcl) -> None:
    if isinstance(binding, IllegalAcl):
        raise Refusal(ErrorCode.INVALID_REQUEST, binding.problem)
    if isinstance(binding, AclFilter):
        raise Refusal(
            ErrorCode.INVALID_REQUEST,
            "An ACL to create can't have ANY, MATCH or UNKNOWN values.",
        )
    if binding.resource_name:
        _check_features(draft, binding)
    problem = binding_problem(binding)
    if problem:
        raise Refusal(ErrorCode.INVALID_REQUEST, problem)
    request = CreateAclRequest(binding=binding)
    draft.judge(request)
    if binding not in draft.delta.acls:
        draft.write(AccessControlEntryRecord(binding=binding))
    draft.accept(request)


def _check_features(draft: Draft, binding: AclBinding) -> None:
    """Refuse an ACL about virtual clusters if the cluster has none (VC-140)."""
    literal = binding.virtual_cluster_pattern_type is PatternType.LITERAL
    if binding.operation in VIRTUAL_CLUSTER_OPERATIONS or binding.scoped or not literal:
        check_virtual_clusters_enabled(draft)
    named = binding.resource_type is ResourceType.CLUSTER and binding.resource_name != CLUSTER_NAME
    if named and not draft.options.virtual_clusters:
        raise Refusal(
            ErrorCode.INVALID_REQUEST,
            f"The only valid name for the CLUSTER resource is {CLUSTER_NAME}",
        )


def _deleted(draft: Draft, wanted: AclFilter | IllegalAcl) -> MatchedAcls:
    """Delete all bindings that the filter matches, or none."""
    if isinstance(wanted, IllegalAcl):
        return MatchedAcls(
            result=RequestResult(code=ErrorCode.INVALID_REQUEST, message=wanted.problem)
        )
    try:
        return _delete(draft, wanted)
    except Refusal as refusal:
        return MatchedAcls(result=refusal.result)


def _delete(draft: Draft, wanted: AclFilter) -> MatchedAcls:
    if wanted.resource_name == "" and draft.options.seed:
        raise Refusal(ErrorCode.INVALID_REQUEST, "Resource name should not be empty")
    # Kafka matches all filters of a request against the ACLs before it.
    held = draft.image.acls.bindings
    exact = wanted.binding()
    if exact is not None:
        matching = [exact] if exact in held else []
    else:
        matching = sorted(filter(wanted.matches, held))
    requests = [
        DeleteAclRequest(binding=binding) for binding in matching if binding in draft.delta.acls
    ]
    for request in requests:
        draft.judge(request)
    for request in requests:
        draft.write(RemoveAccessControlEntryRecord(binding=request.binding))
        draft.accept(request)
    return MatchedAcls(bindings=tuple(matching))
