"""The CEL library, and its errors in words of ours; imported only where a CEL policy is loaded."""

import logging
import re
from typing import Any, Protocol

import cel

# A failing function is told to the user by the expression's error, once.
logging.getLogger("cel").setLevel(logging.CRITICAL + 1)


class Program(Protocol):
    """A compiled expression."""

    def execute(self, context: Any = None) -> Any:  # noqa: ANN401 (the library's own signature)
        """What it gives."""
        ...


class EvaluationError(Exception):
    """An expression that gave no answer; ``kind_error``: because of the types of its values."""

    def __init__(self, text: str, *, kind_error: bool = False) -> None:
        super().__init__(text)
        self.text = text
        self.kind_error = kind_error


class CompileError(Exception):
    """A text that the library does not take, in its words."""


def compile_expression(text: str) -> Program:
    """The program of an expression.

    Raises:
        CompileError: it is none.
    """
    try:
        return cel.compile(text)
    except Exception as error:
        found = _PARSER_WORDS.search(str(error))
        raise CompileError(found[1].strip() if found else str(error)) from error


def evaluate(program: Program, context: object) -> object:
    """What the expression gives.

    Raises:
        EvaluationError: it gives nothing.
    """
    try:
        answer: object = program.execute(context)
    except Exception as error:
        raise _evaluation_error(error) from error
    return answer


def new_context(variables: dict[str, object], functions: dict[str, Any]) -> object:
    """What expressions are evaluated on; it can be used again and again."""
    return cel.Context(variables=variables, functions=functions)


_PARSER_WORDS = re.compile(r"ERROR: <input>:\d+:\d+: (?:Syntax error: )?([^\n]*)")
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
    if found := _FUNCTION.match(text):
        why = _RAISED.sub("", " ".join(found["why"].split()))
        return EvaluationError(f"{found['name'].strip('_')}(): {why}")
    if text.startswith("Undefined"):
        return EvaluationError("a function is given a value that it doesn't take", kind_error=True)
    return EvaluationError(" ".join(text.split()))
