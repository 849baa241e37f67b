"""``kgitops explain`` and the plan: where each value of a declared object comes from."""

import itertools
import random
import re
import shutil
from contextlib import closing
from pathlib import Path

import pytest
from cli.conftest import Kgitops
from cli.policed import in_process

from kgitops.cluster.connect import connect
from kgitops.manifests.expanded import ExpandedDocument
from kgitops.manifests.project_file import load_project
from kgitops.model.requests import AlterStep, AlterTopicRequest
from kgitops.model.resources.topics import RequestedTopicState
from kgitops.workflow.explaining import explain
from kgitops.workflow.loading import loaded
from kgitops.workflow.project.selection import Selection, open_workspace

__all__ = ["in_process"]

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "profiles"


@pytest.mark.parametrize("seed", range(20))
def test_files_in_any_order_declare_the_same_with_the_same_origins(
    seed: int, tmp_path: Path
) -> None:
    """Documents spread over files in any order and of any names: one state, and each origin."""
    chosen = random.Random(seed)  # noqa: S311 (the same cases each time)
    manifests = EXAMPLE / "manifests"
    texts = [
        part
        for file in (manifests / "profiles.yaml", *sorted((manifests / "shop").glob("*.yaml")))
        for part in file.read_text().split("---\n")
    ]
    chosen.shuffle(texts)
    project = tmp_path / "project"
    (project / "manifests").mkdir(parents=True)
    shutil.copy(EXAMPLE / "kgitops.yaml", project)
    cuts = sorted(chosen.sample(range(1, len(texts)), chosen.randint(0, len(texts) - 1)))
    for number, (start, end) in enumerate(itertools.pairwise([0, *cuts, len(texts)])):
        name = f"{chosen.randrange(1000)}-{number}.yaml"
        (project / "manifests" / name).write_text("---\n".join(texts[start:end]))
    # In one folder the Folder document holds for the profile's file too, which has no labels.
    found = {path: state(path) for path in (EXAMPLE, project)}
    assert found[project] == found[EXAMPLE]


def state(folder: Path) -> tuple[str, dict[str, dict[str, str]]]:
    selection = Selection(paths=(folder,), cluster="local", offline=True)
    with loaded(open_workspace(selection)) as everything:
        desired = everything.desired
    origins = {
        item.address: {
            path: origin.text
            for path, origin in item.located.origins.items()
            if not path.startswith("labels.")
        }
        for item in desired.objects
        if isinstance(item.located, ExpandedDocument)
    }
    return desired.digest, origins


DEFAULTS = {
    "configsPolicy": "Declared",
    "host": "*",
    "resource.patternType": "literal",
    "virtualClusterPatternType": "literal",
    "lowering.capLowering": "clamp",
    "lowering.denyWins": False,
    "mode": "authoritative",
    "move": False,
    "copyOffsets": True,
}
"""The values that kgitops gives where nobody writes one; deletionPolicy's is the kind's."""


@pytest.mark.usefixtures("in_process")
@pytest.mark.parametrize("example", ["profiles", "quickstart", "virtual-clusters", "environments"])
def test_no_value_of_an_example_is_without_a_place(example: str) -> None:
    """Law: what is not written in a manifest has an origin, or is a default of kgitops."""
    folder = ROOT / "examples" / example
    for cluster in load_project(folder / "kgitops.yaml", env={}).cluster_names:
        selection = Selection(paths=(folder,), cluster=cluster, offline=True)
        with loaded(open_workspace(selection)) as everything:
            addresses = [item.address for item in everything.desired.objects]
        for address in addresses:
            for value in explain(selection, address).values:
                if value.source is None:
                    default = DEFAULTS.get(value.path, value.value)
                    assert value.path in {*DEFAULTS, "deletionPolicy"}
                    assert value.value == default
                else:
                    text = Path(value.source.file).read_text().splitlines()[value.source.line - 1]
                    written = text[value.source.column - 1 :]
                    assert written.strip()
                    if isinstance(value.value, str) and value.origin is None:
                        assert value.value in written or "${" in written


def test_drift_names_the_origins(kgitops: Kgitops, tmp_path: Path) -> None:
    project = tmp_path / "project"
    shutil.copytree(EXAMPLE, project, ignore=shutil.ignore_patterns(".kgitops"))
    on = (project, "-c", "local")
    assert kgitops("apply", *on, "--auto-approve").code == 0
    with closing(connect("embedded:.kgitops/local.db", brokers=3, base=project)) as cluster:
        state = cluster.read_state().topics["shop.customers"]
        configs = {**state.configs, "min.insync.replicas": "1", "min.compaction.lag.ms": "5"}
        request = AlterTopicRequest(
            topic=state.name,
            topic_id=str(state.topic_id),
            step=AlterStep.CONFIGS,
            requested_state=RequestedTopicState(
                name=state.name,
                topic_id=state.topic_id,
                assignment=state.assignment,
                configs=configs,
                requested_configs=configs,
            ),
        )
        (result,) = cluster.execute([request], validate_only=False, principal="User:other")
        assert result.ok, result
    out = kgitops("drift", *on).out
    assert re.search(r"min.insync.replicas +2 -> 1 \(profile compacted\)", out)
    assert re.search(r"min.compaction.lag.ms +60000 \(1 min\) -> 5 +by", out)
    profile = project / "manifests/profiles.yaml"
    text = profile.read_text()
    # What was applied is no longer what the profile says.
    profile.write_text(text.replace("min.insync.replicas: 2", "min.insync.replicas: 3"))
    assert "(profile compacted)" not in kgitops("drift", *on).out
    profile.write_text("kind: nothing\n")
    ran = kgitops("drift", *on)
    assert ran.code == 0
    assert "the manifests have findings, so no origin of a value is named" in ran.out
