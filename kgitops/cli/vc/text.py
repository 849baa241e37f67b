"""Virtual clusters as text and as JSON on stdout."""

from collections.abc import Sequence

from kgitops.model.json.layout import json_line
from kgitops.model.resources.virtual_clusters import VirtualCluster
from kgitops.report.content.safe_text import guarded_line, terminal_text


def render_virtual_clusters(found: Sequence[VirtualCluster]) -> str:
    """Each virtual cluster with what belongs to it, every list sorted (VC-277)."""
    lines = [line for one in found for line in _lines(one)]
    if not lines:
        return "There are no virtual clusters."
    return "\n".join(guarded_line(terminal_text(line)) for line in lines)


def virtual_clusters_to_json(found: Sequence[VirtualCluster]) -> str:
    """One JSON object a line, each list sorted."""
    return "\n".join(
        json_line(
            {
                "name": one.name,
                "links": [
                    {"link": name, "topic": one.links[name].topic} for name in sorted(one.links)
                ],
                "users": sorted(one.users),
                "client_ids": sorted(one.client_ids),
                "groups": [
                    {"group": name, "adopts": one.groups[name]} for name in sorted(one.groups)
                ],
                "transactional_ids": sorted(one.transactional_ids),
            }
        )
        for one in found
    )


def _lines(one: VirtualCluster) -> list[str]:
    links = [f"{name} -> {one.links[name].topic}" for name in sorted(one.links)]
    groups = [
        name if one.groups[name] in (None, name) else f"{name} (took over {one.groups[name]})"
        for name in sorted(one.groups)
    ]
    sections = (
        ("links", links),
        ("users", sorted(one.users)),
        ("client ids", sorted(one.client_ids)),
        ("groups", groups),
        ("transactional ids", sorted(one.transactional_ids)),
    )
    lines = [one.name]
    for title, members in sections:
        lines += [f"  {title}: none"] if not members else [f"  {title}:"]
        lines += [f"    {member}" for member in members]
    return lines
