"""Plans for one cluster: the log, annotations, the job's summary, and files for later steps.

Whatever kgitops answers, this step succeeds and hands the exit code on, so that a refused plan is
shown and kept as well; the action's last step fails with that code.
"""

import json
import shutil
from pathlib import Path
from typing import Any

from bounded import SUMMARY_LIMIT, bounded
from command import cluster_words, code_span, project_input, run, stopped
from names import artifact_name
from runner import (
    DEPENDABOT,
    add_summary,
    annotate,
    event,
    main,
    say,
    set_output,
    text_input,
    work_folder,
)

_DEPENDABOT = (
    "GitHub gives Dependabot's runs no secrets and no right to comment: without a snapshot this "
    "plan can't sign in to a cluster that takes a password, and after the merge nothing is applied "
    "from it. Start kgitops apply by hand then."
)


def plan() -> None:
    """Plan and show."""
    project, cluster = project_input(), text_input("CLUSTER")
    name = artifact_name("plan", project, cluster)
    folder = work_folder(name)
    shutil.rmtree(folder)
    folder.mkdir()
    file = folder / "plan.json"
    words: list[str | Path] = ["plan", project, *cluster_words(), "--out", file, *_shape()]
    planned = run([*words, "--detailed-exitcode", "--format", "github"])
    # Annotations: workflow commands of kgitops's own, which it escapes.
    print(planned.stdout, end="", flush=True)
    say(planned.stderr)
    content = _content(file)
    markdown = _markdown(file, planned.returncode, planned.stderr, cluster)
    (folder / "plan.md").write_text(markdown, encoding="utf-8")
    ended = {"exitcode": planned.returncode, "said": planned.stderr}
    (folder / "run.json").write_text(json.dumps(ended), encoding="utf-8")
    pointer = f"**Cut off here.** The whole plan is in the artefact {code_span(name)}."
    author = (event().get("pull_request") or {}).get("user") or {}
    if author.get("login") == DEPENDABOT:
        annotate("notice", _DEPENDABOT)
        add_summary(f"{_DEPENDABOT}\n")
    add_summary(bounded(markdown, SUMMARY_LIMIT - len(_DEPENDABOT), pointer))
    applicable = planned.returncode in (0, 2)
    set_output("exitcode", planned.returncode)
    set_output("has-changes", str(bool(content.get("changes"))).lower())
    set_output("plan-digest", content.get("plan_digest", "") if applicable else "")
    set_output("artifact-name", name)
    set_output("folder", folder)
    set_output("markdown-file", folder / "plan.md")


def _shape() -> list[str]:
    """What else the plan is asked for."""
    snapshot, principal = text_input("SNAPSHOT"), text_input("AS")
    words = [f"--snapshot={snapshot}"] if snapshot else []
    words += [f"--as={principal}"] if principal else []
    words += [f"--allow-deletes={limit}" for limit in text_input("ALLOW_DELETES").split()]
    words += [f"--allow-empty-folder={folder}" for folder in _lines("ALLOW_EMPTY_FOLDERS")]
    return words + [f"--allow-takeover={project}" for project in _lines("ALLOW_TAKEOVER")]


def _lines(name: str) -> list[str]:
    """The lines of an input that are not empty."""
    return [line for line in map(str.strip, text_input(name).splitlines()) if line]


def _content(file: Path) -> dict[str, Any]:
    """The saved plan; empty where kgitops stopped before there was one."""
    if not file.exists():
        return {}
    content = json.loads(file.read_text(encoding="utf-8"))
    return content if isinstance(content, dict) else {}


def _markdown(file: Path, code: int, said: str, cluster: str) -> str:
    if file.exists():
        return run(["show", file, "--format", "markdown"]).stdout
    return stopped(code, said, cluster)


if __name__ == "__main__":
    main(plan)
