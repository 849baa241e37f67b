"""A conversion in numbers, as text for a person, and as the page ``CONVERTED.md``."""

from collections.abc import Iterable, Iterator

from msgspec import Struct

from kgitops.conversion.objects import Conversion, Loss, SourceObject
from kgitops.conversion.users import password_variables
from kgitops.model.wording import counted
from kgitops.report.content.safe_text import code_span, terminal_text

_NEXT = """\
## Next

1. Read the manifests, and write into `kgitops.yaml` how the clusters are reached.
2. `kgitops plan`: on a cluster that the other tool made, it only adopts. What it would change
   besides is what was not converted, or was changed by hand.
3. Apply that plan, and stop the other tool before anyone changes its files.
"""


def converted_page(conversion: Conversion) -> str:
    """The page as Markdown."""
    return "\n".join(_page_lines(conversion)) + "\n"


def _page_lines(conversion: Conversion) -> Iterator[str]:
    yield f"# Converted from {conversion.tool}"
    yield ""
    yield "| in the source | objects | converted | documents | settings | doubles | left out |"
    yield "| --- | --: | --: | --: | --: | --: | --: |"
    for kind, counts in count_kinds(conversion.objects).items():
        yield (
            f"| {code_span(kind)} | {counts.objects:,} | {counts.converted:,} | "
            f"{counts.documents:,} | {counts.settings:,} | {counts.same:,} | {counts.lost:,} |"
        )
    yield ""
    variables = password_variables(conversion)
    if variables:
        yield "## Passwords"
        yield ""
        yield "No password was copied. A user that exists is adopted with the one that it has. For"
        yield "a new one, set its variable where the plan is applied:"
        yield ""
        yield from (f"- {code_span(name)}" for name in variables)
        yield ""
    losses = conversion.losses
    if losses:
        yield "## Not converted"
        yield ""
        yield from map(_loss, losses)
        yield ""
    if conversion.ignored:
        yield "## Not of this tool"
        yield ""
        yield from (f"- {code_span(name)}" for name in conversion.ignored)
        yield ""
    if conversion.offered:
        yield "## To convert in another run"
        yield ""
        yield from (f"- {code_span(name)}" for name in conversion.offered)
        yield ""
    yield _NEXT.rstrip("\n")


def _loss(loss: Loss) -> str:
    place = f"{loss.source.file}:{loss.source.line}"
    return f"- {code_span(place)} {code_span(loss.problem)}; {code_span(loss.advice)}"


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
    lines += [f"  {terminal_text(name)}" for name in conversion.offered]
    return "\n".join(lines)


class KindCounts(Struct, kw_only=True):
    """The objects of a kind of the source, by what became of them.

    Each is ``converted`` to ``documents``, part of the ``settings``, the ``same`` as another, or
    ``lost``. Of the first three, ``partly`` lost something.
    """

    objects: int = 0
    converted: int = 0
    documents: int = 0
    settings: int = 0
    same: int = 0
    lost: int = 0
    partly: int = 0


def count_kinds(objects: Iterable[SourceObject]) -> dict[str, KindCounts]:
    """The counts of each kind, by its name in the source."""
    kinds: dict[str, KindCounts] = {}
    for item in objects:
        counts = kinds.setdefault(item.kind, KindCounts())
        counts.objects += 1
        counts.documents += len(item.documents)
        kept = True
        if item.documents:
            counts.converted += 1
        elif item.settings:
            counts.settings += 1
        elif item.same_as is not None:
            counts.same += 1
        else:
            counts.lost += 1
            kept = False
        counts.partly += kept and bool(item.losses)
    return dict(sorted(kinds.items()))
