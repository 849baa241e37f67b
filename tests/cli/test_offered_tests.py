"""The tests that ``policy explain`` offers pass when they are pasted, whatever the policy."""

import re
from pathlib import Path

import pytest
import yaml
from cli.conftest import Kgitops
from cli.policed import judging_in_process, policy, write_policies
from cli.projects import Project, topic

from kgitops.workflow.policy_descriptions import PolicyDescription, describe_policies
from kgitops.workflow.policy_tests.offered import SAMPLES, OfferedTest, offer_test
from kgitops.workflow.project.selection import Selection, open_workspace

ROOT = Path(__file__).parents[2]
PACK = ROOT / "docs" / "reference" / "policy-pack.md"


def test_the_offered_tests_of_the_whole_pack_pass(tmp_path: Path, kgitops: Kgitops) -> None:
    """As the pack's page configures them, and a policy in CEL for each request there is."""
    project = Project(tmp_path / "shop").write(topic("orders"))
    register = project.folder / "in-use.txt"
    register.write_text("orders\n")
    pages = re.findall(r"^```yaml\n(- class.*?)```$", PACK.read_text(), re.MULTILINE | re.DOTALL)
    pack = [entry for page in pages for entry in yaml.safe_load(page)]
    for entry in pack:
        if "register" in (configs := entry.get("configs", {})):
            configs["register"] = str(register)
    of_each = [
        policy(f"{number}-{wanted}", expression=wanted, match={"requests": [api]})
        for number, api in enumerate(SAMPLES)
        for wanted in ("true", "false")
    ]
    write_policies(project, *of_each, policies=["policies", *pack])
    with judging_in_process(project.folder):
        offered = {item.policy.name: _offered(item) for item in _described(project)}
    assert len(offered) == len(pack) + len(of_each)
    denied = {name for name, test in offered.items() if test.denied}
    assert {name for name in offered if name.endswith("-false")} <= denied
    assert not any(name.endswith("-true") for name in denied)
    assert {"retention-range", "delete-only-if-unused", "link-consent"} <= denied
    text = "\n---\n".join("\n".join(test.lines) for test in offered.values())
    (project.folder / "policies/offered.yaml").write_text(text)
    ran = kgitops("policy", "test", project.folder)
    passed = f"All {len(offered)} cases in {len(offered)} documents passed."
    assert (ran.code, passed in ran.out) == (0, True), ran.said


def _described(project: Project) -> tuple[PolicyDescription, ...]:
    return describe_policies(open_workspace(Selection(paths=(project.folder,), offline=True)))


def _offered(item: PolicyDescription) -> OfferedTest:
    test = offer_test(item.policy, item.judges)
    assert test is not None, item.policy.name
    return test


@pytest.mark.parametrize(
    ("expression", "title"),
    [
        ("requested.partitions < 9", "Test it: put this next to the policies"),
        ("true", "Test it: add what it denies, put this next to the policies"),
    ],
)
def test_the_heading_says_whether_what_is_denied_is_missing(
    expression: str, title: str, tmp_path: Path, kgitops: Kgitops
) -> None:
    project = Project(tmp_path / "shop").write(topic("orders"))
    write_policies(project, policy(expression=expression))
    shown = kgitops("policy", "explain", "replicas", project.folder).out
    assert f"\n{title}, run kgitops policy test\n  apiVersion" in shown


def test_no_test_is_offered_for_what_can_not_be_loaded(tmp_path: Path, kgitops: Kgitops) -> None:
    project = Project(tmp_path / "shop").write(topic("orders"))
    write_policies(project, policies=[{"class": "nowhere:Nothing"}])
    shown = kgitops("policy", "explain", "nothing", project.folder)
    assert (shown.code, "Test it" in shown.out) == (0, False), shown.said
