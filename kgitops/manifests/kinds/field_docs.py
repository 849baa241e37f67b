"""The descriptions of fields: the docstrings below them in the models' source."""

import ast
import inspect
import textwrap
from functools import cache

from pydantic.alias_generators import to_camel


@cache
def field_docs(model: type) -> dict[str, str]:
    """Field name, as documents write it, to its description; inherited fields too."""
    docs: dict[str, str] = {}
    for cls in reversed(model.__mro__[:-1]):
        definition = ast.parse(textwrap.dedent(inspect.getsource(cls))).body[0]
        assert isinstance(definition, ast.ClassDef)  # noqa: S101 (the source of a class)
        for field, after in zip(definition.body, definition.body[1:], strict=False):
            if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name):
                docs[to_camel(field.target.id.rstrip("_"))] = _docstring(after)
    return docs


def _docstring(statement: ast.stmt) -> str:
    match statement:
        case ast.Expr(value=ast.Constant(value=str() as text)):
            return " ".join(text.split())
        case _:
            return ""
