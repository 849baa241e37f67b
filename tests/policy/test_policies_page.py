"""The code of docs/guides/policies.md runs, and the page names what there is."""

import inspect
import re
from pathlib import Path

from kgitops.policy import AllOf, ClusterState, testing
from kgitops.policy.evaluate.bundle import Level
from kgitops.policy.python_rule import METHODS

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "guides" / "policies.md").read_text(encoding="utf-8")


def test_the_code_runs_and_its_tests_pass() -> None:
    """EXP-01: what users read is what works."""
    names: dict[str, object] = {"__name__": "page"}
    blocks = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    for block in blocks:
        exec(block, names)  # noqa: S102 (the page's own code)
    tests = [value for name, value in names.items() if name.startswith("test_")]
    assert len(tests) == 2
    for test in tests:
        assert callable(test)
        test()
    rules = names["OurRules"]
    assert isinstance(rules, type)
    assert issubclass(rules, AllOf)
    refused = testing.violation(rules(), testing.create_topic("x", assignments={0: [1]}))
    assert refused is not None
    assert refused.message.count(";") == 2 + 2  # two between three reasons, one in two of them


def test_every_method_level_builder_and_question_is_named() -> None:
    for _, method in METHODS.values():
        assert f"`{method}`" in PAGE
    for level in Level:
        assert f"| `{level}` |" in PAGE
    for name in testing.__all__:
        assert f"`{name}(" in PAGE or f" {name}(" in PAGE or f"({name}(" in PAGE, name
    for name, _ in inspect.getmembers(ClusterState, inspect.isfunction):
        assert name.startswith("_") or f"`{name}(" in PAGE, name
