"""Mutants of a policy in Python: its module's code with one operator, number or line changed."""

import ast
from collections.abc import Iterator

from kgitops.policy.mutation.change import Change
from kgitops.policy.mutation.reachable import reachable
from kgitops.policy.mutation.statements import statement_mutants


def python_mutants(code: str, class_name: str) -> Iterator[tuple[str, Change]]:
    """The module's code with one mistake in what the class uses of it, and which.

    Always in the same order. Words are left alone: docstrings, messages, annotations. So is what
    no test of a policy can reach: refusing configs by raising ``ValueError`` and the like.

    Raises:
        SyntaxError: ``code`` is no Python.
    """
    tree = ast.parse(code)
    lines = code.splitlines()
    for definition in reachable(tree, class_name):
        for node, what in statement_mutants(definition):
            # The tree is changed while the generator waits here, and changed back after.
            yield ast.unparse(tree), _change(node, what, lines)


def _change(node: ast.expr | ast.stmt, what: str, lines: list[str]) -> Change:
    return Change(
        line=node.lineno,
        column=node.col_offset + 1,
        what=what,
        excerpt=lines[node.lineno - 1].strip(),
    )
