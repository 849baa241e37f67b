"""``kgitops explain`` and the plan: where each value of a declared object comes from."""

import itertools
import json
import random
import re
import shutil
from contextlib import closing
from pathlib import Path

import pytest
from cli.conftest import Kgitops
from manifests.loading import write

from kgitops.cluster.connect import connect
from kgitops.manifests.expanded import ExpandedDocument
from kgitops.manifests.project.values import load_project
from kgitops.model.requests import AlterStep, AlterTopicRequest
from kgitops.model.resources.topics import RequestedTopicState
from kgitops.workflow.explaining import explain
from kgitops.workflow.loading import loaded
from kgitops.workflow.project.selection import Selection, open_workspace

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "profiles"


def test_every_value_is_explained_with_its_place(kgitops: Kgitops) -> None:
    ran = kgitops("explain", "topic/shop.customers", EXAMPLE, "-c", "laptop")
    assert ran.code == 0, ran.err
    rows = [re.split(r" {2,}", line.strip()) for line in ran.out.splitlines()[1:]]
    assert [(name, value, place.split(",")[0]) for name, value, place in rows] == [
        ("partitions", "12", "manifest"),
        ("replicationFactor", "3", "profile compacted"),
        ("cleanup.policy", "compact", "profile compacted"),
        ("min.compaction.lag.ms", "60000 (1 min)", "manifest"),
        ("min.insync.replicas", "2", "profile compacted"),
        ("configsPolicy", "Declared", "kgitops's default"),
        ("deletionPolicy", "Protect", "kgitops's default"),
        ("labels.team", "shop", f"folder {EXAMPLE / 'manifests/shop'}"),
    ]
    orders = kgitops("explain", "topic/shop.orders", EXAMPLE, "-c", "laptop").out
    assert re.search(r"replicationFactor +1 +default of laptop, .*kgitops.yaml:12", orders)
    assert re.search(r"partitions +6 +project default, .*kgitops.yaml:6", orders)


def test_a_binding_names_its_role(kgitops: Kgitops) -> None:
    address = "acl/User:billing/Allow/Read/group/literal/billing@*"
    ran = kgitops("explain", address, EXAMPLE, "-c", "local")
    assert re.search(r"operations +Read +role consumer, ", ran.out)
    assert re.search(r"labels.team +shop +folder ", ran.out)


def test_what_was_last_applied_stands_beside(kgitops: Kgitops, tmp_path: Path) -> None:
    project = tmp_path / "project"
    shutil.copytree(EXAMPLE, project, ignore=shutil.ignore_patterns(".kgitops"))
    words = ("explain", "topic/shop.customers", project, "--last-applied")
    assert "manifests/shop/topics.yaml:4; never applied" in kgitops(*words).out
    assert kgitops("apply", project, "--auto-approve").code == 0
    profile = project / "manifests/profiles.yaml"
    profile.write_text(profile.read_text().replace("replicas: 2", "replicas: 1"))
    lines = kgitops(*words).out.splitlines()
    (changed,) = [line for line in lines if "min.insync.replicas" in line]
    assert changed.endswith("profiles.yaml:4; last applied: 2")
    (same,) = [line for line in lines if "partitions" in line]
    assert same.endswith("topics.yaml:4; as last applied")


def test_a_name_that_nothing_declares_is_told_with_the_nearest(kgitops: Kgitops) -> None:
    ran = kgitops("explain", "topic/shop.order", EXAMPLE, "-c", "local")
    assert ran.code == 64
    assert "no document declares topic/shop.order; did you mean topic/shop.orders?" in ran.err


def test_the_plan_names_the_origins_in_every_format(kgitops: Kgitops, tmp_path: Path) -> None:
    project = tmp_path / "project"
    shutil.copytree(EXAMPLE, project, ignore=shutil.ignore_patterns(".kgitops"))
    applied = kgitops("apply", project, "-c", "local", "--auto-approve")
    assert "(from profile compacted: cleanup.policy, min.insync.replicas" in applied.out
    assert "(from role consumer)" in applied.out
    profile = project / "manifests/profiles.yaml"
    profile.write_text(profile.read_text().replace("replicas: 2", "replicas: 1"))
    for format_ in ("text", "markdown"):
        ran = kgitops("plan", project, "-c", "local", "--format", format_)
        assert "2 -> 1 (profile compacted)" in ran.out
    page = kgitops("plan", project, "-c", "local", "--format", "html").out
    assert "from profile compacted, " in page
    document = json.loads(kgitops("plan", project, "-c", "local", "--format", "json").out)
    (change,) = document["changes"]
    origin = change["origins"]["configs.min.insync.replicas"]
    assert (origin["kind"], origin["name"]) == ("profile", "compacted")
    assert origin["source"]["file"].endswith("manifests/profiles.yaml")


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


def test_a_principal_of_several_is_explained_by_its_place(kgitops: Kgitops, tmp_path: Path) -> None:
    (tmp_path / "acl.yaml").write_text(
        "apiVersion: kgitops/v1\nkind: Acl\nmetadata: {name: a}\nspec:\n"
        "  principals:\n    - User:a\n    - User:b\n"
        "  role: streams\n  applicationId: app\n"
    )
    ran = kgitops("explain", "acl/User:b/Allow/All/topic/prefixed/app@*", tmp_path / "acl.yaml")
    rows = [re.split(r" {2,}", line.strip()) for line in ran.out.splitlines()[1:]]
    assert {name: (value, place.rpartition(":")[2]) for name, value, place in rows} == {
        "principal": ("User:b", "7"),
        "host": ("*", rows[1][2]),
        "permission": ("Allow", "8"),
        "operations": ("All", "8"),
        "resource.type": ("topic", "8"),
        "resource.name": ("app", "9"),
        "resource.patternType": ("prefixed", "8"),
        "deletionPolicy": ("Delete", rows[-1][2]),
    }


def test_an_explanation_as_json(kgitops: Kgitops) -> None:
    words = ("explain", "topic/shop.customers", EXAMPLE, "-c", "local", "--format", "json")
    document = json.loads(kgitops(*words).out)
    assert (document["kind"], document["managed"]) == ("kgitops.explanation", None)
    found = {value["path"]: value for value in document["values"]}
    assert found["partitions"]["origin"] == {"kind": "manifest", "name": ""}
    assert found["replicationFactor"]["origin"] == {"kind": "profile", "name": "compacted"}
    assert found["replicationFactor"]["source"]["line"] == 4
    assert found["deletionPolicy"]["origin"] == {"kind": "default", "name": ""}
    assert found["deletionPolicy"]["source"] is None


def test_what_no_document_declares_any_more_is_explained_by_the_registry(
    kgitops: Kgitops, tmp_path: Path
) -> None:
    project = tmp_path / "project"
    shutil.copytree(EXAMPLE, project, ignore=shutil.ignore_patterns(".kgitops"))
    assert kgitops("apply", project, "-c", "local", "--auto-approve").code == 0
    (project / "manifests/shop/acls.yaml").unlink()
    words = ("explain", "acl/User:billing/Allow/Read/group/literal/billing@*", project)
    assert kgitops(*words, "-c", "local").code == 64
    ran = kgitops(*words, "-c", "local", "--last-applied")
    assert ran.code == 0
    assert "as last applied to local: no document declares it any more" in ran.out
    assert re.search(r"resource.name +billing +last applied\n", ran.out)


NULL_PROJECT = """\
apiVersion: kgitops/v1
kind: Project
metadata: {name: shop}
spec:
  defaults: {topic: {partitions: 1, replicationFactor: 1, configs: {retention.ms: 86400000}}}
  clusters: {local: {url: "embedded:.kgitops/local.db"}}
  defaultCluster: local
"""
NULL_TOPIC = """\
apiVersion: kgitops/v1
kind: Topic
metadata: {name: orders}
spec:
  configs:
    retention.ms: {value}
"""


def test_a_key_without_a_value_stops_the_plan_that_would_lose_a_default(
    kgitops: Kgitops, tmp_path: Path
) -> None:
    topic = NULL_TOPIC.replace("{value}", "")
    write(tmp_path, {"kgitops.yaml": NULL_PROJECT, "manifests/topics.yaml": topic})
    for command in ("validate", "plan"):
        ran = kgitops(command, tmp_path)
        assert ran.code == 1
        assert "manifests/topics.yaml:6:18: spec.configs.retention.ms must be" in ran.err
        assert "write a value, or null to remove the default" in ran.err


def test_the_plan_and_explain_name_the_default_that_null_removes(
    kgitops: Kgitops, tmp_path: Path
) -> None:
    topics = tmp_path / "manifests/topics.yaml"
    write(tmp_path, {"kgitops.yaml": NULL_PROJECT, "manifests/topics.yaml": ""})
    removed = "null removes 86400000 (1 d) of project default"
    topics.write_text(NULL_TOPIC.replace("{value}", "~"))
    # Of a new topic, and of one that the default was applied to.
    for format_ in ("text", "markdown", "html"):
        assert removed in kgitops("plan", tmp_path, "--format", format_).out
    topics.write_text(NULL_TOPIC.replace("retention.ms: {value}", "segment.ms: 60000"))
    assert kgitops("apply", tmp_path, "--auto-approve").code == 0
    topics.write_text(NULL_TOPIC.replace("{value}", "null"))
    for format_ in ("text", "markdown", "html"):
        assert removed in kgitops("plan", tmp_path, "--format", format_).out
    saved = tmp_path / "plan.json"
    assert kgitops("plan", tmp_path, "-o", saved).code == 0
    (change,) = json.loads(saved.read_text())["changes"]
    origin = change["origins"]["configs.retention.ms"]
    assert (origin["kind"], origin["removed"]) == ("project-default", "86400000")
    assert removed in kgitops("show", saved).out
    explained = kgitops("explain", "topic/orders", tmp_path).out
    assert re.search(
        r"retention.ms +null +manifest, .*topics.yaml:6, removes 86400000 \(1 d\) of project "
        r"default, .*kgitops.yaml:5\n",
        explained,
    )
    assert kgitops("apply", saved, "--auto-approve").code == 0
    assert kgitops("plan", tmp_path, "--detailed-exitcode").code == 0


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
