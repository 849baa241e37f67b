"""The files of a new project."""

import os
import re
import uuid
from pathlib import Path

from kgitops.model.errors import UsageError

_PROJECT = """\
apiVersion: kgitops/v1
kind: Project
metadata:
  name: {name}
  # The project's identity in the registry on the cluster: keep it when you rename the project.
  uid: {uid}
spec:
  manifests: [manifests]
  defaultCluster: local
  clusters:
    # A cluster in one file, to try things out. Nothing needs to be installed.
    local: {{url: "embedded:.kgitops/local.db", brokers: 3}}
  # One plan may not delete more than this; see docs/manifests.md.
  safety: {{maxDeletes: 10, maxDeletePercent: 20}}
"""

_TOPIC = """\
apiVersion: kgitops/v1
kind: Topic
metadata:
  name: {name}.events
  labels: {{team: {name}}}
spec:
  partitions: 6
  replicationFactor: 3
  configs:
    retention.ms: 604800000   # 7 days
    min.insync.replicas: 2
  # Removing this document is refused. Write Delete to let it go, Orphan to leave the topic behind.
  deletionPolicy: Protect
---
apiVersion: kgitops/v1
kind: Acl
metadata: {{name: {name}-events-readers}}
spec:
  principal: User:{name}-reader
  permission: Allow
  operations: [Read, Describe]
  resource: {{type: topic, name: {name}.events, patternType: literal}}
"""

_WORKFLOW = """\
# Shows in every pull request what a merge would do to the cluster.
name: kgitops
on:
  pull_request:
permissions:
  contents: read
jobs:
  plan:
    runs-on: ubuntu-latest
    steps:
      - uses: actions/checkout@v4
      - uses: actions/setup-python@v5
        with: {python-version: "3.12"}
      - run: pip install kgitops
      - run: kgitops validate
      - run: kgitops plan --format markdown >> "$GITHUB_STEP_SUMMARY"
"""

_IGNORE = "# The embedded cluster.\n.kgitops/\n"


def create_project(folder: Path) -> list[Path]:
    """Write a new project into ``folder``; the paths written.

    Raises:
        UsageError: one of the files exists already, or can't be written.
    """
    name = _project_name(Path(os.path.abspath(folder)).name)  # noqa: PTH100 (links stay links)
    files = {
        "kgitops.yaml": _PROJECT.format(name=name, uid=uuid.uuid4()),
        "manifests/events.yaml": _TOPIC.format(name=name),
        ".github/workflows/kgitops.yaml": _WORKFLOW,
    }
    if not (folder / ".gitignore").exists():
        files[".gitignore"] = _IGNORE
    taken = [folder / path for path in files if (folder / path).exists()]
    if taken:
        raise UsageError(f"{taken[0]} exists already; init overwrites nothing, choose another DIR")
    try:
        for path, text in files.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_text(text, encoding="utf-8")
    except OSError as error:
        raise UsageError(
            f"{folder} can't be written: {error.strerror}; choose another DIR"
        ) from error
    return [folder / path for path in files]


def _project_name(folder: str) -> str:
    return re.sub(r"[^a-z0-9-]+", "-", folder.lower()).strip("-") or "my-project"
