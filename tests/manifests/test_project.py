"""The project file: its values, and what is wrong with it."""

from collections.abc import Mapping
from pathlib import Path

import pytest
from manifests.loading import write
from manifests_reference import example

from kgitops.manifests.project_file import ProjectFile, load_project
from kgitops.model.cluster_state import Broker
from kgitops.model.errors import FindingsError, UsageError
from kgitops.model.lowered import DeclaredGateway
from kgitops.workflow.project.clusters import ChosenCluster, choose_cluster

HEAD = "apiVersion: kgitops/v1\nkind: Project\nmetadata: {name: p}\nspec:\n"


def project(spec: str, metadata: str = "{name: p}") -> str:
    head = HEAD.replace("{name: p}", metadata)
    return head + "".join(f"  {line}\n" for line in spec.splitlines())


def cluster(
    file: ProjectFile, name: str, *, env: Mapping[str, str], offline: bool = False
) -> ChosenCluster:
    return choose_cluster(name, file, file.folder, env, offline=offline)


def problems(tmp_path: Path, text: str | bytes, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    write(tmp_path, {"kgitops.yaml": text})
    monkeypatch.chdir(tmp_path)
    with pytest.raises(FindingsError) as caught:
        load_project(Path(), env={})
    return [str(finding) for finding in caught.value.findings]


def test_the_example_has_its_values(tmp_path: Path) -> None:
    write(tmp_path, {"kgitops.yaml": example("Project"), "policies/none.yaml": "# none"})
    loaded = load_project(tmp_path, env={})
    assert (loaded.name, loaded.metadata.uid) == (
        "payments",
        "6f1c0c5e-6f0e-4a52-9d2b-0d7f3f1b9a11",
    )
    assert loaded.manifests == (tmp_path / "manifests",)
    assert (loaded.spec.default_cluster, loaded.spec.principal) == ("local", "User:kgitops")
    assert (loaded.spec.safety.max_deletes, loaded.spec.safety.max_delete_percent) == (10, 20)
    assert loaded.spec.safety.replication_throttle == 52428800
    assert loaded.cluster_names == ("local", "prod")
    local = cluster(loaded, "local", env={})
    assert (local.url, local.brokers) == ("embedded:.kgitops/local.db", 3)


def test_the_least_project_has_defaults(tmp_path: Path) -> None:
    write(tmp_path, {"kgitops.yaml": HEAD.removesuffix("\n") + " {}\n"})
    loaded = load_project(tmp_path / "kgitops.yaml", env={})
    assert loaded.manifests == (tmp_path / "manifests",)
    declared = loaded.metadata
    assert (declared.uid, declared.formerly, declared.take_from) == (None, [], [])
    assert loaded.cluster_names == ()


def test_all_fields_are_read(tmp_path: Path) -> None:
    text = project(
        "manifests: [a, b/c.yaml]\nallowConfigs: [confluent.*]\n"
        "safety: {maxDeletes: 0, maxDeletePercent: 100, replicationThrottle: 0}\n"
        "clusters:\n  dev:\n    url: 'embedded:'\n    brokers: [{id: 1, rack: a}, {id: 5}]\n"
        "    configs: {client.id: x, socket.timeout.ms: 10}\n"
        "    variables: {n: 3, yes: true, half: 0.5, s: text}\n"
        "    policyLevels: {naming: soft}\n",
        "{name: p, formerly: [old], takeFrom: [other], labels: {team: a}}",
    )
    write(tmp_path, {"kgitops.yaml": text})
    loaded = load_project(tmp_path, env={})
    assert loaded.manifests == (tmp_path / "a", tmp_path / "b/c.yaml")
    declared = loaded.metadata
    assert (declared.formerly, declared.take_from) == (["old"], ["other"])
    assert declared.labels == {"team": "a"}
    assert (loaded.spec.safety.max_deletes, loaded.spec.safety.max_delete_percent) == (0, 100)
    assert loaded.spec.safety.replication_throttle == 0
    assert loaded.spec.allow_configs == ["confluent.*"]
    dev = cluster(loaded, "dev", env={})
    assert dev.brokers == (Broker(id=1, rack="a"), Broker(id=5))
    assert dev.configs == {"client.id": "x", "socket.timeout.ms": "10"}
    assert dev.variables == {"n": "3", "yes": "true", "half": "0.5", "s": "text"}
    assert [(name, str(level)) for name, (level, _) in dev.policy_levels.items()] == [
        ("naming", "soft")
    ]


def test_a_cluster_may_declare_the_gateway_of_its_clients(tmp_path: Path) -> None:
    """Several servers, and placeholders, as in the url."""
    text = project(
        "clusters:\n  x:\n    url: 'kafka://b:1'\n"
        "    gateway: {bootstrapServers: '${env:SERVER},[::1]:9092'}\n"
        "  y: {url: 'embedded:?virtual.clusters=lowered', gateway: {bootstrapServers: 'g:1'}}\n"
        "  z: {url: 'kafka://b:1'}\n"
    )
    write(tmp_path, {"kgitops.yaml": text})
    loaded = load_project(tmp_path, env={})
    gateway = cluster(loaded, "x", env={"SERVER": "g.example.com:9092"}).gateway
    assert gateway == DeclaredGateway(bootstrap_servers="g.example.com:9092,[::1]:9092")
    assert cluster(loaded, "y", env={}).gateway == DeclaredGateway(bootstrap_servers="g:1")
    assert cluster(loaded, "z", env={}).gateway is None


@pytest.mark.parametrize("servers", ["", "g", "g:", "g:1,", "kafka://g:1", "g:1 h:2", "u@h/g:1"])
def test_a_gateway_is_named_by_its_servers(tmp_path: Path, servers: str) -> None:
    text = project(
        f"clusters:\n  x:\n    url: 'kafka://b:1'\n    gateway: {{bootstrapServers: '{servers}'}}\n"
    )
    write(tmp_path, {"kgitops.yaml": text})
    with pytest.raises(FindingsError, match="bootstrapServers must be HOST:PORT"):
        load_project(tmp_path, env={})


def test_a_gateway_needs_brokers_without_virtual_clusters(tmp_path: Path) -> None:
    """An embedded cluster translates names itself; planning from a snapshot asks for no url."""
    text = project(
        "clusters:\n  x:\n    url: 'embedded:'\n    gateway: {bootstrapServers: 'g:1'}\n"
    )
    write(tmp_path, {"kgitops.yaml": text})
    loaded = load_project(tmp_path, env={})
    with pytest.raises(FindingsError) as caught:
        cluster(loaded, "x", env={})
    assert "kgitops.yaml:8:7: the cluster x is embedded" in str(caught.value)
    offline = cluster(loaded, "x", env={}, offline=True)
    assert offline.gateway == DeclaredGateway(bootstrap_servers="g:1")


def test_only_the_used_cluster_needs_its_environment(tmp_path: Path) -> None:
    """A laptop that plans on local has no password of prod."""
    write(tmp_path, {"kgitops.yaml": example("Project"), "policies/none.yaml": "# none"})
    loaded = load_project(tmp_path, env={})
    with pytest.raises(FindingsError) as caught:
        cluster(loaded, "prod", env={"KAFKA_USER": "me"})
    assert "${env:KAFKA_PASSWORD} has no value" in str(caught.value)
    env = {"KAFKA_USER": "me", "KAFKA_PASSWORD": "hunter2"}
    prod = cluster(loaded, "prod", env=env)
    assert prod.configs["sasl.password"] == "hunter2"
    assert prod.env_values == {"me": "KAFKA_USER", "hunter2": "KAFKA_PASSWORD"}
    assert "hunter2" not in repr(prod)
    assert "hunter2" not in repr(loaded)


def test_a_placeholder_that_gives_a_wrong_value_is_found_when_used(tmp_path: Path) -> None:
    write(
        tmp_path,
        {"kgitops.yaml": project("clusters:\n  x:\n    url: 'embedded:'\n    brokers: ${env:N}\n")},
    )
    loaded = load_project(tmp_path, env={})
    assert cluster(loaded, "x", env={"N": "2"}).brokers == 2
    with pytest.raises(FindingsError) as caught:
        cluster(loaded, "x", env={"N": "many"})
    assert "kgitops.yaml:8:16: spec.clusters.x.brokers must be" in str(caught.value)
    assert "many" not in str(caught.value)


def test_a_cluster_that_is_not_there_is_a_wrong_use(tmp_path: Path) -> None:
    write(tmp_path, {"kgitops.yaml": example("Project"), "policies/none.yaml": "# none"})
    loaded = load_project(tmp_path, env={})
    with pytest.raises(UsageError, match="no cluster 'prd'; did you mean prod"):
        cluster(loaded, "prd", env={})
    with pytest.raises(UsageError, match="no cluster 'x'; it has local, prod"):
        cluster(loaded, "x", env={})


@pytest.mark.parametrize(
    ("text", "place", "words"),
    [
        ("", "1:1", "the file is empty"),
        ("# only this\n", "1:1", "the file declares nothing"),
        ("a: [\n", "2:1", "a value is expected here"),
        (HEAD + "  manifests: []\n", "5:14", "spec.manifests must not be empty"),
        (HEAD + "  manifest: [a]\n", "5:3", "did you mean manifests?"),
        (HEAD + "  clusters: {x: {}}\n", "5:17", "spec.clusters.x.url is missing"),
        (HEAD + "  clusters: {x: {url: 1}}\n", "5:23", "must be text, not 1"),
        (HEAD + "  clusters: {x: {url: a, urls: b}}\n", "5:26", "did you mean url?"),
        (HEAD + "  clusters: {x: {url: a, brokers: 0}}\n", "5:35", "a number of brokers or"),
        (HEAD + "  clusters: [a]\n", "5:13", "spec.clusters must be a mapping"),
        (HEAD + "  defaultCluster: a\n", "5:19", "the project has no cluster 'a'"),
        (HEAD + "  policies: ['']\n", "5:14", "must be a file or folder of policies"),
        (HEAD + "  policies: [{class: a, level: strict}]\n", "5:32", "one of info, advisory"),
        (HEAD + "  policies: [{clas: a}]\n", "5:15", "did you mean class?"),
        (HEAD + "  policies: [3]\n", "5:14", "must be a file or folder of policies"),
        (HEAD + "  policies: [{name: a}]\n", "5:14", "class is missing"),
        (HEAD + "  principal: ${var:x}\n", "5:14", "${var:x} has no value"),
        (HEAD + "  safety: {maxDeletePercent: 101}\n", "5:30", "a whole number from 0 to 100"),
        (HEAD + "  {}\n---\n" + HEAD + "  {}\n", "7:1", "holds one document, not 2"),
        ("apiVersion: kgitops/v1\nkind: Topic\n", "2:7", "holds a Project, not a Topic"),
        ("apiVersion: kgitops/v1\nkind: Projekt\n", "2:7", "did you mean Project?"),
        ("- a\n", "1:1", "must be a mapping, not a list"),
        (
            HEAD + "  clusters: {x: {url: a, configs: {sasl.password: hunter2}}}\n",
            "5:51",
            "the secret sasl.password is in plain text; write sasl.password",
        ),
        (
            HEAD + '  clusters: {x: {url: a, configs: {sasl.password: "${env:P:-hunter2}"}}}\n',
            "5:51",
            "the secret sasl.password is in plain text",
        ),
        ("caf\xe9".encode("latin-1"), "1:4", "not UTF-8"),
    ],
)
def test_what_is_wrong_is_found_at_its_place(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    text: str | bytes,
    place: str,
    words: str,
) -> None:
    said = problems(tmp_path, text, monkeypatch)
    assert any(one.startswith(f"kgitops.yaml:{place}: ") and words in one for one in said), said
    assert "hunter2" not in "".join(said)


def test_a_url_of_no_known_kind_is_found(tmp_path: Path) -> None:
    write(tmp_path, {"kgitops.yaml": project("clusters: {x: {url: 'http://a'}}")})
    with pytest.raises(
        FindingsError, match=r"5:23: .* write embedded:FILE, kafka://HOST:PORT, sandbox: or"
    ):
        cluster(load_project(tmp_path, env={}), "x", env={})


def test_a_folder_without_project_file_is_a_finding(tmp_path: Path) -> None:
    with pytest.raises(FindingsError, match="does not exist; run kgitops init"):
        load_project(tmp_path, env={})


def test_a_folder_of_policies_that_is_not_there_is_said_at_its_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = HEAD.removesuffix("\n") + " {policies: [polices]}\n"
    (said,) = problems(tmp_path, text, monkeypatch)
    assert said.endswith(": polices does not exist; correct the path")
    assert said.startswith("kgitops.yaml:4:")


@pytest.mark.parametrize(
    ("path", "advice"),
    [
        (
            "./rules/naming.py",
            '{class: "rules.naming:CLASS"}, with the name of the policy\'s class',
        ),
        ("my-rules.py", '{class: "MODULE:CLASS"}, with a module in the project\'s folder'),
    ],
)
def test_a_python_file_among_the_policies_is_named_by_its_class(
    path: str, advice: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, {path: "class TeamPrefix: ..."})
    text = HEAD.removesuffix("\n") + f" {{policies: [{path}]}}\n"
    (said,) = problems(tmp_path, text, monkeypatch)
    assert said == f"kgitops.yaml:4:19: {path} is a Python file, not a manifest; write {advice}"


@pytest.mark.parametrize("metadata", ["{name: <command>}", "{name: p, uid: <command>}"])
def test_no_project_is_taken_for_single_commands(
    tmp_path: Path, metadata: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Limits hold for projects, and not for commands."""
    (problem,) = problems(tmp_path, project("manifests: [a]", metadata), monkeypatch)
    assert problem.endswith(
        "<command> stands for single commands, which own nothing; choose another name"
    )
