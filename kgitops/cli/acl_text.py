"""ACLs as a list on stdout."""

from collections.abc import Sequence
from itertools import groupby

from kgitops.model.json.layout import json_line
from kgitops.model.resources.acls import AclBinding, PatternType
from kgitops.model.resources.addresses import acl_address
from kgitops.report.content.safe_text import guarded_line, terminal_text


def render_acls(bindings: Sequence[AclBinding]) -> str:
    """The ACLs below the resource that each is on, with the virtual clusters that it is for."""
    if not bindings:
        return "There are no such ACLs."
    lines = []
    for resource, found in groupby(sorted(bindings, key=_resource_key), key=_resource):
        lines.append(f"ACLs on {resource}:")
        lines += [
            f"  {it.principal} {it.permission_type} {it.operation} from {it.host}" for it in found
        ]
    return "\n".join(guarded_line(terminal_text(line)) for line in lines)


def acls_to_json(bindings: Sequence[AclBinding]) -> str:
    """One JSON object a line, with the address of each."""
    return "\n".join(
        json_line(
            {
                "address": acl_address(it),
                "principal": it.principal,
                "host": it.host,
                "operation": it.operation.value,
                "permission": it.permission_type.value,
                "resource": {
                    "type": it.resource_type.value,
                    "name": it.resource_name,
                    "pattern_type": it.pattern_type.value,
                },
                "virtual_cluster": it.virtual_cluster if it.scoped else None,
                "virtual_cluster_pattern_type": (
                    it.virtual_cluster_pattern_type.value if it.scoped else None
                ),
            }
        )
        for it in bindings
    )


def _resource(binding: AclBinding) -> str:
    return (
        f"{binding.resource_type} {binding.resource_name} ({binding.pattern_type}){_scope(binding)}"
    )


def _scope(binding: AclBinding) -> str:
    if not binding.scoped:
        return ""
    if binding.virtual_cluster_pattern_type is PatternType.PREFIXED:
        return f" in virtual clusters that begin with {binding.virtual_cluster}"
    if binding.virtual_cluster == "*":
        return " in every virtual cluster"
    return f" in the virtual cluster {binding.virtual_cluster}"


def _resource_key(binding: AclBinding) -> tuple[str, str]:
    return _resource(binding), acl_address(binding)
