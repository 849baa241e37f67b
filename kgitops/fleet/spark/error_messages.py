"""Errors of Spark, which are hundreds of lines long, as one sentence."""

import re

from kgitops.model.errors import KgitopsError, UnreachableError

_LONGEST = 400
_LAST_OF_TRACEBACK = re.compile(
    r"Traceback \(most recent call last\):\n(?:[ \t].*\n|\n)+(?!Traceback)(\S[^\n]*)"
)
_NOISE = re.compile(
    r"^(?:WARNING:|Using Spark's|Setting default|To adjust|\d\d/\d\d/\d\d \S+ (?:INFO|WARN)|\s+at |"
    r"Picked up |NOTE:|Error occurred during initialization)"
)
_GRPC_DETAILS = re.compile(r'^\s*details = "(.*)"$', re.MULTILINE)
_LOST = re.compile(
    r"StatusCode\.(?:UNAVAILABLE|UNAUTHENTICATED|PERMISSION_DENIED)|SparkContext was shut down|"
    r"All masters are unresponsive|Master removed our application|RETRIES_EXCEEDED"
)
_HINTS = (
    (
        "No module named 'kgitops",
        "install kgitops[fleet] for the Python of the executors (PYSPARK_PYTHON)",
    ),
    (
        "PYTHON_VERSION_MISMATCH",
        "let executors run this Python version (--conf spark.pyspark.python=…, or PYSPARK_PYTHON)",
    ),
    (
        'Cannot run program "',
        "give the Python of the executors (--conf spark.pyspark.python=…, or PYSPARK_PYTHON)",
    ),
)


def error_from_spark(error: BaseException, what: str) -> KgitopsError:
    """An error: ``what`` went wrong, with the last reason that Spark gives."""
    text = str(error)
    reason = _reason(text) or type(error).__name__
    hint = next((f"; {hint}" for mark, hint in _HINTS if mark in text), "")
    return KgitopsError(f"{what}: {reason}{hint}")


def error_from_run(error: BaseException, url: str) -> KgitopsError:
    """The error of a run: a task failed for good, or Spark itself was lost."""
    if _LOST.search(str(error)):
        lost = error_from_spark(error, f"Spark on {url} was lost")
        return UnreachableError(f"{lost}; look at its logs, and run again")
    return error_from_spark(error, f"a task failed on {url}")


def jvm_error_line(log: str) -> str | None:
    """The line of a JVM's output that says why it ended; None for an empty one."""
    lines = [line.strip() for line in log.splitlines() if line.strip() and not _NOISE.match(line)]
    errors = [line for line in lines if re.search(r"\b(?:Error|Exception)\b|rror:", line)]
    chosen = errors[:1] or lines[-1:]
    return _short(chosen[0]) if chosen else None


def _reason(text: str) -> str:
    tracebacks = _LAST_OF_TRACEBACK.findall(text)
    if tracebacks:
        return _short(tracebacks[-1])
    if details := _GRPC_DETAILS.search(text):
        return _short(details[1])
    lines = [line.strip() for line in text.splitlines()]
    # Py4J puts a line of its own before Java's message.
    others = [
        line for line in lines if line and not line.startswith(("An error occurred while", ":"))
    ]
    java = [line.removeprefix(": ") for line in lines if line.startswith(": ")]
    return _short((java or others or [""])[0])


def _short(line: str) -> str:
    line = re.sub(r"^(?:[a-z]\w*\.)+(?=[A-Z]\w*(?:Error|Exception)\b)", "", line).rstrip(".")
    line = re.sub(r"^(?:\w+: )?\[[A-Z_.]+\] ", "", line)
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST - 1]}…"
