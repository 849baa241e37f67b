"""Profiles, defaults and folders give topics their values (contract §10)."""

from pathlib import Path

import pytest
from manifests.loading import write

from kgitops.desired.state import DesiredState
from kgitops.model.errors import FindingsError
from kgitops.model.json.declared import DesiredTopic
from kgitops.workflow.loading import loaded
from kgitops.workflow.project.selection import Selection, open_workspace

PROJECT = """\
apiVersion: kgitops/v1
kind: Project
metadata: {name: shop}
spec:
  manifests: [manifests]
  defaults: {topic: {replicationFactor: 3, configs: {retention.ms: 1000, min.insync.replicas: 2}}}
  clusters:
    local: {url: "embedded:", brokers: 3}
    small:
      url: "embedded:"
      defaults: {topic: {replicationFactor: 1, configs: {min.insync.replicas: 1}}}
"""
PROFILE = """\
apiVersion: kgitops/v1
kind: TopicProfile
metadata: {name: compacted}
spec: {replicationFactor: 2, configs: {cleanup.policy: compact, segment.ms: 60000}}
"""


def topic(name: str, spec: str) -> str:
    return f"---\napiVersion: kgitops/v1\nkind: Topic\nmetadata: {{name: {name}}}\nspec: {spec}\n"


def desired(folder: Path, *parts: str, cluster: str = "local") -> DesiredState:
    paths = tuple(folder / part for part in parts) or (folder,)
    selection = Selection(paths=paths, cluster=cluster, offline=True)
    with loaded(open_workspace(selection)) as everything:
        return everything.desired


def only_topic(state: DesiredState) -> tuple[int, int, dict[str, str]]:
    (found,) = state.of(DesiredTopic)
    return found.partitions, found.replication_factor, dict(found.configs)


def project(folder: Path, **files: str) -> Path:
    named = {f"manifests/{name.replace('__', '/')}.yaml": text for name, text in files.items()}
    write(folder, {"kgitops.yaml": PROJECT, **named})
    return folder


def test_a_topic_wins_over_its_profile_key_by_key(tmp_path: Path) -> None:
    spec = "{profile: compacted, partitions: 4, configs: {segment.ms: 5000, cleanup.policy: null}}"
    project(tmp_path, profiles=PROFILE, topics=topic("a", spec))
    below = {"retention.ms": "1000", "min.insync.replicas": "2"}
    assert only_topic(desired(tmp_path)) == (4, 2, {"segment.ms": "5000", **below})


def test_a_topic_without_a_profile_has_the_defaults(tmp_path: Path) -> None:
    project(tmp_path, topics=topic("a", "{partitions: 4, configs: {retention.ms: 7}}"))
    assert only_topic(desired(tmp_path)) == (
        4,
        3,
        {"retention.ms": "7", "min.insync.replicas": "2"},
    )


def test_a_clusters_defaults_win_over_the_projects(tmp_path: Path) -> None:
    project(tmp_path, topics=topic("a", "{partitions: 4}"))
    assert only_topic(desired(tmp_path, cluster="small")) == (
        4,
        1,
        {"retention.ms": "1000", "min.insync.replicas": "1"},
    )


def test_a_folder_gives_its_profile_and_labels_to_all_below(tmp_path: Path) -> None:
    folder = "apiVersion: kgitops/v1\nkind: Folder\nmetadata: {labels: {team: a, tier: x}}\n"
    inner = folder.replace("team: a, tier: x", "team: b") + "spec: {}\n"
    project(
        tmp_path,
        profiles=PROFILE,
        shop__folder=folder + "spec: {profile: compacted}\n",
        shop__deep__folder=inner,
        shop__deep__topics=topic("a", "{partitions: 1}"),
    )
    state = desired(tmp_path)
    assert state.of(DesiredTopic)[0].labels == {"team": "b", "tier": "x"}
    below = {"retention.ms": "1000", "min.insync.replicas": "2"}
    own = {"cleanup.policy": "compact", "segment.ms": "60000"}
    assert only_topic(state)[1:] == (2, {**own, **below})


def test_a_part_of_the_project_has_the_profiles_of_the_whole(tmp_path: Path) -> None:
    spec = "{profile: compacted, partitions: 1}"
    project(tmp_path, profiles=PROFILE, topics=topic("a", spec), others=topic("b", spec))
    part = desired(tmp_path, "manifests/topics.yaml")
    assert [item.name for item in part.of(DesiredTopic)] == ["a"]
    assert only_topic(part)[1] == 2


def test_what_is_expanded_has_the_digest_of_what_is_written_out(tmp_path: Path) -> None:
    short = project(
        tmp_path / "short",
        profiles=PROFILE,
        topics=topic("a", "{profile: compacted, partitions: 1}"),
    )
    own, below = "cleanup.policy: compact, segment.ms: 60000", "retention.ms: 1000"
    configs = f"{{{own}, {below}, min.insync.replicas: 2}}"
    written = f"{{partitions: 1, replicationFactor: 2, configs: {configs}}}"
    long = project(tmp_path / "long", topics=topic("a", written))
    without_defaults = "".join(
        line for line in PROJECT.splitlines(keepends=True) if "  defaults: {" not in line
    )
    (long / "kgitops.yaml").write_text(without_defaults)
    assert desired(short).digest == desired(long).digest


WRONG = {
    "{profile: compact, partitions: 1}": "there is no TopicProfile compact; did you mean compacted",
    "{profile: nothing, partitions: 1}": "there is no TopicProfile nothing; there are compacted",
    "{profile: compacted}": "needs spec.partitions as well",
    "{profile: [a], partitions: 1}": "profile",
    "{profile: null, partitions: 1}": "profile",
    "{partitions: 1, configs: {segment.ms: null}}": "segment.ms is null, and no profile or default",
    "{profile: compacted, partitions: 1, assignments: {0: [1, 2]}}": "can't be combined with",
}


@pytest.mark.parametrize("spec", WRONG)
def test_a_wrong_use_is_told_at_its_line(spec: str, tmp_path: Path) -> None:
    project(tmp_path, profiles=PROFILE, topics=topic("a", spec))
    with pytest.raises(FindingsError) as caught:
        desired(tmp_path)
    (finding,) = caught.value.findings
    assert WRONG[spec] in f"{finding.problem}; {finding.advice}"
