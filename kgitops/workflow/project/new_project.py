"""The files of a new project."""

import os
import re
import uuid
from importlib.resources import files
from pathlib import Path

from kgitops.cluster.connect import stored_cluster_id
from kgitops.manifests.schema import schema_files
from kgitops.model.errors import UsageError
from kgitops.model.origin import repository

_PROJECT = """\
apiVersion: kgitops/v1
kind: Project
metadata:
  name: {name}
  # The project's identity in the registry on the cluster: keep it when you rename the project.
  uid: {uid}
spec:
  manifests: [manifests]
  # Policies that come with kgitops, and a folder for yours, for the tests of all, and for waivers.
  # A soft one can be waived, a hard one can't. More: docs/reference/policy-pack.md of kgitops.
  policies:
    - policies
    - {{class: "kgitops.policies:ReplicationFactorRange", level: soft}}    # min: 3
    - {{class: "kgitops.policies:MinInsyncReplicasRange"}}    # min: 2, and spare: 1 that may fail
    - {{class: "kgitops.policies:RetentionRange", level: soft, configs: {{max: 90d}}}}
    - class: "kgitops.policies:ProtectFromDeletion"
      configs: {{topics: "{name}.*", exceptPrincipals: "User:admin"}}
    - {{class: "kgitops.policies:NoWildcardPrincipals"}}
    - {{class: "kgitops.policies:NoAllOnCluster"}}
    - {{class: "kgitops.policies:NoWildcardHosts", configs: {{operations: All}}}}
  defaultCluster: local
  clusters:
    # A cluster in one file, to try things out. Nothing needs to be installed. A plan for it says
    # so: name your Kafka here, and in defaultCluster (docs/guides/connections.md of kgitops).
    local: {{url: "embedded:.kgitops/local.db", brokers: 3{pin}}}
  # One plan may not delete more than this; see docs/reference/manifests.md.
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
# Shows in every pull request what its merge would do to the cluster: annotations beside the lines,
# the plan in the job's summary, and the saved plan. The token can do nothing but read.
# With a comment, apply after the merge, and drift: docs/guides/github-actions.md of kgitops.
#
# Before it can run: where kgitops is installed from, its repository's address (https://…) and the
# commit of it that you reviewed, forty digits. No package index has kgitops, so a name alone would
# install whatever somebody else puts there. What kgitops needs is pinned beside, with hashes.
name: kgitops
on:
  pull_request:
permissions: {{}}
env:
  KGITOPS_REPOSITORY: "{repository}"
  KGITOPS_COMMIT: "{commit}"
concurrency:
  group: kgitops-${{{{ github.event.pull_request.number }}}}
  cancel-in-progress: true # a plan changes nothing
jobs:
  plan:
    name: plan
    runs-on: ubuntu-latest
    timeout-minutes: 30
    permissions:
      contents: read # to check out
    steps:
      - uses: actions/checkout@3d3c42e5aac5ba805825da76410c181273ba90b1 # v7.0.1
        with:
          persist-credentials: false
      - uses: actions/setup-python@5fda3b95a4ea91299a34e894583c3862153e4b97 # v7.0.0
        with:
          python-version: "3.12"
      - name: install kgitops
        run: |
          if ! [[ "$REPOSITORY" =~ ^https:// && "$COMMIT" =~ ^[0-9a-f]{{40}}$ ]]; then
            echo "::error title=kgitops::{fill_in}"
            exit 1
          fi
          pip install --require-hashes --requirement {pins}
          pip install --no-deps --no-build-isolation "kgitops @ git+$REPOSITORY@$COMMIT"
        env:
          REPOSITORY: ${{{{ env.KGITOPS_REPOSITORY }}}}
          COMMIT: ${{{{ env.KGITOPS_COMMIT }}}}
      - run: kgitops policy test --coverage --min 100
      # For a cluster that takes a password: env, from secrets, of a principal that may only read.
      - run: kgitops plan --out plan.json --format github
      - if: ${{{{ !cancelled() && hashFiles('plan.json') != '' }}}}
        run: kgitops show plan.json --format markdown >>"$GITHUB_STEP_SUMMARY"
      - if: ${{{{ !cancelled() && hashFiles('plan.json') != '' }}}}
        uses: actions/upload-artifact@bbbca2ddaa5d8feaa63e36b76fdaad77386f024f # v7.0.0
        with:
          name: kgitops-plan
          path: plan.json
"""

_SCHEMA = "schemas/kgitops.schema.json"
_WORKFLOW_FILE = ".github/workflows/kgitops.yaml"
_PINS_FILE = ".github/kgitops-requirements.txt"
_FILL_IN = (
    f"Fill in KGITOPS_REPOSITORY and KGITOPS_COMMIT at the top of {_WORKFLOW_FILE}: "
    "where kgitops is installed from, and the commit of it that you reviewed."
)
_IGNORE = """\
# The embedded cluster, and what a plan or a snapshot leaves.
.kgitops/
plan.json
plans/
snapshot.json
snapshots/
"""


def create_project(folder: Path) -> list[Path]:
    """Write a new project into ``folder``; the paths written.

    Raises:
        UsageError: one of the files exists already, or can't be written.
    """
    name = _project_name(Path(os.path.abspath(folder)).name)  # noqa: PTH100 (links stay links)
    written = {
        "kgitops.yaml": _PROJECT.format(name=name, uid=uuid.uuid4(), pin=_pin(folder)),
        "manifests/events.yaml": _TOPIC.format(name=name),
        "policies/tests.yaml": _text("project/policy_tests.yaml").replace("PROJECT", name),
        _WORKFLOW_FILE: _workflow(),
        _PINS_FILE: _text("pinned/requirements.txt"),
    }
    if not (folder / ".gitignore").exists():
        written[".gitignore"] = _IGNORE
    written = {path: _with_schema_line(path, text) for path, text in written.items()}
    written[_SCHEMA] = schema_files()[Path(_SCHEMA).name]
    taken = [folder / path for path in written if (folder / path).exists()]
    if taken:
        raise UsageError(f"{taken[0]} exists already; init overwrites nothing, choose another DIR")
    try:
        for path, text in written.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_text(text, encoding="utf-8")
    except OSError as error:
        raise UsageError(
            f"{folder} can't be written: {error.strerror}; choose another DIR"
        ) from error
    return [folder / path for path in written]


def _pin(folder: Path) -> str:
    """Pin the embedded cluster that is there already: one that is created later gets its own id."""
    cluster_id = stored_cluster_id(folder / ".kgitops" / "local.db")
    return "" if cluster_id is None else f', clusterId: "{cluster_id}"'


def _with_schema_line(path: str, text: str) -> str:
    """The text as an editor checks it: docs/guides/editors.md."""
    if not path.endswith(".yaml") or path.startswith("."):
        return text
    up = "../" * path.count("/")
    return f"# yaml-language-server: $schema={up}{_SCHEMA}\n{text}"


def _workflow() -> str:
    """Installs the commit that this kgitops is of, where that is known; else it asks for one."""
    address, commit = repository() or ("", "")
    return _WORKFLOW.format(repository=address, commit=commit, pins=_PINS_FILE, fill_in=_FILL_IN)


def _text(file: str) -> str:
    """A file of a new project that comes with this package."""
    return files("kgitops.workflow").joinpath(file).read_text(encoding="utf-8")


def _project_name(folder: str) -> str:
    return re.sub(r"[^a-z0-9-]+", "-", folder.lower()).strip("-") or "my-project"
