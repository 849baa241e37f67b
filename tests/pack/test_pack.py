"""The pack's own tests are its YAML documents: they pass, cover every rule and catch mutants."""

import json
from pathlib import Path

import pytest
import yaml
from policy_pack import FAMILIES, PAGE

from kgitops import policies
from kgitops.cli.main import main

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
pytestmark = pytest.mark.xdist_group("pack")  # whose documents are read once

# Where each example of the specification's section 8 is tested.
EXAMPLES = {
    "EX-01": "ReplicationFactorRange",
    "EX-02": "MinInsyncReplicasRange",
    "EX-03": "RetentionRange",
    "EX-04": "NeverLeaveCreatePolicy",
    "EX-05": "NoPartitionGrowthOfKeyedTopics",
    "EX-06": "ShortRetentionOfBigTopics",
    "EX-07": "RackSpread",
    "EX-08": "ProtectFromDeletion",
    "EX-09": "RecordDeletionLimit",
    "EX-10": "PartitionBudget",
    "EX-11": "NamingByPrincipal",
    "EX-12": "FrozenConfigs",
    "EX-13": "ImmutableConfigs",
    "EX-14": "NoManualAssignment",
    "EX-15": "BrokerConfigBounds",
    "EX-16": "MassDeleteGuard",
    "EX-18": "DeleteOnlyIfUnused",
}


def test_the_yaml_tests_pass_and_catch_mistakes(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """G17: every rule fires and stays silent, and nearly every mistake put into it is noticed."""
    monkeypatch.chdir(ROOT)
    words = ["policy", "test", "tests/pack", "--coverage", "--mutate", "--format", "json"]
    code = main(words)
    report = json.loads(capsys.readouterr().out)
    assert code == 0, report
    assert report["summary"]["failed"] == 0
    assert report["summary"]["cases"] > 150
    assert [
        rule for rule in report["coverage"]["rules"] if not rule["fired"] & rule["silent"]
    ] == []
    mutation = report["mutation"]
    assert mutation["score"] >= 98, mutation["survivors"]
    assert mutation["mutants"] > 200
    tested = {suite["policy"].partition(" (")[0].replace("-", "") for suite in report["suites"]}
    assert {name.lower() for name in policies.__all__} - tested == set()


def classes_with_tests() -> set[str]:
    """The classes that the YAML documents name."""
    documents = [
        document
        for path in HERE.glob("*.yaml")
        for document in yaml.load_all(path.read_text(encoding="utf-8"), yaml.CSafeLoader)
    ]
    return {document["spec"]["class"].partition(":")[2] for document in documents}


def test_every_policy_of_the_pack_has_a_test() -> None:
    """EX-01…16, EX-18: the examples of the specification are in the pack, and tested there."""
    assert classes_with_tests() == set(policies.__all__)
    assert set(EXAMPLES.values()) <= set(policies.__all__)


def test_every_policy_says_what_it_is_for_and_what_to_do() -> None:
    """EXP-02: what a report shows of it, in whole sentences."""
    for name in policies.__all__:
        class_ = getattr(policies, name)
        first = class_.__doc__.split("\n\n")[0]
        assert first.endswith("."), name
        assert class_.remediation.endswith("."), name


def test_the_readme_counts_the_pack() -> None:
    readme = " ".join((ROOT / "README.md").read_text(encoding="utf-8").split())
    assert f"one of the {len(policies.__all__)} policies that kgitops ships" in readme


def test_the_page_tells_every_policy_and_every_config() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert {name for names in FAMILIES.values() for name in names} == set(policies.__all__)
    for name in policies.__all__:
        section = page.split(f"### {name}\n")[1].split("\n### ")[0]
        for setting in getattr(policies, name).settings():
            assert f"`{setting.key}`" in section or f"**`{setting.key}`**" in page, setting.key
