"""``kgitops schema``: the JSON Schemas that editors check manifests with."""

import json
from typing import Annotated

import typer

from kgitops.cli.completing import complete_kind


def schema(
    kind: Annotated[
        str | None,
        typer.Argument(
            metavar="KIND",
            help="One kind, such as Topic.",
            autocompletion=complete_kind,
            show_default=False,
        ),
    ] = None,
) -> None:
    """Print the JSON Schema of a kind, or of all.

    Example: kgitops schema Topic
    """
    from kgitops.cli.console import print_result
    from kgitops.manifests.schema import build_schema

    found = None if kind is None else _spelt(kind)
    print_result(json.dumps(build_schema(found), indent=2, ensure_ascii=False))


def _spelt(kind: str) -> str:
    """The kind as it is spelt, whatever the case of its letters here."""
    from kgitops.manifests.kinds import KINDS
    from kgitops.manifests.problems import suggestion
    from kgitops.model.errors import UsageError

    by_lower = {known.lower(): known for known in KINDS}
    if kind.lower() in by_lower:
        return by_lower[kind.lower()]
    near = suggestion(kind, list(KINDS))
    advice = f"did you mean {near}?" if near else f"there are {', '.join(KINDS)}"
    raise UsageError(f"no kind of document is called {kind!r}; {advice}")
