"""No test hangs on how busy the machine is, and none compares a thing with itself.

What others do is waited for in one way, patience.py: every other loop that sleeps or reads a clock
is found, and so is a helper that is named like one.
"""

import ast
import gc
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

TESTS = Path(__file__).parent
Look = Callable[[ast.AST], Iterator[int]]
CLOCKS = {"monotonic", "monotonic_ns", "perf_counter", "perf_counter_ns", "time", "time_ns"}
WAITING = {"eventually", "eventually_async", "until", "wait", "wait_until"}
PACED: Mapping[str, str] = {
    "fleet/spark/spark_work.py:note_and_wait": "runs in Spark's workers, until the test goes on",
    "gateway/connections/test_binding.py:change": "changes tables at this pace",
    "gateway/running/test_real_gateway.py:_run": "produces at this pace",
    "policy/worker/project/bad.py:go_wrong": "is a policy that never comes back",
    "real_kafka/gateway_members.py:_run": "produces at this pace",
    "real_kafka/migrating_clients.py:_run": "produces at this pace",
    "real_kafka/test_killed_users.py:"
    "test_an_apply_killed_at_every_boundary_is_ended_with_the_new_passwords": (
        "lets the lease of each killed apply run out"
    ),
    "reconcile/notifications/receivers.py:run": "sends its bytes at this pace",
    "reconcile/full_file_system.py:fill": "writes until there is no room",
    "reconcile/sources/test_git_crashes.py:test_it_may_be_killed_at_any_instant": (
        "kills at random instants"
    ),
}
"""The loops that wait for nothing: what each does at a pace of its own."""


_SETTINGS = ast.dump(ast.Name("settings", ast.Load()))


_LOOKED_AT = (
    *(ast.Compare, ast.Assert, ast.Call, ast.With, ast.While, ast.For, ast.AsyncFor),
    *(ast.FunctionDef, ast.AsyncFunctionDef, ast.GeneratorExp, ast.ListComp),
)


@cache
def looked_at(tree: ast.AST) -> list[ast.AST]:
    """All that one of the looks is for."""
    return [node for node in ast.walk(tree) if isinstance(node, _LOOKED_AT)]


def compared_with_itself(tree: ast.AST) -> Iterator[int]:
    """The lines where both sides of a comparison are the same text."""
    for node in looked_at(tree):
        if isinstance(node, ast.Compare):
            sides = (node.left, *node.comparators)
            if any(
                type(it) is type(other) and ast.dump(it) == ast.dump(other)
                for it, other in pairwise(sides)
            ):
                yield node.lineno


def timed(tree: ast.AST) -> Iterator[int]:
    """The lines where an assertion says how long something took, at most.

    Waiting for something with a patience is not meant: that fails where it never happens.
    """
    for node in looked_at(tree):
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


def waiting(tree: ast.AST) -> Iterator[int]:
    """The lines of loops that look, sleep and look again, and of functions named like a wait."""
    for node in looked_at(tree):
        if isinstance(node, ast.While | ast.For | ast.AsyncFor | ast.GeneratorExp | ast.ListComp):
            parts = [*_own(node)]
            if (
                any(map(_sleeps, parts))
                or any(_reads_a_clock_in_comparison(part) for part in parts)
                or (isinstance(node, ast.While) and _does_nothing(node))
            ):
                yield node.lineno
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            words = [word.arg for word in node.args.args]
            if node.name.strip("_") in WAITING and words[:1] != ["self"]:
                yield node.lineno


def _own(loop: ast.AST) -> Iterator[ast.AST]:
    """All of a loop but the functions that are defined in it."""
    left = [loop]
    while left:
        node = left.pop()
        yield node
        left += [
            child
            for child in ast.iter_child_nodes(node)
            if not isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        ]


def _sleeps(node: ast.AST) -> bool:
    """True of ``sleep`` for longer than a turn, and of ``Event.wait`` for a part of a second."""
    if not isinstance(node, ast.Call) or not (node.args or node.keywords):
        return False
    seconds = (*node.args, *(word.value for word in node.keywords))[0]
    known = seconds.value if isinstance(seconds, ast.Constant) else None
    if ast.unparse(node.func) in {"time.sleep", "asyncio.sleep", "sleep"}:
        return known != 0
    is_wait = isinstance(node.func, ast.Attribute) and node.func.attr == "wait"
    return is_wait and isinstance(known, float) and known < 1


def _reads_a_clock_in_comparison(node: ast.AST) -> bool:
    return isinstance(node, ast.Compare) and any(map(_is_clock, ast.walk(node)))


def _is_clock(node: ast.AST) -> bool:
    if not isinstance(node, ast.Call):
        return False
    module, _, name = ast.unparse(node.func).rpartition(".")
    return name in CLOCKS and (module == "time" or (module == "" and name != "time"))


def _does_nothing(loop: ast.While) -> bool:
    return all(
        isinstance(part, ast.Pass | ast.Continue) or ast.unparse(part) == "await asyncio.sleep(0)"
        for part in loop.body
    )


def busy(tree: ast.AST) -> Iterator[int]:
    """The lines where a property test takes back what the profile says of time."""
    for node in looked_at(tree):
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
    for node in looked_at(tree):
        if isinstance(node, ast.With):
            for item in node.items:
                call = item.context_expr
                if isinstance(call, ast.Call) and ast.unparse(call.func).endswith("Popen"):
                    yield node.lineno


@cache
def trees() -> list[tuple[Path, ast.Module]]:
    files = sorted(TESTS.glob("**/*.py"))
    return [(path, ast.parse(path.read_text(encoding="utf-8"))) for path in files]


@pytest.fixture(scope="module", autouse=True)
def _forgotten() -> Iterator[None]:
    """What is read is a million objects, and each look for garbage would go through all of them."""
    gc.disable()
    yield
    trees.cache_clear()
    looked_at.cache_clear()
    gc.enable()


def waits() -> list[str]:
    """Each wait, as the file and the function that it is in."""
    found = []
    for path, tree in trees():
        name = path.relative_to(TESTS).as_posix()
        if name in {"patience.py", "test_patience.py"}:
            continue
        functions = [
            node
            for node in looked_at(tree)
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        ]
        for line in waiting(tree):
            around = [one for one in functions if one.lineno <= line <= (one.end_lineno or 0)]
            inner = max(around, key=lambda one: one.lineno).name if around else ""
            found.append(f"{name}:{inner}")
    return found


def found(look: Look) -> list[str]:
    return [f"{path.relative_to(TESTS)}:{line}" for path, tree in trees() for line in look(tree)]


@pytest.mark.xdist_group("soundness")  # one process reads all files
@pytest.mark.parametrize("look", [compared_with_itself, timed, busy, left_running])
def test_no_test_is_so(look: Look) -> None:
    places = [place for place in found(look) if not place.startswith("other_processes.py:")]
    assert places == []


@pytest.mark.xdist_group("soundness")
def test_there_is_one_way_to_wait() -> None:
    """``patience.eventually``; see ``PACED`` for loops that wait for nothing."""
    found = waits()
    assert [one for one in found if one not in PACED] == []
    assert PACED.keys() <= {*found}, "no such loop is left: take it from the list"


@pytest.mark.parametrize(
    ("look", "text"),
    [
        (compared_with_itself, "assert f(x) == f(x)"),
        (compared_with_itself, "assert a < f() is f()"),
        (timed, "assert time.monotonic() - started < 10"),
        (timed, "assert all(time.time() - each <= 1 for each in those)"),
        (waiting, "while not done(): time.sleep(0.1)"),
        (waiting, "while not done(): await asyncio.sleep(0.1)"),
        (waiting, "while not done():\n  if bad(): sleep(1)"),
        (waiting, "for _ in range(100): event.wait(0.02)"),
        (waiting, "while not event.wait(timeout=0.5): work()"),
        (waiting, "while time.monotonic() < end: look()"),
        (waiting, "while not done(): assert monotonic() < end"),
        (waiting, "while not done(): pass"),
        (waiting, "any(done() or time.sleep(0.1) for _ in range(100))"),
        (waiting, "while not done(): await asyncio.sleep(0)"),
        (waiting, "def wait_until(look): return eventually(look, what='it')"),
        (waiting, "async def _until(look): ..."),
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
        (waiting, "for _ in range(10): await asyncio.sleep(0)"),
        (waiting, "for step in steps: clock.sleep(60)"),
        (waiting, "for process in processes: process.wait(20)"),
        (waiting, "while more(): read()"),
        (waiting, "[process.wait(20) for process in processes]"),
        (waiting, "for each in steps: later(lambda: time.sleep(1))"),
        (waiting, "while not clock.monotonic() > end: clock.now += 1"),
        (waiting, "class Steps:\n  def wait(self, ms): ..."),
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
