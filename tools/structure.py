"""Counts what makes the product easy or hard to enter, and checks what must hold.

    python tools/structure.py            the figures
    python tools/structure.py --check    also lists each place that breaks a rule, and fails then
    python tools/structure.py --packages modules and lines of code of each package

Lines of code have no blanks, comments, docstrings and imports.

The rules: a docstring does not begin as a relative clause ("What …", "Whether …"), no package holds
more modules than its row allows, no module has more than 900 lines, and a public class name that is
defined twice has a line in ``docs/glossary.md`` that says why.
"""

import argparse
import ast
import re
import sys
import tokenize
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
PRODUCT = ROOT / "kgitops"
GLOSSARY = ROOT / "docs" / "glossary.md"
MOST_LINES = 900
"""Of one module."""
MOST_MODULES = {
    "apply": 25,
    "cli": 46,
    "cluster": 137,
    "comparison": 3,
    "conversion": 58,
    "desired": 15,
    "fleet": 44,
    "gateway": 63,
    "kinds": 29,
    "lowering": 19,
    "manifests": 21,
    "model": 39,
    "plan": 27,
    "policies": 12,
    "policy": 36,
    "reconcile": 49,
    "report": 54,
    "sandbox": 11,
    "serve": 104,
    "virtual_clusters": 9,
    "wire": 15,
    "workflow": 38,
}
"""Of each package, ``__init__.py`` not counted: a new module takes the place of another."""
RELATIVE = re.compile(
    r"(What|Who|Whom|Whose|Which|Where|When|Why|How|That|Whether|Whatever|Whoever|Wherever|"
    r"Whenever|Whichever)\b"
)
SHARED = re.compile(r"^\| `(\w+)` \|", re.MULTILINE)
"""A row of the glossary's table of names that several classes bear."""


@dataclass(frozen=True, slots=True)
class Docstring:
    """A docstring and its place."""

    place: str
    text: str


def docstrings(file: Path, tree: ast.Module) -> Iterator[Docstring]:
    """Of the module, its classes and functions, and of what is assigned in them."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        for before, statement in zip([None, *node.body], node.body, strict=False):
            if (
                isinstance(statement, ast.Expr)
                and isinstance(statement.value, ast.Constant)
                and isinstance(statement.value.value, str)
                and (before is None or isinstance(before, ast.Assign | ast.AnnAssign))
            ):
                place = f"{file.relative_to(ROOT)}:{statement.lineno}"
                yield Docstring(place, statement.value.value.strip())


NO_CODE = {
    *(tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT),
    *(tokenize.ENCODING, tokenize.ENDMARKER),
}


def lines_of_code(file: Path, tree: ast.Module) -> int:
    """The lines without blanks, comments, docstrings and imports."""
    passed_over: set[int] = set()
    for node in ast.walk(tree):
        match node:
            case ast.Expr(value=ast.Constant(value=str())) | ast.Import() | ast.ImportFrom():
                passed_over.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    with file.open("rb") as source:
        found = [it for it in tokenize.tokenize(source.readline) if it.type not in NO_CODE]
    lines = {line for it in found for line in range(it.start[0], it.end[0] + 1)}
    return len(lines - passed_over)


def by_package(trees: Mapping[Path, ast.Module]) -> None:
    """Print modules and lines of code of each package."""
    packages: defaultdict[str, list[int]] = defaultdict(list)
    for file, tree in trees.items():
        package = file.relative_to(PRODUCT).parts[0].removesuffix(".py")
        packages[package].append(lines_of_code(file, tree))
    for package, counts in sorted(packages.items()):
        print(f"{package:24}{len(counts):7,} modules{sum(counts):9,} lines of code")


def main() -> int:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--check", action="store_true", help="list what breaks a rule, and fail")
    options.add_argument("--packages", action="store_true", help="count each package")
    options.add_argument("--under", default="", help="only modules below this folder of kgitops/")
    given = options.parse_args()
    files = sorted((PRODUCT / given.under).rglob("*.py"))
    trees = {file: ast.parse(file.read_text("utf-8")) for file in files}
    lines = {file: len(file.read_text("utf-8").splitlines()) for file in files}
    modules = [file for file in files if file.name != "__init__.py" and file.parent != PRODUCT]
    packages = Counter(file.relative_to(PRODUCT).parts[0] for file in modules)
    found = [one for file, tree in trees.items() for one in docstrings(file, tree)]
    riddles = [one for one in found if RELATIVE.match(one.text)]
    classes = defaultdict(list)
    for file, tree in trees.items():
        for node in tree.body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                classes[node.name].append(f"{file.relative_to(ROOT)}:{node.lineno}")
    twice = {name: places for name, places in classes.items() if len(places) > 1}
    explained = set(SHARED.findall(GLOSSARY.read_text("utf-8"))) if GLOSSARY.exists() else set()
    crowded = {it: n for it, n in packages.items() if n > MOST_MODULES.get(it, 0)}
    long = {file: count for file, count in lines.items() if count > MOST_LINES}
    folders = len({file.parent for file in files})
    print(f"modules                        {len(files):7,}  ({folders} folders)")
    print(f"lines                          {sum(lines.values()):7,}")
    code = sum(lines_of_code(file, tree) for file, tree in trees.items())
    print(f"lines of code                  {code:7,}")
    print(f"modules of at most 60 lines    {sum(n <= 60 for n in lines.values()):7,}")
    print(f"longest module                 {max(lines.values()):7,}")
    print(f"most modules in a package      {max(packages.values()):7,}")
    print(f"docstrings                     {len(found):7,}")
    print(f"  that are relative clauses    {len(riddles):7,}")
    print(f"class names defined twice      {len(twice):7,}")
    print(f"  that the glossary leaves out {len(set(twice) - explained):7,}")
    if given.packages:
        by_package(trees)
    if not given.check:
        return 0
    problems = [
        f"{one.place}: begins as a relative clause: {one.text.splitlines()[0]}" for one in riddles
    ]
    problems += [
        f"kgitops/{package}: {count} modules, more than {MOST_MODULES.get(package, 0)}; put a new "
        "one where its concept is, or change MOST_MODULES"
        for package, count in crowded.items()
    ]
    problems += [
        f"{file.relative_to(ROOT)}: {count} lines, more than {MOST_LINES}; split it by concepts"
        for file, count in long.items()
    ]
    problems += [
        f"{', '.join(places)}: the class name {name} is defined more than once; rename one, or say "
        f"why in {GLOSSARY.relative_to(ROOT)}"
        for name, places in twice.items()
        if name not in explained
    ]
    for problem in problems:
        print(problem)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
