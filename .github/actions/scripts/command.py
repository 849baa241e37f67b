"""Running kgitops: its words, what it says, and what its exit codes ask of people."""

import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from bounded import fenced
from runner import Stopped, text_input

NEXT = {
    1: "Correct what is named above.",
    3: "A policy denies this plan: change the manifests, or have a waiver reviewed.",
    4: "What the plan was made from has changed. Nothing was sent. Make a new plan, have it "
    "reviewed, and apply that one: docs/guides/github-actions.md, “When a plan has become stale”.",
    5: "A safety rule refuses. Nothing was sent.",
    6: "A part was applied, and the journal on the cluster says which. Run the workflow again with "
    "resume: true, which is kgitops apply --resume: it looks before it sends anything again.",
    7: "Another run is applying; the sentence above names it. This job waited for the lock, 10 "
    "minutes by default (spec.safety.lockTimeout), and sent nothing: start it again when that run "
    "is done.",
    8: "The cluster can't be reached, or refuses the credentials. Nothing was sent.",
    9: "The plan can't be trusted: changed, expired, already applied, or for another cluster. "
    "Nothing was sent. Make a new plan.",
    64: "The action's inputs can't be meant together.",
    130: "The job was cancelled. The journal is valid: run the workflow again with resume: true.",
    143: "The job was cancelled. The journal is valid: run the workflow again with resume: true.",
}


def program() -> str:
    """The kgitops that the action setup installed.

    Raises:
        Stopped: there is none.
    """
    found = shutil.which("kgitops")
    if found is None:
        raise Stopped("kgitops is not installed; let the action setup run before this one")
    return found


def run(words: Sequence[str | Path]) -> subprocess.CompletedProcess[str]:
    """Run kgitops to its end. No step that runs it has GitHub's token.

    Nor is it told the files by which a step sets the path and the environment of later ones: a
    policy in Python is code of whoever wrote the pull request. That hides them and no more, so no
    step with rights follows in its job.
    """
    hidden = ("GITHUB_ENV", "GITHUB_PATH", "GITHUB_OUTPUT", "GITHUB_STATE", "GITHUB_STEP_SUMMARY")
    return subprocess.run(  # noqa: S603 (kgitops itself)
        [program(), *map(str, words)],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        encoding="utf-8",
        errors="replace",
        check=False,
        env={
            **{name: value for name, value in os.environ.items() if name not in hidden},
            "NO_COLOR": "1",
        },
    )


def project_input() -> str:
    """The project's folder, seen from the checkout.

    Raises:
        Stopped: it is none.
    """
    project = text_input("PROJECT") or "."
    if not Path(project).is_dir() or project.startswith("-"):
        raise Stopped(f"the input project is {project!r}, which is no folder of the checkout")
    return project


def cluster_words() -> list[str]:
    """``--cluster NAME``, or nothing where the project's own default is meant."""
    cluster = text_input("CLUSTER")
    return [f"--cluster={cluster}"] if cluster else []


def next_step(code: int) -> str:
    """What this exit code asks for."""
    return NEXT.get(code, f"kgitops ended with {code}, which it should not; read the log.")


def stopped(code: int, said: str, cluster: str) -> str:
    """Markdown for a plan that was not made; what kgitops said is text and nothing else."""
    where = f" for {code_span(cluster)}" if cluster else ""
    heading = f"### 🔴 kgitops plan{where}: stops with exit {code}"
    return f"{heading}\n\n{fenced(said)}\n\n{next_step(code)}\n"


def code_span(text: str) -> str:
    """Text as code of Markdown on one line; only for what can't hide anything."""
    plain = re.sub(r"[^ -~]", "?", text)
    ticks = "`" * (max((len(run) for run in re.findall(r"`+", plain)), default=0) + 1)
    pad = " " if plain.startswith("`") or plain.endswith("`") else ""
    return f"{ticks}{pad}{plain or '(none)'}{pad}{ticks}"
