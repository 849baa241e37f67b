"""Checks a plan that another job made, and writes it out: what is shown is what its digest seals.

No word of the other job's Markdown is taken. kgitops reads the plan, which it trusts only whole,
and writes it anew; it reads no manifest and no policy for that, and there is no checkout.
"""

import json
import os
from pathlib import Path

from command import next_step, run, stopped
from runner import Stopped, main, say, set_output, text_input

_LONGEST = 20_000
"""Characters of what kgitops said where it stopped; the job's log has all of it."""


def check() -> None:
    """The Markdown to show, and the digest; empty where the plan can't be applied."""
    folder = Path(os.environ["PLAN_FOLDER"])
    ended, said = _ended(folder / "run.json")
    file, digest = folder / "plan.json", ""
    if file.exists():
        shown = run(["show", file, "--format", "markdown"])
        if shown.returncode not in (0, 1, 3, 5) or not shown.stdout:
            say(shown.stderr)
            raise Stopped(f"the plan can't be shown; {next_step(shown.returncode)}")
        markdown = shown.stdout
        if shown.returncode == 0 and ended in (0, 2):
            digest = str(json.loads(file.read_text(encoding="utf-8"))["plan_digest"])
    else:
        markdown = stopped(ended, said[:_LONGEST], text_input("CLUSTER"))
    (folder / "comment.md").write_text(markdown, encoding="utf-8")
    set_output("markdown-file", folder / "comment.md")
    set_output("plan-digest", digest)


def _ended(file: Path) -> tuple[int, str]:
    """How kgitops ended in the other job, as that job says."""
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
        ended, said = content["exitcode"], content["said"]
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise Stopped("the plan's artefact does not say how kgitops ended; plan again") from error
    if type(ended) is not int or not 0 <= ended <= 255 or not isinstance(said, str):
        raise Stopped("the plan's artefact does not say how kgitops ended; plan again")
    return ended, said.encode(errors="replace").decode()  # JSON may hold half a character


if __name__ == "__main__":
    main(check)
