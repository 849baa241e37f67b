"""Those bindings of the cluster that kafka-acls' flags match, to be removed or listed."""

from collections.abc import Iterable, Sequence

from kgitops.model.errors import UsageError
from kgitops.model.resources.acls import AclBinding, Operation, PatternType, ResourceType
from kgitops.model.resources.addresses import acl_address
from kgitops.virtual_clusters.rights import VirtualClusterScope
from kgitops.workflow.commands.acl_options import (
    ANY,
    MATCH,
    AclWords,
    Resource,
    operation_of,
    principals_of,
    resources_of,
)
from kgitops.workflow.commands.acls import bindings_of


def matching_bindings(words: AclWords, found: Iterable[AclBinding]) -> tuple[AclBinding, ...]:
    """Those of the cluster's bindings that the words mean, in the order of their addresses.

    Where no principal is named, all of the resource are meant.

    Raises:
        UsageError: the words can't be meant.
    """
    resources = resources_of(words)
    if not resources:
        raise UsageError(
            "--remove needs a resource; give --topic, --group, --cluster-resource, "
            "--transactional-id, --delegation-token or --user-principal"
        )
    only_some = words.operations or words.allow_hosts or words.deny_hosts
    if only_some and not words.names_principals:
        # kafka-acls would remove all there is on the resource, whatever else is said.
        raise UsageError(
            "--remove needs --allow-principal or --deny-principal beside --operation, --allow-host "
            "and --deny-host; say whose ACLs, or drop these to remove all of the resource"
        )
    wanted = (
        set(bindings_of(words)) if words.names_principals and words.pattern not in MATCH else None
    )
    meant = [
        binding
        for binding in found
        if (binding in wanted if wanted is not None else _is_meant(binding, words, resources))
    ]
    return tuple(sorted(meant, key=acl_address))


def listed_bindings(
    words: AclWords, principals: Sequence[str], found: Iterable[AclBinding]
) -> tuple[AclBinding, ...]:
    """The bindings that a list shows: of a virtual cluster all that count in it."""
    resources = resources_of(words)
    shown = [
        binding
        for binding in found
        if (words.virtual_cluster is None or _counts_in(binding, words))
        and (not resources or _is_resource(binding, words, resources))
        and (not principals or binding.principal in principals)
    ]
    return tuple(sorted(shown, key=acl_address))


def _is_meant(
    binding: AclBinding, words: AclWords, resources: dict[Resource, tuple[Operation, ...]]
) -> bool:
    """Whether a filter of a resource, and perhaps of principals, names this binding."""
    if not _is_in_scope(binding, words) or not _is_resource(binding, words, resources):
        return False
    if not words.names_principals:
        return True
    said = tuple(operation_of(text) for text in words.operations) or (Operation.ALL,)
    return binding.operation in said and any(
        (binding.principal, binding.host, binding.permission_type) == whose
        for whose in principals_of(words)
    )


def _is_in_scope(binding: AclBinding, words: AclWords) -> bool:
    return VirtualClusterScope.of(binding) == words.where


def _is_resource(
    binding: AclBinding, words: AclWords, resources: dict[Resource, tuple[Operation, ...]]
) -> bool:
    if binding.resource_type is ResourceType.CLUSTER:
        return (ResourceType.CLUSTER, words.scope) in resources and _counts_in(binding, words)
    return any(
        binding.resource_type is resource_type and _is_named(binding, name, words.pattern)
        for resource_type, name in resources
    )


def _is_named(binding: AclBinding, name: str, pattern: str) -> bool:
    found, prefixed = binding.resource_name, binding.pattern_type is PatternType.PREFIXED
    match pattern:
        case "any":
            return found == name
        case "match":
            return found in (name, ANY) or (prefixed and name.startswith(found))
        case _:
            return found == name and binding.pattern_type == pattern


def _counts_in(binding: AclBinding, words: AclWords) -> bool:
    """Whether it has a say in every virtual cluster that is meant."""
    return VirtualClusterScope.of(binding).covers(words.where)
