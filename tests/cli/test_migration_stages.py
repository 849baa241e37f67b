"""``examples/migration`` and docs/guides/migrating-to-virtual-clusters.md, stage by stage."""

import re
import shlex
import shutil
from contextlib import closing
from pathlib import Path

import pytest
import yaml
from cli.conftest import Kgitops
from cli.projects import EXAMPLES

from kgitops.cluster.connect import connect
from kgitops.cluster.embedded.adapter import EmbeddedCluster
from kgitops.cluster.embedded.client.admin import EmbeddedAdmin

PAGE = EXAMPLES.parent / "docs/guides/migrating-to-virtual-clusters.md"
STAGES = ("0-before", "1-links", "2-members", "3-no-old-acls", "4-short-names")
CHANGED = {
    ("0-before", "1-links"): {"links.yaml", "virtual-cluster.yaml"},
    ("1-links", "2-members"): {"virtual-cluster.yaml"},
    ("2-members", "3-no-old-acls"): {"old-acls.yaml"},
    ("3-no-old-acls", "4-short-names"): {"links.yaml", "virtual-cluster.yaml"},
}
ORDERS = "emea.eu.sales.orders"
LONG = {ORDERS, "emea.eu.sales.refunds"}
SHORT = {"orders", "refunds"}
TODAY = "embedded:.kgitops/today.db?virtual.clusters=lowered"
STRICT = "embedded:.kgitops/local.db?authorizer=acls&superUsers=User:platform"


@pytest.fixture
def example(here: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of it, which is the current folder."""
    leave = shutil.ignore_patterns(".kgitops")
    folder = shutil.copytree(EXAMPLES / "migration", here / "migration", ignore=leave)
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture(params=["local", "today"])
def cluster(request: pytest.FixtureRequest) -> str:
    """Brokers that know virtual clusters, and such as do not."""
    return str(request.param)


def files(stage: str) -> dict[str, str]:
    manifests = EXAMPLES / "migration" / stage / "manifests"
    return {file.name: file.read_text() for file in manifests.iterdir()}


def test_each_stage_is_one_change_of_few_files() -> None:
    """A reader compares them; so nothing else differs."""
    projects = {(EXAMPLES / "migration" / it / "kgitops.yaml").read_text() for it in STAGES}
    assert len(projects) == 1
    folders = {file.parent.name for file in (EXAMPLES / "migration").glob("*/kgitops.yaml")}
    assert folders == set(STAGES)
    for (before, after), names in CHANGED.items():
        old, new = files(before), files(after)
        assert {name for name in old | new if old.get(name) != new.get(name)} == names


def apply(kgitops: Kgitops, stage: str, cluster: str) -> None:
    """Apply it and see that nothing is left to do, nor to tell."""
    applied = kgitops("apply", stage, "-c", cluster, "--auto-approve")
    assert applied.code == 0, applied.said
    again = kgitops("plan", stage, "-c", cluster, "--detailed-exitcode")
    assert (again.code, "No changes" in again.out, "DRIFT" in again.out) == (0, True, False)
    drift = kgitops("drift", stage, "-c", cluster, "--detailed-exitcode")
    assert drift.code == 0, drift.said


@pytest.mark.slow
@pytest.mark.usefixtures("example")
def test_every_stage_applies_and_is_taken_back(kgitops: Kgitops, cluster: str) -> None:
    """VC-346, VC-347, VC-349: to the end, and each stage back to the beginning, and again."""
    for stage in (*STAGES, *reversed(STAGES[:-1]), *STAGES[1:]):
        apply(kgitops, stage, cluster)


@pytest.mark.usefixtures("example")
def test_taking_all_back_leaves_what_was_there(kgitops: Kgitops, cluster: str) -> None:
    """VC-349, VC-404."""
    url = {"today": TODAY, "local": "embedded:.kgitops/local.db"}[cluster]
    apply(kgitops, "0-before", cluster)
    with closing(connect(url, brokers=3, base=Path())) as found:
        before = found.read_state()
    for stage in (*STAGES[1:], *reversed(STAGES[:-1])):
        apply(kgitops, stage, cluster)
    with closing(connect(url, brokers=3, base=Path())) as found:
        after = found.read_state()
    assert (after.topics, after.acls) == (before.topics, before.acls)
    assert after.virtual_clusters == {}


@pytest.mark.usefixtures("example")
def test_the_first_stage_is_what_the_command_writes(kgitops: Kgitops, cluster: str) -> None:
    """VC-347, VC-348."""
    apply(kgitops, "0-before", cluster)
    url = {"today": TODAY, "local": "embedded:.kgitops/local.db"}[cluster]
    words = ("--prefix", "emea.eu.sales.", "--virtual-cluster", "emea.sales", "-o", "written")
    ran = kgitops("vc", "plan-migration", *words, "-c", url)
    assert ran.code == 0, ran.said
    written = {file.name: file.read_text() for file in Path("written").iterdir()}
    assert written.keys() == CHANGED["0-before", "1-links"]
    for name, text in written.items():
        ours = list(yaml.safe_load_all(files("1-links")[name]))
        assert [it for it in yaml.safe_load_all(text) if it] == ours


class Strict:
    """The example's cluster, on which nobody may do anything without an ACL."""

    def __init__(self) -> None:
        connected = connect(STRICT, brokers=3, base=Path())
        assert isinstance(connected, EmbeddedCluster)
        self.cluster = connected

    def __enter__(self) -> "Strict":
        return self

    def __exit__(self, *_: object) -> None:
        self.cluster.close()

    def a(self, user: str) -> EmbeddedAdmin:
        return EmbeddedAdmin(self.cluster.controller, principal=f"User:{user}")

    def topics(self, user: str) -> set[str]:
        """What the user's clients see."""
        return {topic.name for topic in self.a(user).metadata()}

    def committed(self, group: str) -> dict[str, int]:
        """What a physical group has committed, by physical topic."""
        found = self.cluster.read_group_offsets(frozenset({group})).get(group, {})
        return {topic: offset for (topic, _), offset in found.items()}


def test_on_brokers_that_know_virtual_clusters_names_change_with_the_members(
    example: Path, kgitops: Kgitops
) -> None:
    """VC-114, VC-347, VC-349: both names between the links and the end, and one group throughout.

    The group goes on from the copy; taken back, it goes on from where it was left.
    """
    for file in example.glob("*/kgitops.yaml"):
        text = file.read_text().replace("/local.db", "/local.db?authorizer=acls")
        file.write_text(text.replace("=acls", "=acls&superUsers=User:platform"))

    def stage(name: str, sees: set[str]) -> None:
        apply(kgitops, name, "local")
        with Strict() as strict:
            assert strict.topics("shop") == strict.topics("invoicing") == sees

    def reads(at: int | None, topic: str) -> None:
        with Strict() as strict:
            expected = {} if at is None else {(topic, 0): at}
            assert strict.a("invoicing").offset_fetch("invoices").offsets == expected

    def commits(offset: int, topic: str) -> None:
        with Strict() as strict:
            result = strict.a("invoicing").offset_commit("invoices", {(topic, 0): offset})
            assert result[topic, 0].ok

    stage("0-before", LONG)
    commits(7, ORDERS)
    stage("1-links", LONG)
    reads(7, ORDERS)
    stage("2-members", LONG | SHORT)
    reads(7, ORDERS)
    commits(9, "orders")
    reads(9, ORDERS)
    stage("1-links", LONG)
    reads(7, ORDERS)
    stage("2-members", LONG | SHORT)
    reads(9, ORDERS)
    stage("3-no-old-acls", LONG | SHORT)
    commits(11, ORDERS)
    stage("4-short-names", SHORT)
    reads(11, "orders")
    with Strict() as strict:
        assert strict.committed("invoices") == {ORDERS: 7}
        assert strict.committed("emea.sales:invoices") == {ORDERS: 11}
        refused = strict.a("invoicing").offset_commit("invoices", {(ORDERS, 0): 12})
        assert not refused[ORDERS, 0].ok


@pytest.mark.slow
@pytest.mark.usefixtures("example")
def test_copied_rights_can_be_written_out(kgitops: Kgitops, cluster: str) -> None:
    """VC-197: then Git says them, and nothing changes on the cluster."""
    for stage in STAGES:
        apply(kgitops, stage, cluster)
    url = {"today": TODAY, "local": "embedded:.kgitops/local.db"}[cluster]
    with closing(connect(url, brokers=3, base=Path())) as found:
        before = found.read_state().acls
    ran = kgitops("vc", "export-acls", "--virtual-cluster", "emea.sales", "-o", "acls", "-c", url)
    assert ran.code == 0, ran.said
    manifests = Path("4-short-names/manifests")
    shutil.move("acls/acls.yaml", manifests / "acls.yaml")
    file = manifests / "virtual-cluster.yaml"
    text, count = re.subn(
        r"\{principal: (\S+), copyAclsFrom: kafka-cluster\}", r"\1", file.read_text()
    )
    assert count == 2
    file.write_text(text)
    apply(kgitops, "4-short-names", cluster)
    with closing(connect(url, brokers=3, base=Path())) as found:
        assert found.read_state().acls == before


CONSOLE = re.compile(r"```console\n(.*?)```", re.DOTALL)


@pytest.mark.usefixtures("example")
def test_the_page_runs_as_it_stands(kgitops: Kgitops) -> None:
    """Each command, in the order of the page; what is shown under one is what it prints."""
    shown = 0
    for block in CONSOLE.findall(PAGE.read_text()):
        for step in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, *lines = step.splitlines()
            words = shlex.split(command)
            if words[0] != "kgitops":  # Kafka's own tool, for which tests/real_kafka stands
                assert words[0] == "kafka-consumer-groups.sh"
                continue
            more = ("--auto-approve",) if words[1] == "apply" else ()
            ran = kgitops(*words[1:], *more)
            assert ran.code == 0, (command, ran.said)
            for line in lines:
                wanted = " ".join(line.split())
                if wanted not in ("", "…"):
                    shown += 1
                    assert wanted in ran.said, (command, wanted, ran.said)
    assert shown > 10
