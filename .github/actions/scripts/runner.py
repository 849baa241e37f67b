"""The runner's side: a step's inputs, outputs, log and summary."""

import json
import os
import re
import secrets
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

_SUMMARY_LIMIT = 1024 * 1024
"""Bytes a step; a larger one is not shown at all (actions/runner, FileCommandManager.cs)."""

DEPENDABOT = "dependabot[bot]"
"""What it starts gets none of the repository's secrets, and a token that can only read."""

_SERVICE_COMMAND = re.compile(r"##(?=\[)")


class Stopped(Exception):  # noqa: N818 (no failure of ours)
    """What stops a script: one sentence, and what to do."""


def text_input(name: str) -> str:
    """An input of the action, without blanks around it; empty where it is not given."""
    return os.environ.get(f"INPUT_{name}", "").strip()


def flag_input(name: str) -> bool:
    """An input that is true or false.

    Raises:
        Stopped: it is neither.
    """
    text = text_input(name).lower()
    if text not in ("true", "false"):
        raise Stopped(f"the input {name.lower().replace('_', '-')} is {text!r}; say true or false")
    return text == "true"


def event() -> dict[str, Any]:
    """What the workflow was started by."""
    content = json.loads(Path(os.environ["GITHUB_EVENT_PATH"]).read_text(encoding="utf-8"))
    return content if isinstance(content, dict) else {}


def set_output(name: str, value: object) -> None:
    """Hand a value to later steps; it can't end its own block, for nobody knows the delimiter."""
    delimiter = f"kgitops_{secrets.token_hex(16)}"
    with Path(os.environ["GITHUB_OUTPUT"]).open("a", encoding="utf-8") as file:
        file.write(f"{name}<<{delimiter}\n{value}\n{delimiter}\n")


def add_summary(markdown: str) -> None:
    """Add to the job's summary.

    Raises:
        Stopped: it is larger than GitHub shows.
    """
    if len(markdown.encode(errors="replace")) > _SUMMARY_LIMIT:
        raise Stopped("the summary is larger than GitHub shows; that is an error in kgitops")
    with Path(os.environ["GITHUB_STEP_SUMMARY"]).open("a", encoding="utf-8", errors="replace") as f:
        f.write(f"{markdown}\n")


def say(text: str) -> None:
    """Lines for the log, such that none of them is read as a command."""
    for line in re.split(r"[\r\n\x0b\x0c\x85\u2028\u2029]+", text):
        safe = _SERVICE_COMMAND.sub(r"#\\x23", line)
        safe = re.sub(r"^(\s*):(?=:)", r"\1\\x3a", safe)
        print(safe, flush=True)


def annotate(level: str, text: str) -> None:
    """A sentence at the top of the run, of the level error, warning or notice."""
    escaped = text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
    print(f"::{level} title=kgitops::{escaped}", flush=True)


def run_url() -> str:
    """Where a person finds this run."""
    server, repository = os.environ["GITHUB_SERVER_URL"], os.environ["GITHUB_REPOSITORY"]
    return f"{server}/{repository}/actions/runs/{os.environ['GITHUB_RUN_ID']}"


def work_folder(name: str) -> Path:
    """A folder that only this job sees, outside of the checkout."""
    folder = Path(os.environ["RUNNER_TEMP"]) / name
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def main(work: Callable[[], None]) -> None:
    """Run a step's work; what stops it is one annotation, never a traceback."""
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(encoding="utf-8", errors="backslashreplace")  # type: ignore[union-attr]
    try:
        work()
    except Stopped as reason:
        annotate("error", str(reason))
        sys.exit(1)
