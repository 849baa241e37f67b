"""``kgitops schema``: the JSON Schemas that editors check manifests with."""

import json
from typing import Annotated

import typer


def schema(
    kind: Annotated[
        str | None,
        typer.Argument(metavar="[KIND]", help="One kind, such as Topic.", show_default=False),
    ] = None,
) -> None:
    """Print the JSON Schema of one kind of document, or of all.

    Example: kgitops schema Topic
    """
    from kgitops.cli.console import print_result
    from kgitops.manifests.schema import build_schema

    print_result(json.dumps(build_schema(kind), indent=2, ensure_ascii=False))
