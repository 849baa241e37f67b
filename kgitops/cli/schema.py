"""``kgitops schema``: the JSON Schemas that editors check manifests with."""

import json
from pathlib import Path
from typing import Annotated

import typer

from kgitops.cli.running.completion import complete_kind


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
    out: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--out",
            metavar="DIR",
            help="Write the schemas of all kinds and of plans as files into this folder.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Print the JSON Schema of a kind, or of all; or write every schema as a file.

    Example: kgitops schema Topic
    """
    from kgitops.cli.console.streams import print_result
    from kgitops.manifests.schema import build_schema

    found = None if kind is None else _spelt(kind)
    if out is not None:
        print_result("\n".join(map(str, _write(out, found))))
        return
    print_result(json.dumps(build_schema(found), indent=2, ensure_ascii=False))


def _write(folder: Path, kind: str | None) -> list[Path]:
    """Write the schema of ``kind``, or all of them, into a folder that is made; the files.

    Raises:
        KgitopsError: a file can't be written.
    """
    from kgitops.manifests.schema import schema_files
    from kgitops.model.errors import KgitopsError
    from kgitops.report.json.plan_schema import schema_text

    every = {**schema_files(), "plan.schema.json": schema_text()}
    chosen = every if kind is None else {f"{kind}.schema.json": every[f"{kind}.schema.json"]}
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in chosen.items():
            (folder / name).write_text(text, encoding="utf-8")
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise KgitopsError(
            f"-o {folder} can't be written: {reason}; name another folder"
        ) from error
    return [folder / name for name in chosen]


def _spelt(kind: str) -> str:
    """The kind as it is spelt, whatever the case of its letters here."""
    from kgitops.manifests.kind_models import KINDS
    from kgitops.manifests.problems import suggestion
    from kgitops.model.errors import UsageError

    by_lower = {known.lower(): known for known in KINDS}
    if kind.lower() in by_lower:
        return by_lower[kind.lower()]
    near = suggestion(kind, list(KINDS))
    advice = f"did you mean {near}?" if near else f"there are {', '.join(KINDS)}"
    raise UsageError(f"no kind of document is called {kind!r}; {advice}")
