"""Renders a template to JSON: in this process, or bounded in a process of its own.

A template of a project can loop, multiply and pad, so it runs in a child process with limits, as
policies do.
"""

import json
import os
import resource
import subprocess
import sys
import threading
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from jinja2 import StrictUndefined, TemplateError, Undefined, nodes
from jinja2.sandbox import ImmutableSandboxedEnvironment

from kgitops.policy.worker.process_setup import limit_memory

MOST_BYTES = 256 << 10
"""The longest body of a webhook."""
SECONDS = 10
MEMORY = 128 << 20
"""The bytes that a template may take above those of the empty process; only Linux enforces it."""
_PROBLEM = 300
_AT_ONCE = threading.BoundedSemaphore(2)
_FOR_PYTHON = ("PYTHONHOME", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH")


class LimitExceeded(Exception):  # noqa: N818 (an event that is counted, not an error of ours)
    """A template took more than it may; the text continues a sentence about it."""


def environment() -> ImmutableSandboxedEnvironment:
    """The language of templates."""
    language = ImmutableSandboxedEnvironment(
        undefined=StrictUndefined, finalize=_as_json, autoescape=False
    )
    language.filters["slack"] = _for_slack
    return language


def check(text: str) -> None:
    """Parse the template, which evaluates nothing of it.

    Raises:
        ValueError: it is no template.
    """
    language = environment()
    try:
        parsed = language.parse(text)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    except TemplateError as error:
        raise ValueError(str(error)) from error
    for known, kind in ((language.filters, nodes.Filter), (language.tests, nodes.Test)):
        for node in parsed.find_all(kind):
            if node.name not in known:
                raise ValueError(f"No {kind.__name__.lower()} named {node.name!r}.")


def render(text: str, values: Mapping[str, Any]) -> bytes:
    """The JSON that the template makes of these values; any exception where it makes none."""
    body = json.dumps(json.loads(environment().from_string(text).render(values))).encode()
    if len(body) > MOST_BYTES:
        raise LimitExceeded(f"it makes {len(body):,} bytes; make it smaller")
    return body


def render_bounded(text: str, values: Mapping[str, Any]) -> bytes:
    """The same in a process that is ended where it takes too much.

    Raises:
        LimitExceeded: it took more than it may.
        ValueError: it makes no JSON.
    """
    with _AT_ONCE:
        try:
            ended = subprocess.run(  # noqa: S603 (Python itself)
                [sys.executable, "-P", "-c", _PROGRAM, *sys.path],
                input=json.dumps([text, values]).encode(),
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                # Not the loop's environment, which holds its secrets.
                env={name: os.environ[name] for name in _FOR_PYTHON if name in os.environ},
                timeout=SECONDS,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise LimitExceeded(f"it takes more than {SECONDS} seconds; make it smaller") from None
    try:
        kind, said = json.loads(ended.stdout)
    except ValueError:
        raise LimitExceeded(f"its process ended with {ended.returncode}; make it smaller") from None
    if kind == "limit":
        raise LimitExceeded(said)
    if kind == "problem":
        raise ValueError(said)
    return str(said).encode()


_PROGRAM = (
    "import sys; sys.path[:] = sys.argv[1:]; "
    "from kgitops.reconcile.notifications.rendering import answer; answer()"
)


def answer() -> None:
    """Render the template on stdin, and write the outcome to stdout; for the process above."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    # Where the loop is gone, nobody else ends this process.
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
    text, values = json.load(sys.stdin.buffer)
    limit_memory(MEMORY)
    try:
        outcome = "body", render(text, values).decode()
    except MemoryError:
        outcome = "limit", f"it takes more than {MEMORY >> 20} MiB of memory; make it smaller"
    except LimitExceeded as limit:
        outcome = "limit", str(limit)
    except Exception as error:  # noqa: BLE001 (whatever a template brings about)
        outcome = "problem", _problem(error)
    sys.stdout.write(json.dumps(outcome))


def _problem(error: Exception) -> str:
    text = type(error).__name__
    with suppress(Exception):
        text = str(error)[:_PROBLEM] or text
    return text


def _as_json(value: Any) -> str:  # noqa: ANN401 (whatever a template writes)
    if isinstance(value, Undefined):
        return str(value)  # which raises
    return json.dumps(value)


def _for_slack(text: str) -> str:
    """Text in which Slack sees no links, mentions and other commands."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
