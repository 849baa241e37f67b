"""Patterns of users and clients, matched by RE2 in a time that grows with the text alone."""

from typing import Any

_MEMORY_BYTES = 512 * 1024
"""Of one program and the states that it is run by."""


class InvalidPatternError(Exception):
    """It is no regular expression of RE2, or too large a one."""


def compile_pattern(pattern: str, *, capture: bool = True) -> Any:  # noqa: ANN401 (without types)
    """Compile the program of a pattern; ``capture``: its groups can be asked for.

    Raises:
        InvalidPatternError: it is no regular expression, or too large a one.
    """
    import re2  # noqa: PLC0415 (few commands need it)

    options = re2.Options()
    options.max_mem = _MEMORY_BYTES
    options.log_errors = False
    options.never_capture = not capture
    try:
        return re2.compile(pattern, options)
    except re2.error as error:
        reason = error.args[0] if error.args else b"it can't be compiled"
        text = reason.decode(errors="replace") if isinstance(reason, bytes) else str(reason)
        raise InvalidPatternError(text) from error
    except UnicodeEncodeError as error:
        raise InvalidPatternError("it is not UTF-8") from error
    finally:
        re2.purge()  # the library would keep the programs of all clients
