"""Virtual clusters as Mermaid, which GitHub draws in Markdown."""

import re
from collections.abc import Iterator

from kgitops.model.wording import shortened
from kgitops.report.content.safe_text import terminal_text
from kgitops.report.virtual_clusters.graph import GraphTenant, Sign, VirtualClusterGraph

_LONGEST = 80
_UNSAFE = re.compile(r"[^A-Za-z0-9 .:_/-]")
_ARROWS = {Sign.SAME: "-->", Sign.ADDED: "-->", Sign.REMOVED: "-.->"}


def render_mermaid(graph: VirtualClusterGraph) -> str:
    """A flowchart; the same graph gives the same text. It ends with a line break."""
    return "\n".join((*_lines(graph), ""))


def _lines(graph: VirtualClusterGraph) -> Iterator[str]:
    yield "flowchart LR"
    for number, tenant in enumerate(graph.tenants):
        yield from _tenant(number, tenant)
    for index, topic in enumerate(graph.topics):
        count = f" (seen by {topic.tenants})" if topic.shared else ""
        yield f'  t{index}[("{_label(topic.name, count)}")]'
    for number, tenant in enumerate(graph.tenants):
        for row, link in enumerate(tenant.links):
            yield f"  v{number}l{row} {_ARROWS[link.sign]} t{link.topic}"
    if graph.note:
        yield f'  more["{_label(graph.note)}"]'
    shared = [f"t{index}" for index, topic in enumerate(graph.topics) if topic.shared]
    if shared:
        yield "  classDef shared stroke-width:3px"
        yield f"  class {','.join(shared)} shared"


def _tenant(number: int, tenant: GraphTenant) -> Iterator[str]:
    yield f'  subgraph v{number}["{_signed(tenant.sign, tenant.name)}"]'
    members = [_signed(member.sign, member.text) for member in tenant.members]
    members += [_label(tenant.more)] if tenant.more else []
    # A box of its own, also where it is empty: a subgraph without any is not drawn.
    yield f'    v{number}m["{"<br/>".join(members) or "no members"}"]'
    for row, link in enumerate(tenant.links):
        yield f'    v{number}l{row}["{_signed(link.sign, link.name)}"]'
    yield "  end"


def _signed(sign: Sign, text: str) -> str:
    return _label(f"{sign} {text}" if sign else text)


def _label(text: str, more: str = "") -> str:
    """The text of a label, in which every character that Mermaid could interpret is a number."""
    shown = f"{shortened(terminal_text(text), _LONGEST)}{more}"
    return _UNSAFE.sub(lambda match: f"#{ord(match[0])};", shown)
