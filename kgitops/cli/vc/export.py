"""``kgitops vc export``: the names of virtual clusters for other programs."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from kgitops.cli.running.options import ClusterOptions
from kgitops.cli.running.parameters import with_groups


class ExportFormat(StrEnum):
    """The programs that names are written for."""

    GATEWAY = "gateway"


@with_groups
def export(
    format_: Annotated[
        ExportFormat, typer.Option("--format", help="The program that the names are for.")
    ] = ExportFormat.GATEWAY,
    out: Annotated[
        Path | None,
        typer.Option("-o", "--out", metavar="FILE", help="Where to write it. Default: stdout."),
    ] = None,
    *,
    options: ClusterOptions,
) -> None:
    """Write who is a member of each virtual cluster, and its names with the physical ones.

    It is what kgitops gateway translates by, as JSON for a gateway of another kind.

    Example: kgitops vc export --format gateway -o names.json
    """
    del format_  # there is one so far
    from kgitops.cli.running.imperative import opened_cluster
    from kgitops.cli.running.streams import check_place, print_json, print_notice, write_file
    from kgitops.gateway.naming.names_document import names_json
    from kgitops.gateway.naming.registry_tables import read_name_tables

    check_place(out)
    with opened_cluster(options) as cluster:
        tables = read_name_tables(cluster)
    if not tables.by_virtual_cluster:
        print_notice("There are no virtual clusters: the file names nobody and nothing.")
    text = names_json(tables)
    if out:
        write_file(out, [f"{text}\n"])
    else:
        print_json(text)
