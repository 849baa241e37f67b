"""What of a module a class is made of: itself, and what it names of the same module."""

import ast
from collections.abc import Mapping

Definition = ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef | ast.Assign | ast.AnnAssign


def reachable(tree: ast.Module, class_name: str) -> list[Definition]:
    """The top-level definitions that the class leads to, itself among them, in their order."""
    by_name = definitions(tree)
    found: dict[str, Definition] = {}
    open_names = [class_name]
    while open_names:
        name = open_names.pop()
        if name in by_name and name not in found:
            found[name] = by_name[name]
            open_names += _names(by_name[name])
    return sorted({id(node): node for node in found.values()}.values(), key=lambda n: n.lineno)


def definitions(tree: ast.Module) -> Mapping[str, Definition]:
    """The module's own classes, functions and constants by name."""
    found: dict[str, Definition] = {}
    for node in tree.body:
        match node:
            case ast.ClassDef() | ast.FunctionDef() | ast.AsyncFunctionDef():
                found[node.name] = node
            case ast.Assign():
                for target in node.targets:
                    found.update(dict.fromkeys(_names(target), node))
            case ast.AnnAssign():
                found.update(dict.fromkeys(_names(node.target), node))
            case _:
                pass
    return found


def _names(node: ast.AST) -> list[str]:
    return [inner.id for inner in ast.walk(node) if isinstance(inner, ast.Name)]
