r"""Changes the product in 120 places, one at a time, and tells which tests notice.

    uv run python tools/mutants.py --list              the places, as they follow from the code
    uv run --group test --with pytest-cov pytest --cov --cov-context=test --cov-report= \
        --junitxml=.mutants.xml                        which tests run which line
    uv run --group test --with coverage python tools/mutants.py
                                                       each against the tests that run its line

Places are drawn by their text, not by their line: the same code gives the same places, and code
that moves within its function keeps them. Each package gets its share by lines of code. Of the
tests that run a place, the quickest come first, for a minute; where none of them fails, all of
them run, those of the place's own package first. ``tools/mutants.txt`` holds a line for each place:
killed by which test, alive, or run by no test.
"""

import argparse
import ast
import hashlib
import re
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from xml.etree import ElementTree

ROOT = Path(__file__).parents[1]
PRODUCT = ROOT / "kgitops"
RESULTS = Path(__file__).with_suffix(".txt")
TIMES = ROOT / ".mutants.xml"
ASKED = ROOT / ".mutants.tests"
"""The tests that pytest is asked for: the names of 400 can be too long for a command."""
COUNT = 120
FIRST_S = 60
ALL_S = 1800
PYTEST = ("-m", "pytest", "-q", "-x", "--no-header", "--tb=no", "-p", "no:cacheprovider")
GROUP = re.compile(r"@[\w-]+$")
"""What pytest-xdist adds to the name of a test that is in a group."""
_WAS = "\0"
"""In a replacement: the text that it replaces."""
MOVED: Mapping[type[ast.cmpop], str] = {ast.Lt: "<=", ast.LtE: "<", ast.Gt: ">=", ast.GtE: ">"}


@dataclass(frozen=True, slots=True)
class Mutant:
    """One change: the text between two offsets of a file, and what stands there instead."""

    name: str
    file: Path
    line: int
    begin: int
    end: int
    instead: str

    @property
    def rank(self) -> str:
        """Draws the places; hangs on nothing but their names."""
        return hashlib.sha256(self.name.encode()).hexdigest()

    def changed(self, text: bytes) -> bytes:
        """The file with the change."""
        return text[: self.begin] + self.instead.encode() + text[self.end :]


def mutants_of(file: Path) -> Iterator[Mutant]:
    """Every place of a module that could be changed."""
    text = file.read_bytes()
    starts = [0]
    for line in text.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    seen: dict[str, int] = defaultdict(int)
    for function, node, kind, part, instead in _places(ast.parse(text)):
        begin = starts[part.lineno - 1] + part.col_offset
        end = starts[(part.end_lineno or part.lineno) - 1] + (part.end_col_offset or 0)
        was = text[begin:end].decode()
        label = f"{file.relative_to(ROOT)}:{function}: {kind}: {' '.join(was.split())[:60]}"
        seen[label] += 1
        name = label if seen[label] == 1 else f"{label} ({seen[label]})"
        yield Mutant(name, file, node.lineno, begin, end, instead.replace(_WAS, was))


def _places(tree: ast.Module) -> Iterator[tuple[str, ast.stmt, str, ast.expr | ast.stmt, str]]:
    for function in ast.walk(tree):
        if not isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        for statement in _statements(function.body):
            match statement:
                case ast.If(test=test) | ast.While(test=test) if not isinstance(test, ast.Constant):
                    yield function.name, statement, "inverted", test, f"not ({_WAS})"
                    for compared in ast.walk(test):
                        yield from _boundary(function.name, statement, compared)
                case ast.Return(value=ast.expr() as value):
                    for compared in ast.walk(value):
                        yield from _boundary(function.name, statement, compared)
                case ast.Expr(value=ast.Call() | ast.Await()):
                    yield function.name, statement, "not called", statement, "pass"
                case ast.Raise():
                    yield function.name, statement, "not refused", statement, "pass"


def _boundary(
    function: str, statement: ast.stmt, compared: ast.AST
) -> Iterator[tuple[str, ast.stmt, str, ast.expr, str]]:
    match compared:
        case ast.Compare(left=left, ops=[op], comparators=[right]) if type(op) in MOVED:
            instead = f"({ast.unparse(left)} {MOVED[type(op)]} {ast.unparse(right)})"
            yield function, statement, "moved", compared, instead


def _statements(body: Sequence[ast.stmt]) -> Iterator[ast.stmt]:
    """All statements of a function, without those of functions and classes in it."""
    for statement in body:
        if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            continue
        yield statement
        for part in ast.iter_child_nodes(statement):
            inside = [part] if isinstance(part, ast.stmt) else getattr(part, "body", None)
            if isinstance(inside, list):
                yield from _statements(inside)


def drawn() -> list[Mutant]:
    """The places of this code, by package and name."""
    files: dict[str, list[Path]] = defaultdict(list)
    for file in sorted(PRODUCT.rglob("*.py")):
        files[file.relative_to(PRODUCT).parts[0]].append(file)
    lines = {
        package: sum(len(file.read_bytes().splitlines()) for file in inside)
        for package, inside in files.items()
    }
    total = sum(lines.values())
    shares = {package: COUNT * count / total for package, count in lines.items()}
    given = {package: int(share) for package, share in shares.items()}
    last = sorted(shares, key=lambda package: given[package] - shares[package])
    for package in last[: COUNT - sum(given.values())]:
        given[package] += 1
    found = []
    for package, inside in files.items():
        candidates = [mutant for file in inside for mutant in mutants_of(file)]
        found += sorted(candidates, key=lambda one: one.rank)[: given[package]]
    return sorted(found, key=lambda one: one.name)


@cache
def _times() -> Mapping[str, float]:
    """Seconds of each test of the run with coverage."""
    return {
        f"{case.get('classname')}::{case.get('name')}": float(case.get("time", 0))
        for case in ElementTree.parse(TIMES).iter("testcase")  # noqa: S314 (written by pytest here)
    }


def tests_of(mutant: Mutant) -> list[str]:
    """The tests that run the line, quickest first."""
    from coverage import CoverageData  # noqa: PLC0415 (only this half needs it)

    data = CoverageData(str(ROOT / ".coverage"))
    data.read()
    contexts = data.contexts_by_lineno(str(mutant.file)).get(mutant.line, [])
    tests = {GROUP.sub("", context.rpartition("|")[0]) for context in contexts if "|" in context}
    return sorted(tests, key=lambda test: (_times().get(_case(test), 0), test))


def _case(test: str) -> str:
    file, _, rest = test.partition("::")
    return f"{file.removesuffix('.py').replace('/', '.')}::{rest}"


def nearest_first(mutant: Mutant, tests: Sequence[str]) -> list[str]:
    """The tests, those of the mutant's own package before the others."""
    near = mutant.file.relative_to(PRODUCT).parts
    return sorted(tests, key=lambda test: -_shared(near, test.split("/")[1:]))


def _shared(near: Sequence[str], path: Sequence[str]) -> int:
    return next(
        (at for at, (one, other) in enumerate(zip(near, path, strict=False)) if one != other),
        min(len(near), len(path)),
    )


def killed_by(tests: Sequence[str], seconds: float, processes: str) -> str | None:
    """The first of the tests that fails, if one does in time."""
    deadline = time.monotonic() + seconds
    for part in range(0, len(tests), 400):
        left = deadline - time.monotonic()
        if left <= 0:
            return None
        ASKED.write_text("\n".join(tests[part : part + 400]), "utf-8")
        command = [sys.executable, *PYTEST, f"-n{processes}", "-m", "", "-rfE", f"@{ASKED}"]
        try:
            done = subprocess.run(  # noqa: S603 (its own tests)
                command, cwd=ROOT, capture_output=True, text=True, timeout=left, check=False
            )
        except subprocess.TimeoutExpired:  # after so long, a test hangs that did not before
            return f"tests that did not end in {ALL_S} s" if seconds == ALL_S else None
        for line in done.stdout.splitlines():
            if line.startswith(("FAILED ", "ERROR ")):
                return line.partition(" ")[2].partition(" - ")[0]
        if "not found: " in done.stderr:
            sys.exit(f"mutants: run the tests with coverage again; {done.stderr}")
        if done.returncode:
            return f"pytest ended with {done.returncode}"
    return None


def result_of(mutant: Mutant) -> str:
    """Change the file, ask its tests, and put it back."""
    tests = tests_of(mutant)
    if not tests:
        return "run by no test"
    text = mutant.file.read_bytes()
    try:
        mutant.file.write_bytes(mutant.changed(text))
        killer = killed_by(tests, FIRST_S, "0") or killed_by(
            nearest_first(mutant, tests), ALL_S, "auto"
        )
    finally:
        mutant.file.write_bytes(text)
    return f"killed by {killer}" if killer else f"alive after {len(tests)} tests"


def main() -> int:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--list", action="store_true", help="only print the places")
    options.add_argument("names", nargs="*", help="only places whose name has one of these in it")
    given = options.parse_args()
    chosen = [
        one for one in drawn() if not given.names or any(name in one.name for name in given.names)
    ]
    if given.list:
        print(*(f"{one.name} (line {one.line})" for one in chosen), sep="\n")
        return 0
    command = ["git", "status", "--porcelain", "kgitops"]
    changed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)  # noqa: S603
    if changed.stdout:
        sys.exit("mutants: kgitops/ has changes that are not committed; commit them first")
    results = []
    for one in chosen:
        results.append(f"{one.name} -> {result_of(one)}")
        print(results[-1], flush=True)
    if not given.names:
        RESULTS.write_text("\n".join(results) + "\n", "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
