"""Finds each ``match`` that stays silent when a closed set of the model gets a new member.

    python tools/closed_sets.py            fails for a new one, and for a line that is not needed
    python tools/closed_sets.py --write    writes the list anew

A closed set is a union of classes with a name, such as ``Request`` or ``DesiredObject``, or an
enum. Where a ``match`` names members and ends with ``case _``, a new member falls into it, and the
type checker says nothing: name the members instead, or end with ``assert_never``. The places from
before this rule are counted in ``closed_sets.txt``, by file; the list only gets shorter.
"""

import argparse
import ast
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
LIST = Path(__file__).with_suffix(".txt")
ENUMS = {"Enum", "StrEnum", "IntEnum"}
FEWEST = 3
"""Members of a union: a union of two is often a type and its absence."""


def closed_names(trees: Iterable[ast.Module]) -> frozenset[str]:
    """The classes of all unions, and all enums."""
    names: set[str] = set()
    for node in (node for tree in trees for node in ast.walk(tree)):
        match node:
            case ast.ClassDef(name=name, bases=bases):
                if ENUMS & {_last(base) for base in bases}:
                    names.add(name)
            case ast.Assign(targets=[ast.Name()], value=ast.BinOp() as value):
                members = list(_members(value))
                if len(members) >= FEWEST and all(it[:1].isupper() for it in members):
                    names.update(members)
    return frozenset(names)


def silent_matches(tree: ast.Module, names: frozenset[str]) -> Iterator[int]:
    """The lines of ``case _`` where a ``match`` names members of a closed set and no others."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Match):
            continue
        *cases, last = node.cases
        is_open = isinstance(last.pattern, ast.MatchAs) and last.pattern.pattern is None
        if not is_open or last.guard or "assert_never" in ast.unparse(last.body[0]):
            continue
        patterns = [name for case in cases for name in _patterns(case.pattern)]
        if patterns and names.issuperset(patterns):
            yield last.pattern.lineno


def _last(node: ast.expr) -> str:
    return ast.unparse(node).rpartition(".")[2]


def _members(node: ast.expr) -> Iterator[str]:
    if isinstance(node, ast.BinOp):
        yield from _members(node.left)
        yield from _members(node.right)
    else:
        yield _last(node)


def _patterns(pattern: ast.pattern) -> Iterator[str]:
    match pattern:
        case ast.MatchOr(patterns=patterns):
            for each in patterns:
                yield from _patterns(each)
        case ast.MatchAs(pattern=ast.pattern() as named):
            yield from _patterns(named)
        case ast.MatchClass(cls=cls):
            yield _last(cls)
        case ast.MatchValue(value=ast.Attribute(value=enum)):
            yield _last(enum)
        case _:
            yield ""


def problems(found: Counter[str], listed: Counter[str]) -> list[str]:
    """New places, and lines of the list that say more than there are."""
    more = [
        f"{file}: {count} matches over a closed set end with `case _`, {listed[file]} are listed; "
        "name the members, or end with assert_never"
        for file, count in sorted(found.items())
        if count > listed[file]
    ]
    return more + [
        f"{file}: {count} matches are listed, {found[file]} are left; "
        "run python tools/closed_sets.py --write"
        for file, count in sorted(listed.items())
        if count > found[file]
    ]


def main() -> int:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--write", action="store_true", help="write the list anew")
    files = sorted((ROOT / "kgitops").rglob("*.py"))
    trees = {str(file.relative_to(ROOT)): ast.parse(file.read_text("utf-8")) for file in files}
    names = closed_names(trees.values())
    found = Counter({file: len([*silent_matches(tree, names)]) for file, tree in trees.items()})
    found = +found
    if options.parse_args().write:
        LIST.write_text("".join(f"{file} {count}\n" for file, count in sorted(found.items())))
        return 0
    lines = [line.split() for line in LIST.read_text("utf-8").splitlines()]
    wrong = problems(found, Counter({file: int(count) for file, count in lines}))
    for problem in wrong:
        print(problem)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
