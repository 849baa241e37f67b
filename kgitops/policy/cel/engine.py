"""The CEL library, and its errors as our sentences; imported only for a CEL policy."""

import logging
import re
import sys
from types import ModuleType
from typing import Any, Protocol

# The library imports its own command line, which takes ten times longer than the rest of it.
sys.modules.setdefault("cel.cli", ModuleType("cel.cli"))

import cel  # noqa: E402

# The user learns of a failing function by the expression's error, once.
logging.getLogger("cel").setLevel(logging.CRITICAL + 1)


class Program(Protocol):
    """A compiled expression."""

    def execute(self, context: Any = None) -> Any:  # noqa: ANN401 (the library's own signature)
        """Evaluate it."""
        ...


class EvaluationError(Exception):
    """An expression that can't be evaluated; ``kind_error``: for the types of its values."""

    def __init__(self, text: str, *, kind_error: bool = False) -> None:
        super().__init__(text)
        self.text = text
        self.kind_error = kind_error


class CompileError(Exception):
    """A text that the library refuses, with its message."""


def compile_expression(text: str) -> Program:
    """Compile an expression.

    Raises:
        CompileError: the text is not an expression.
    """
    try:
        return cel.compile(text)
    except Exception as error:
        message = _PARSER_ERROR.search(str(error))
        raise CompileError(message[1].strip() if message else str(error)) from error


def evaluate(program: Program, context: object) -> object:
    """Evaluate the expression.

    Raises:
        EvaluationError: it has no value.
    """
    try:
        answer: object = program.execute(context)
    except Exception as error:
        raise _evaluation_error(error) from error
    return answer


def new_context(variables: dict[str, object], functions: dict[str, Any]) -> object:
    """Make the variables and functions of an evaluation; a context can be used many times."""
    return cel.Context(variables=variables, functions=functions)


_PARSER_ERROR = re.compile(r"ERROR: <input>:\d+:\d+: (?:Syntax error: )?([^\n]*)")
_FUNCTION = re.compile(r"Function '(?P<name>\w+)' error: (?P<why>.*?)\.? Check function", re.DOTALL)
_RAISED = re.compile(r"Python function call failed: \w+: ")


def _evaluation_error(error: Exception) -> EvaluationError:
    match error:
        case KeyError():
            return EvaluationError(f"there is no key {error.args[0] if error.args else ''}")
        case IndexError():
            return EvaluationError(f"the list has no such item ({error})")
        case ZeroDivisionError():
            return EvaluationError("it divides by zero")
        case OverflowError():
            return EvaluationError("a number is beyond 64 bits")
        case TypeError():
            return EvaluationError("its values have types that don't fit together", kind_error=True)
        case _:
            return _library_error(str(error))


def _library_error(text: str) -> EvaluationError:
    if failure := _FUNCTION.match(text):
        reason = _RAISED.sub("", " ".join(failure["why"].split()))
        return EvaluationError(f"{failure['name'].strip('_')}(): {reason}")
    if text.startswith("Undefined"):
        return EvaluationError("a function is given a value that it doesn't take", kind_error=True)
    return EvaluationError(" ".join(text.split()))
