"""Looks for drift: what others changed since the last apply. Exit codes as in plan.py."""

import json
from pathlib import Path

from bounded import SUMMARY_LIMIT, bounded, fenced
from command import cluster_words, code_span, next_step, project_input, run
from runner import add_summary, main, say, set_output, text_input, work_folder


def drift() -> None:
    """Compare, show, and say whether there is any."""
    cluster = text_input("CLUSTER")
    words = ["drift", project_input(), *cluster_words(), "--detailed-exitcode"]
    looked = run([*words, "--format", "json"])
    say(looked.stderr)
    code = looked.returncode
    file = work_folder("kgitops-drift") / "drift.md"
    plan = _plan(looked.stdout)
    if plan is None:
        where = f" of {code_span(cluster)}" if cluster else ""
        heading = f"### 🔴 kgitops drift{where}: stops with exit {code}"
        markdown = f"{heading}\n\n{fenced(looked.stderr)}\n\n{next_step(code)}\n"
    else:
        markdown = _shown(looked.stdout, file.with_name("drift.json"))
    file.write_text(markdown, encoding="utf-8")
    pointer = "**Cut off here.** `kgitops drift --full` shows all of it."
    add_summary(bounded(markdown, SUMMARY_LIMIT, pointer))
    found = plan is not None and (code == 2 or bool(plan.get("drift")))
    set_output("exitcode", code)
    set_output("has-drift", str(found).lower() if plan is not None and code in (0, 2) else "")
    set_output("markdown-file", file)


def _plan(text: str) -> dict[str, object] | None:
    """What was compared; None where kgitops stopped before that."""
    try:
        plan = json.loads(text)
    except ValueError:
        return None
    return plan if isinstance(plan, dict) and plan.get("kind") == "kgitops.plan" else None


def _shown(text: str, file: Path) -> str:
    """The same moment again as Markdown: a second look at the cluster could see another one."""
    file.write_text(text, encoding="utf-8")
    return run(["show", file, "--format", "markdown"]).stdout


if __name__ == "__main__":
    main(drift)
