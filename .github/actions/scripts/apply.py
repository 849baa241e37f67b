"""Applies the plan that was found, or goes on with a run that was begun.

This step succeeds whatever kgitops answers, so that log and summary are kept; the action's last
step fails with kgitops's exit code.
"""

import json
import os
import signal
import subprocess
from collections import Counter
from pathlib import Path
from typing import Any

from bounded import SUMMARY_LIMIT, bounded, fenced
from command import cluster_words, code_span, next_step, program, project_input
from names import artifact_name
from runner import add_summary, flag_input, main, say, set_output, text_input, work_folder


def apply() -> None:
    """Run kgitops apply and tell what became of it."""
    log = work_folder("kgitops-apply") / "apply.jsonl"
    words = [program(), "apply", *cluster_words(), "--format", "json", *_what()]
    log.unlink(missing_ok=True)
    set_output("log", log)
    set_output("log-name", artifact_name("apply", text_input("PROJECT"), text_input("CLUSTER")))
    code, events, said = _run(words, project_input(), log)
    add_summary(_summary(code, events, said))
    set_output("exitcode", code)


def _what() -> list[str]:
    if flag_input("RESUME"):
        return ["--resume"]
    return [os.environ["PLAN_FILE"], "--expect-digest", os.environ["PLAN_DIGEST"]]


def _run(words: list[str], project: str, log: Path) -> tuple[int, list[dict[str, Any]], str]:
    """Every event goes to the log file at once, so that it holds as well what came before a kill.

    In the project's folder, so that it is this project whose unfinished run is gone on with.
    """
    events: list[dict[str, Any]] = []
    errors = log.with_suffix(".stderr")
    with log.open("w", encoding="utf-8") as kept, errors.open("w", encoding="utf-8") as stderr:
        process = subprocess.Popen(  # noqa: S603 (kgitops itself)
            words,
            cwd=project,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=stderr,
            text=True,
            encoding="utf-8",
            errors="replace",
        )
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda number, _: _pass_on(process, number))
        for line in process.stdout or ():
            kept.write(line)
            kept.flush()
            events.append(_event(line))
            say(_told(events[-1]))
        code = process.wait()
    said = errors.read_text(encoding="utf-8", errors="replace")
    errors.unlink()
    say(said)
    return code, events, said


def _pass_on(process: subprocess.Popen[str], number: int) -> None:
    """A cancelled job: the first signal lets kgitops finish the request on its way."""
    process.send_signal(number)
    # No print: it may be in the middle of one.
    os.write(1, b"Cancelled: kgitops ends after the request that is on its way.\n")


def _event(line: str) -> dict[str, Any]:
    try:
        event = json.loads(line)
    except ValueError:
        event = line
    return event if isinstance(event, dict) else {"type": "said", "sentence": line.strip()}


def _told(event: dict[str, Any]) -> str:
    """One line of the log: what happened, to what, and why; escaped as JSON is."""
    words = [event.get(key) for key in ("type", "api", "address", "sentence")]
    return " ".join(json.dumps(word).strip('"') for word in words if isinstance(word, str))


def _summary(code: int, events: list[dict[str, Any]], said: str) -> str:
    kinds = Counter(str(event.get("type")) for event in events)
    finished = next((e for e in events if e.get("type") == "apply_finished"), {})
    done = finished.get("done", kinds["step_done"])
    counts = f"{done} done, {finished.get('failed', kinds['step_failed'])} failed"
    counts += f", {finished['not_attempted']} not attempted" if finished else ""
    dot = "🟢" if code == 0 else "🔴"
    parts = [f"### {dot} kgitops apply: exit {code}", f"{counts}."]
    if finished.get("run_id"):
        parts.append(f"Run {code_span(str(finished['run_id']))}.")
    failed = [_told(event) for event in events if event.get("type") == "step_failed"]
    reasons = [
        str(reason.get("sentence"))
        for event in events
        for reason in (event.get("verdict") or {}).get("reasons", ())
    ]
    lines = [json.dumps(text)[1:-1] for text in dict.fromkeys((*failed, *reasons))]
    if lines or said.strip():
        parts.append(fenced("\n".join(lines) if lines else said))
    if code:
        parts.append(f"**{next_step(code)}**")
    pointer = "**Cut off here.** The whole log is kept as an artefact."
    return bounded("\n\n".join(parts) + "\n", SUMMARY_LIMIT, pointer)


if __name__ == "__main__":
    main(apply)
