"""ACLs, virtual clusters and a caller's quotas, listed for a person, and the lists as JSON."""

from collections.abc import Sequence
from itertools import groupby

from kgitops.model.json.layout import json_line
from kgitops.model.resources.acls import AclBinding, PatternType
from kgitops.model.resources.addresses import acl_address, quota_address
from kgitops.model.resources.quotas import CLIENT_KEYS, quota_text
from kgitops.model.resources.virtual_clusters import VirtualCluster, as_principal, user_name
from kgitops.model.source import Finding
from kgitops.model.wording import counted
from kgitops.report.content.safe_text import Line, guarded_line, render_lines, terminal_text
from kgitops.virtual_clusters.resolution import Quotas, explain, resolve


def render_acls(bindings: Sequence[AclBinding]) -> str:
    """ACLs below their resources, with the virtual clusters that they hold in."""
    if not bindings:
        return "There are no such ACLs."
    lines = []
    ordered = sorted(bindings, key=lambda binding: (_resource(binding), acl_address(binding)))
    for resource, group in groupby(ordered, key=_resource):
        lines.append(f"ACLs on {resource}:")
        lines += [
            f"  {binding.principal} {binding.permission_type} {binding.operation} "
            f"from {binding.host}"
            for binding in group
        ]
    return "\n".join(guarded_line(terminal_text(line)) for line in lines)


def acls_to_json(bindings: Sequence[AclBinding]) -> str:
    """One JSON object a line, with the address of each."""
    return "\n".join(
        json_line(
            {
                "address": acl_address(binding),
                "principal": binding.principal,
                "host": binding.host,
                "operation": binding.operation.value,
                "permission": binding.permission_type.value,
                "resource": {
                    "type": binding.resource_type.value,
                    "name": binding.resource_name,
                    "pattern_type": binding.pattern_type.value,
                },
                "virtual_cluster": binding.virtual_cluster if binding.scoped else None,
                "virtual_cluster_pattern_type": (
                    binding.virtual_cluster_pattern_type.value if binding.scoped else None
                ),
            }
        )
        for binding in bindings
    )


def _resource(binding: AclBinding) -> str:
    name = f"{binding.resource_type} {binding.resource_name} ({binding.pattern_type})"
    return f"{name}{_virtual_clusters_of(binding)}"


def _virtual_clusters_of(binding: AclBinding) -> str:
    if not binding.scoped:
        return ""
    if binding.virtual_cluster_pattern_type is PatternType.PREFIXED:
        return f" in virtual clusters that begin with {binding.virtual_cluster}"
    if binding.virtual_cluster == "*":
        return " in every virtual cluster"
    return f" in the virtual cluster {binding.virtual_cluster}"


def render_virtual_clusters(virtual_clusters: Sequence[VirtualCluster]) -> str:
    """Each virtual cluster with its members and links, every list sorted (VC-277)."""
    lines = [
        line
        for virtual_cluster in virtual_clusters
        for line in _virtual_cluster_lines(virtual_cluster)
    ]
    if not lines:
        return "There are no virtual clusters."
    return "\n".join(guarded_line(terminal_text(line)) for line in lines)


def virtual_clusters_to_json(virtual_clusters: Sequence[VirtualCluster]) -> str:
    """One JSON object a line, each list sorted."""
    return "\n".join(
        json_line(
            {
                "name": virtual_cluster.name,
                "links": [
                    {"link": name, "topic": virtual_cluster.links[name].topic}
                    for name in sorted(virtual_cluster.links)
                ],
                "users": sorted(virtual_cluster.users),
                "client_ids": sorted(virtual_cluster.client_ids),
                "groups": [
                    {"group": name, "adopts": virtual_cluster.groups[name]}
                    for name in sorted(virtual_cluster.groups)
                ],
                "transactional_ids": sorted(virtual_cluster.transactional_ids),
            }
        )
        for virtual_cluster in virtual_clusters
    )


def _virtual_cluster_lines(virtual_cluster: VirtualCluster) -> list[str]:
    links = [
        f"{name} -> {virtual_cluster.links[name].topic}" for name in sorted(virtual_cluster.links)
    ]
    groups = [
        name
        if virtual_cluster.groups[name] in (None, name)
        else f"{name} (took over {virtual_cluster.groups[name]})"
        for name in sorted(virtual_cluster.groups)
    ]
    sections = (
        ("links", links),
        ("users", sorted(virtual_cluster.users)),
        ("client ids", sorted(virtual_cluster.client_ids)),
        ("groups", groups),
        ("transactional ids", sorted(virtual_cluster.transactional_ids)),
    )
    lines = [virtual_cluster.name]
    for title, members in sections:
        lines += [f"  {title}: none"] if not members else [f"  {title}:"]
        lines += [f"    {member}" for member in members]
    return lines


def render_quotas(
    quotas: Quotas, *, virtual_cluster: str | None, user: str | None, client_id: str | None
) -> str:
    """The 16 lookups of each quota key in their order (VC-200), and the cap (VC-201).

    A key without any quota takes one line.
    """
    name = user_name(as_principal(user)) if user else None
    place = f"the virtual cluster {virtual_cluster}" if virtual_cluster else "no virtual cluster"
    names = [as_principal(user)] if user else []
    who = " with ".join([*names, *([f"client id {client_id}"] if client_id else [])])
    lines = [f"{who}, in {place}; every quota is one broker's"]
    for key in sorted(CLIENT_KEYS):
        caller = {"virtual_cluster": virtual_cluster, "user": name, "client_id": client_id}
        resolution = resolve(quotas, key=key, **caller)
        if resolution.value is None and resolution.cap is None:
            lines += ["", f"{key}: no limit"]
            continue
        limit = "nothing" if resolution.value is None else quota_text(resolution.value)
        lines += ["", f"{key}: {limit}{_shared_by(resolution.bucket)}"]
        for row in explain(quotas, key=key, **caller):
            mark = ">" if row.won else " "
            value = "" if row.value is None else f" = {quota_text(row.value)}"
            lines.append(f"  {mark} {row.rank:>2} {row.path}{value}  ({row.why})")
        if resolution.cap is not None and resolution.cap_entity is not None:
            lines.append(
                f"  cap {quota_address(resolution.cap_entity)} = {quota_text(resolution.cap)}"
            )
        if resolution.limit is not None and resolution.limit != resolution.value:
            lines.append(f"  so one caller reaches {quota_text(resolution.limit)} at most")
    return "\n".join(guarded_line(terminal_text(line)) for line in lines)


def _shared_by(bucket: tuple[tuple[str, str | None], ...]) -> str:
    if not bucket:
        return ""
    return f", shared by all of {quota_address(bucket)}"


def render_findings(findings: Sequence[Finding]) -> str:
    """``FILE:LINE:COLUMN: what is wrong; what to do``, one a line, and how many there are."""
    ordered = sorted(findings, key=lambda finding: finding.sort_key)
    lines: list[Line] = [[str(finding)] for finding in ordered]
    return render_lines(
        [*lines, [f"{counted(len(ordered), 'finding')}."]], colour=False, ascii_only=False
    )
