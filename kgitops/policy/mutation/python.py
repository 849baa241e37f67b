"""Mutants of a policy in Python: its module's code with one operator, number or line changed.

A generator of mutants changes the tree, yields the node and the change, and undoes it when it goes
on.
"""

import ast
import builtins
from collections.abc import Iterator, Mapping

from kgitops.policy.mutation.expressions import Mutation, called_name, expression_mutants

Definition = ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef | ast.Assign | ast.AnnAssign


def reachable(tree: ast.Module, class_name: str) -> list[Definition]:
    """The top-level definitions that the class uses, itself among them, in their order."""
    by_name = definitions(tree)
    used: dict[str, Definition] = {}
    open_names = [class_name]
    while open_names:
        name = open_names.pop()
        if name in by_name and name not in used:
            used[name] = by_name[name]
            open_names += _names(by_name[name])
    return sorted({id(node): node for node in used.values()}.values(), key=lambda n: n.lineno)


def definitions(tree: ast.Module) -> Mapping[str, Definition]:
    """The module's own classes, functions and constants by name."""
    by_name: dict[str, Definition] = {}
    for node in tree.body:
        match node:
            case ast.ClassDef() | ast.FunctionDef() | ast.AsyncFunctionDef():
                by_name[node.name] = node
            case ast.Assign():
                for target in node.targets:
                    by_name.update(dict.fromkeys(_names(target), node))
            case ast.AnnAssign():
                by_name.update(dict.fromkeys(_names(node.target), node))
            case _:
                pass
    return by_name


def _names(node: ast.AST) -> list[str]:
    return [inner.id for inner in ast.walk(node) if isinstance(inner, ast.Name)]


Mutations = Iterator[tuple[ast.expr | ast.stmt, str]]
_TEXTS = frozenset({"description", "remediation", "__all__", "__slots__"})
_LOGGING = frozenset({"debug", "info", "warning", "error", "exception", "log"})


def statement_mutants(node: ast.AST) -> Mutations:
    """Make the mutants of a statement and of everything in it."""
    match node:
        case ast.FunctionDef() | ast.AsyncFunctionDef():
            for default in (*node.args.defaults, *node.args.kw_defaults):
                yield from expression_mutants(default)
            yield from _block(node.body)
        case ast.ClassDef():
            yield from _block(node.body)
        case ast.If(test=test, body=body, orelse=orelse):
            yield from _if(node, test, body, orelse)
        case ast.While():
            yield from _negated(node, node.test)
            yield from _blocks(node)
        case ast.Return(value=ast.Compare() | ast.BoolOp() as value):
            node.value = _not(value)
            yield value, "result negated"
            node.value = value
            yield from expression_mutants(value)
        case ast.AugAssign():
            yield from _augmented(node)
        case ast.Assign(targets=targets) if not _TEXTS.isdisjoint(map(ast.unparse, targets)):
            return
        case ast.AnnAssign(target=target) if ast.unparse(target) in _TEXTS:
            return
        case ast.AnnAssign(value=value):  # neither the target nor the annotation
            yield from expression_mutants(value)
        case ast.Expr(value=ast.Call() as call) if called_name(call) in _LOGGING:
            return
        case ast.Expr(value=ast.Constant()) | ast.Assert() | ast.Raise():
            return
        case ast.Import() | ast.ImportFrom():
            return
        case _:
            yield from _expressions(node)
            yield from _blocks(node)


def _if(node: ast.If, test: ast.expr, body: list[ast.stmt], orelse: list[ast.stmt]) -> Mutations:
    if ast.unparse(test).endswith("TYPE_CHECKING"):
        return
    if not _only_refuses(body):
        yield from _negated(node, test)
        yield from expression_mutants(test)
        yield from _block(body)
    yield from _block(orelse)


def _block(body: list[ast.stmt]) -> Mutations:
    for index, statement in enumerate(body):
        if isinstance(statement, ast.Raise):
            if not _is_builtin(statement):
                body[index] = ast.Pass()
                yield statement, "raise dropped"
                body[index] = statement
        else:
            yield from statement_mutants(statement)


def _blocks(node: ast.AST) -> Mutations:
    """Make the mutants of the blocks in a statement: loops, with, try, match."""
    for name in ("body", "orelse", "finalbody"):
        yield from _block(getattr(node, name, []))
    for handler in getattr(node, "handlers", []):
        yield from _block(handler.body)
    for case in getattr(node, "cases", []):
        yield from expression_mutants(case.guard)
        yield from _block(case.body)


def _expressions(node: ast.AST) -> Mutations:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.expr):
            yield from expression_mutants(child)
        elif isinstance(child, ast.withitem):
            yield from expression_mutants(child.context_expr)


def _negated(node: ast.If | ast.While, test: ast.expr) -> Mutations:
    # Without its own "not", a condition is negated as well: that mutant comes with the expression.
    if not (isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not)):
        node.test = _not(test)
        yield test, "condition negated"
        node.test = test


def _augmented(node: ast.AugAssign) -> Mutations:
    if isinstance(node.op, ast.Add | ast.Sub):
        before = node.op
        node.op = ast.Sub() if isinstance(before, ast.Add) else ast.Add()
        yield node, "+= → -=" if isinstance(before, ast.Add) else "-= → +="
        node.op = before
    yield from expression_mutants(node.value)


def _only_refuses(body: list[ast.stmt]) -> bool:
    """Return whether this only refuses configs, as ``raise ValueError`` does."""
    return len(body) == 1 and isinstance(body[0], ast.Raise) and _is_builtin(body[0])


def _is_builtin(statement: ast.Raise) -> bool:
    raised = statement.exc.func if isinstance(statement.exc, ast.Call) else statement.exc
    return isinstance(raised, ast.Name) and hasattr(builtins, raised.id)


def _not(test: ast.expr) -> ast.expr:
    return ast.copy_location(ast.UnaryOp(op=ast.Not(), operand=test), test)


def python_mutants(code: str, class_name: str) -> Iterator[tuple[str, Mutation]]:
    """Make the module's code with one mistake in a part that the class uses, and describe it.

    Always in the same order. Texts are left alone: docstrings, messages, annotations. So is code
    that no test of a policy can reach: refusing configs by raising ``ValueError`` and the like.

    Raises:
        SyntaxError: ``code`` is not Python.
    """
    tree = ast.parse(code)
    lines = code.splitlines()
    for definition in reachable(tree, class_name):
        for node, what in statement_mutants(definition):
            # The tree is changed while the generator waits here, and changed back after.
            yield ast.unparse(tree), _change_at(node, what, lines)


def _change_at(node: ast.expr | ast.stmt, what: str, lines: list[str]) -> Mutation:
    return Mutation(
        line=node.lineno,
        column=node.col_offset + 1,
        what=what,
        excerpt=lines[node.lineno - 1].strip(),
    )
