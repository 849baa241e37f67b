"""What a plan of one project for one cluster is called, the same in every workflow.

Project and cluster are meant as the workflow spells them: known without reading a manifest, also
where the manifests can't be read.
"""

import hashlib
import posixpath
import re

_TOKEN = re.compile(r"[^A-Za-z0-9._]")
_REVIEWED = re.compile(
    r"^<!-- kgitops-reviewed head=([0-9a-f]{40,64}) plan=(none|sha256:[0-9a-f]{64}) -->$",
    re.MULTILINE,
)


def artifact_name(what: str, project: str, cluster: str) -> str:
    """Such as ``kgitops-plan-prod-1a2b3c4d``: GitHub allows few characters but letters there."""
    folder = posixpath.normpath(project or ".")
    digest = hashlib.sha256(f"{folder}\0{cluster}".encode()).hexdigest()[:8]
    words = re.sub(r"[^A-Za-z0-9._]+", "-", f"{folder}-{cluster}").strip("-.")[:60]
    return "-".join(filter(None, ("kgitops", what, words, digest)))


def marker(what: str, project: str, cluster: str) -> str:
    """The first line of a comment or an issue that is kept up to date."""
    folder = posixpath.normpath(project or ".")
    return f"<!-- kgitops-{what}:{_token(folder)}:{_token(cluster)} -->"


def reviewed_line(head: str, digest: str) -> str:
    """Which plan of which commit a comment shows, for the apply."""
    return f"<!-- kgitops-reviewed head={head} plan={digest or 'none'} -->"


def read_reviewed(body: str) -> tuple[str, str] | None:
    """Commit and digest of a comment: its second line, for the rest shows text of others."""
    lines = body.splitlines()[1:2]
    found = _REVIEWED.search(lines[0]) if lines else None
    return (found[1], found[2]) if found else None


def _token(text: str) -> str:
    return _TOKEN.sub(lambda match: "".join(f"%{byte:02X}" for byte in match[0].encode()), text)
