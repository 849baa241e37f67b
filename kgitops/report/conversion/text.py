"""A conversion as text for a person: what was found, and what became of it."""

from kgitops.conversion.counts import count_kinds
from kgitops.conversion.objects import Conversion
from kgitops.conversion.users import password_variables
from kgitops.model.wording import counted
from kgitops.report.content.safe_text import terminal_text


def render_conversion(conversion: Conversion) -> str:
    """A line for each kind of the source."""
    kinds = count_kinds(conversion.objects)
    lines = [f"Converted from {conversion.tool}: {counted(len(conversion.objects), 'object')}."]
    width = max(map(len, kinds), default=0)
    for kind, counts in kinds.items():
        parts = [f"{counts.objects:>7,} found", f"{counted(counts.documents, 'document')} written"]
        if counts.settings:
            parts.append(f"{counts.settings:,} became settings")
        if counts.same:
            parts.append(f"{counts.same:,} declared twice")
        if counts.partly:
            parts.append(f"{counts.partly:,} without a part")
        if counts.lost:
            parts.append(f"{counts.lost:,} left out")
        lines.append(f"  {terminal_text(kind):<{width}} {', '.join(parts)}")
    if variables := password_variables(conversion):
        lines.append(f"  No password was copied; new users take theirs from {', '.join(variables)}")
    if conversion.ignored:
        lines.append(f"  {counted(len(conversion.ignored), 'file or document')} of other programs")
    return "\n".join(lines)
