"""Mutants of policies in Python: which there are, what is left alone, and that each compiles."""

import ast
import textwrap
from pathlib import Path

import pytest

import kgitops.policies
from kgitops.policy.mutation.python import python_mutants

PACK = sorted(Path(kgitops.policies.__file__ or "").parent.glob("*.py"))


def mutants(code: str, name: str = "P") -> dict[str, str]:
    """What is changed to the code that comes of it, as Python writes it."""
    return {
        f"{change.line} {change.what}": text
        for text, change in python_mutants(textwrap.dedent(code), name)
    }


def body(statement: str) -> dict[str, str]:
    """Mutants of one statement in a method: what is changed to the lines that differ."""
    code = f"class P:\n    def m(self, a, b):\n{textwrap.indent(statement, ' ' * 8)}\n"
    plain = ast.unparse(ast.parse(code)).splitlines()
    return {
        what.partition(" ")[2]: " ".join(
            line.strip() for line in text.splitlines() if line not in plain
        )
        for what, text in mutants(code).items()
    }


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        ("x = a >= b", {">= → >": "x = a > b"}),
        ("x = a < 3", {"< → <=": "x = a <= 3", "3 → 4": "x = a < 4", "3 → 2": "x = a < 2"}),
        ("x = a in b", {"in → not in": "x = a not in b"}),
        ("x = a is not b", {"is not → is": "x = a is b"}),
        ("x = a and b", {"and → or": "x = a or b"}),
        ("x = a or b", {"or → and": "x = a and b"}),
        ("x = not a", {"not removed": "x = not not a"}),
        ("x = a + b", {"+ → -": "x = a - b"}),
        ("x = a // b", {"// → *": "x = a * b"}),
        ("x += a", {"+= → -=": "x -= a"}),
        ("x = True", {"True → False": "x = False"}),
        ("x = '7d'", {"'7d' → '8d'": "x = '8d'", "'7d' → '6d'": "x = '6d'"}),
        ("x = min(a)", {"min → max": "x = max(a)"}),
        ("x = a.startswith(b)", {"startswith → endswith": "x = a.endswith(b)"}),
        ("x = a if b else a", {"condition negated": "x = a if not b else a"}),
        ("x = [c for c in a if c]", {"condition negated": "x = [c for c in a if not c]"}),
        ("if a:\n    x()", {"condition negated": "if not a:"}),
        ("if not a:\n    x()", {"not removed": "if not not a:"}),
        ("while a:\n    x()", {"condition negated": "while not a:"}),
        ("return a and b", {"result negated": "return not (a and b)", "and → or": "return a or b"}),
        ("raise PolicyViolation('x')", {"raise dropped": "pass"}),
        ("try:\n    x()\nexcept E:\n    raise", {"raise dropped": "pass"}),
        ("with a as c:\n    raise PolicyViolation", {"raise dropped": "pass"}),
        ("match a:\n    case 1 if b:\n        raise V()", {"raise dropped": "pass"}),
    ],
)  # fmt: skip
def test_a_statement_is_changed(statement: str, expected: dict[str, str]) -> None:
    assert body(statement) == expected


@pytest.mark.parametrize(
    "statement",
    [
        '"""Says 3 >= 2."""',
        "raise ValueError(3)",
        "if a > 3:\n    raise ValueError('no')",
        "x = f'{a + 1} of 3'",
        "x = 'a' + b",
        "x: Literal[3] = a",
        "assert a > 3",
        "_log.info(a > 3)",
        "x = PolicyViolation('3', field='a' if a else 'b')",
        "x = zip(a, strict=True)",
        "x = 'retention.ms'",
        "x = '3 words'",
        "import a3",
        "x(message=a > b)",
    ],
)
def test_words_and_what_refuses_configs_are_left_alone(statement: str) -> None:
    assert body(statement) == {}


def test_only_what_the_class_leads_to_is_changed() -> None:
    code = """
    \"\"\"Module.\"\"\"
    LIMIT = 3
    OTHER = 4
    def used(x): return x > LIMIT
    def unused(x): return x > OTHER
    class Base:
        def m(self): return used(1)
    class P(Base):
        description = "3"
        remediation = "4"
    class Q:
        x = 5
    """
    changed = {what.partition(" ")[2] for what in mutants(code)}
    assert changed == {"3 → 4", "3 → 2", "result negated", "> → >=", "1 → 2", "1 → 0"}


def test_decorators_annotations_and_defaults() -> None:
    code = """
    class P:
        @cache(maxsize=3)
        def m(self, a: "7d" = 5) -> Literal[3]: ...
    """
    assert {what.partition(" ")[2] for what in mutants(code)} == {"5 → 6", "5 → 4"}


@pytest.mark.parametrize("file", PACK, ids=lambda file: file.stem)
def test_each_mutant_of_the_pack_compiles_and_differs(file: Path) -> None:
    code = file.read_text()
    plain = ast.unparse(ast.parse(code))
    classes = [node.name for node in ast.parse(code).body if isinstance(node, ast.ClassDef)]
    for name in classes:
        first = list(python_mutants(code, name))
        assert first == list(python_mutants(code, name))  # in the same order, the tree mended
        for text, change in first:
            compile(text, "mutant", "exec")
            assert text != plain
            assert change.excerpt in code
            assert code.splitlines()[change.line - 1].strip() == change.excerpt
