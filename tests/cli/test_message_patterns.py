"""A PolicyTest's ``message`` is matched in a time that grows with the text alone."""

import pytest
from cli.conftest import Kgitops
from cli.projects import Project, as_yaml, document, topic


def policed(project: Project, pattern: str, said: str = "a" * 40) -> Project:
    """A project whose policy says ``said``, and a test that expects ``pattern``."""
    project.write(topic("a")).write_file(policies=["policies"])
    rules = project.folder / "policies"
    rules.mkdir()
    policy = document(
        "Policy",
        "none",
        match={"requests": ["CreateTopic"]},
        validations=[{"expression": "false", "message": said}],
    )
    case = {
        "name": "any",
        "requests": [{"createTopic": {"name": "a", "partitions": 1, "replicationFactor": 1}}],
        "expect": [{"address": "topic/a", "message": pattern}],
    }
    test = document("PolicyTest", "none", policy="none", cases=[case])
    (rules / "none.yaml").write_text(as_yaml([policy, test]))
    return project


@pytest.mark.parametrize("pattern", ["(a+)+$b", "(a|aa)+!", "^(a?){40}a{40}b"])
def test_no_pattern_takes_for_ever(project: Project, process: Kgitops, pattern: str) -> None:
    ran = process("policy", "test", policed(project, pattern).folder)
    assert (ran.code, f"with a message like /{pattern}/" in ran.said) == (1, True), ran.said


@pytest.mark.parametrize(
    ("pattern", "said"),
    [
        ("at most 90 days", "records: at most 90 days"),
        (r"^at (most|least) \d+ \w+$", "at most 90 days"),
        ("(?i)AT MOST", "at most"),
        ("zwölf … Ämter", "zwölf … Ämter"),
    ],
)
def test_a_pattern_is_found_in_the_message(
    project: Project, kgitops: Kgitops, pattern: str, said: str
) -> None:
    ran = kgitops("policy", "test", policed(project, pattern, said).folder)
    assert ran.code == 0, ran.said


@pytest.mark.parametrize("pattern", ["(?=a)b", r"(a)\1", "(a", "a**", "(a{1000}){1000}"])
def test_what_is_no_pattern_of_re2_is_a_finding(
    project: Project, kgitops: Kgitops, pattern: str
) -> None:
    ran = kgitops("policy", "test", policed(project, pattern).folder)
    assert ran.code == 1
    assert "policies/none.yaml:" in ran.said
    assert "the message is not a regular expression (RE2): " in ran.said
