"""``CONVERTED.md``: what became of the objects of the source, and what to do next."""

from collections.abc import Iterator

from kgitops.conversion.counts import count_kinds
from kgitops.conversion.objects import Conversion, Loss
from kgitops.conversion.users import password_variables
from kgitops.report.content.safe_text import code_span

_NEXT = """\
## Next

1. Read the manifests, and write into `kgitops.yaml` how the clusters are reached.
2. `kgitops plan`: on a cluster that the other tool made, it only adopts. What it would change
   besides is what was not converted, or was changed by hand.
3. Apply that plan, and stop the other tool before anybody changes a file of its.
"""


def converted_page(conversion: Conversion) -> str:
    """The page as Markdown."""
    return "\n".join(_lines(conversion)) + "\n"


def _lines(conversion: Conversion) -> Iterator[str]:
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
    yield _NEXT.rstrip("\n")


def _loss(loss: Loss) -> str:
    place = f"{loss.source.file}:{loss.source.line}"
    return f"- {code_span(place)} {code_span(loss.problem)}; {code_span(loss.advice)}"
