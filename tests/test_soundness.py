"""No test hangs on how busy the machine is, and none compares a thing with itself."""

import ast
from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

TESTS = Path(__file__).parent
Look = Callable[[ast.AST], Iterator[int]]
CLOCKS = {"monotonic", "monotonic_ns", "perf_counter", "perf_counter_ns", "time", "time_ns"}


_SETTINGS = ast.dump(ast.Name("settings", ast.Load()))


def compared_with_itself(tree: ast.AST) -> Iterator[int]:
    """The lines where both sides of a comparison are the same text."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare):
            sides = [ast.dump(side) for side in (node.left, *node.comparators)]
            if any(one == other for one, other in pairwise(sides)):
                yield node.lineno


def timed(tree: ast.AST) -> Iterator[int]:
    """The lines where an assertion says how long something took, at most.

    Waiting for something with a patience is not meant: that fails where it never happens.
    """
    for node in ast.walk(tree):
        if isinstance(node, ast.Assert):
            for part in ast.walk(node.test):
                is_less = isinstance(part, ast.Compare) and isinstance(
                    part.ops[0], ast.Lt | ast.LtE
                )
                if is_less and any(_reads_a_clock(side) for side in ast.walk(part)):
                    yield node.lineno


def _reads_a_clock(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.BinOp)
        and isinstance(node.op, ast.Sub)
        and any(
            isinstance(call, ast.Call)
            and isinstance(call.func, ast.Attribute)
            and ast.unparse(call.func.value) == "time"
            and call.func.attr in CLOCKS
            for call in ast.walk(node)
        )
    )


def busy(tree: ast.AST) -> Iterator[int]:
    """The lines where a property test takes back what the profile says of time."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and ast.dump(node.func) == _SETTINGS:
            for word in node.keywords:
                said = ast.unparse(word.value)
                if (word.arg == "deadline" and said != "None") or (
                    word.arg == "suppress_health_check"
                    and "too_slow" not in said
                    and said != "list(HealthCheck)"
                ):
                    yield node.lineno


def left_running(tree: ast.AST) -> Iterator[int]:
    """The lines that wait for a process for ever where the test fails before it ends.

    ``other_processes.running`` kills it then.
    """
    for node in ast.walk(tree):
        if isinstance(node, ast.With):
            for item in node.items:
                call = item.context_expr
                if isinstance(call, ast.Call) and ast.unparse(call.func).endswith("Popen"):
                    yield node.lineno


@cache
def trees() -> list[tuple[Path, ast.Module]]:
    files = sorted(TESTS.glob("**/*.py"))
    return [(path, ast.parse(path.read_text(encoding="utf-8"))) for path in files]


def found(look: Look) -> list[str]:
    return [f"{path.relative_to(TESTS)}:{line}" for path, tree in trees() for line in look(tree)]


@pytest.mark.xdist_group("soundness")  # one process reads all files
@pytest.mark.parametrize("look", [compared_with_itself, timed, busy, left_running])
def test_no_test_is_so(look: Look) -> None:
    places = [place for place in found(look) if not place.startswith("other_processes.py:")]
    assert places == []


@pytest.mark.parametrize(
    ("look", "text"),
    [
        (compared_with_itself, "assert f(x) == f(x)"),
        (compared_with_itself, "assert a < f() is f()"),
        (timed, "assert time.monotonic() - started < 10"),
        (timed, "assert all(time.time() - each <= 1 for each in those)"),
        (busy, "settings(deadline=500)"),
        (left_running, "with subprocess.Popen(words) as server: server.poll()"),
        (busy, "settings(suppress_health_check=[HealthCheck.function_scoped_fixture])"),
    ],
)
def test_a_test_that_is_so_is_found(look: Look, text: str) -> None:
    assert list(look(ast.parse(text))) == [1]


@pytest.mark.parametrize(
    ("look", "text"),
    [
        (compared_with_itself, "assert f(x) == f(y)"),
        (timed, "assert time.monotonic() < deadline"),
        (timed, "assert time.monotonic() - begun > 2"),
        (timed, "assert world.clock.monotonic() - begun < 2"),
        (busy, "settings(max_examples=10)"),
        (busy, "settings(suppress_health_check=list(HealthCheck))"),
    ],
)
def test_another_is_not(look: Look, text: str) -> None:
    assert list(look(ast.parse(text))) == []


def test_property_tests_have_no_deadline() -> None:
    """The profile of tests/conftest.py is the one in use."""
    assert settings.default is not None
    assert settings.default.deadline is None
    assert HealthCheck.too_slow in settings.default.suppress_health_check


def test_every_test_file_has_a_name_of_its_own() -> None:
    """Two of one name are collected alone, and not together."""
    names = Counter(path.name for path in TESTS.glob("**/test_*.py"))
    assert [name for name, count in names.items() if count > 1] == []


def test_no_module_hides_a_package() -> None:
    """Pytest puts each folder of tests in the path, where a module comes before a folder."""
    folders = {path.name for path in TESTS.iterdir() if path.is_dir()}
    hiding = [path for path in TESTS.glob("*/**/*.py") if path.stem in folders]
    assert [path.relative_to(TESTS).as_posix() for path in hiding] == []
