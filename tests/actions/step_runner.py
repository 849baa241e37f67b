"""Runs jobs of workflows, and the composite actions in them, step by step on this machine.

A small stand-in for GitHub's runner: it evaluates the YAML itself, runs every ``run:`` in a bash
as the runner does, with that step's environment and nothing else of this process, and reads back
outputs, summary and log. ``actions/checkout`` and ``actions/setup-python`` find their work done;
``actions/upload-artifact`` puts files into the fake GitHub.
"""

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml
from actions.expressions import condition, fill
from actions.fake_github import REPOSITORY, REPOSITORY_ID, TOKEN, FakeGitHub

ROOT = Path(__file__).parents[2]
ACTIONS = ROOT / ".github" / "actions"
EXAMPLES = ROOT / "examples" / "github"
_OURS = re.compile(r"OWNER/kgitops/\.github/actions/([a-z]+)@0{40}")
_OUTPUT = re.compile(
    r"^([\w-]+)<<(\S+)\n(.*?)\n?^\2$\n?|^([\w-]+)=([^\n]*)$\n?", re.DOTALL | re.MULTILINE
)
Json = Any


@dataclass(slots=True)
class Step:
    """One step that ran; ``env`` is all that it could see."""

    script: str
    env: dict[str, str]
    code: int
    log: str
    outputs: dict[str, str]
    summary: str


@dataclass(slots=True)
class Job:
    """What became of a job; ``env`` and ``path`` are what its steps set for later ones."""

    steps: list[Step] = field(default_factory=list)
    uploads: list[str] = field(default_factory=list)
    outputs: dict[str, str] = field(default_factory=dict)
    failed: bool = False
    env: dict[str, str] = field(default_factory=dict)
    path: list[str] = field(default_factory=list)

    @property
    def code(self) -> int:
        """The exit code of the last step that failed."""
        return next((step.code for step in reversed(self.steps) if step.code), 0)

    @property
    def log(self) -> str:
        return "".join(step.log for step in self.steps)

    @property
    def summary(self) -> str:
        return "".join(step.summary for step in self.steps)

    def ran(self, script: str) -> bool:
        return any(script in step.script for step in self.steps)


@dataclass(slots=True)
class Runner:
    """One checkout of the repository, and what a run is told of it."""

    github: FakeGitHub
    workspace: Path
    temp: Path
    path: str
    event_name: str
    event: Json
    sha: str
    ref: str
    head_sha: str
    head_branch: str
    head_repository_id: int = REPOSITORY_ID
    run_id: int = 1
    secrets: Mapping[str, str] = field(default_factory=dict)
    inputs: Mapping[str, Any] = field(default_factory=dict)
    before_step: Callable[[str], None] = lambda script: None

    def run_job(
        self, workflow: str, name: str, needs: Mapping[str, Job] | None = None
    ) -> Job | None:
        """A job of an example workflow; None where its ``if:`` does not hold."""
        content = yaml.safe_load((EXAMPLES / workflow).read_text())["jobs"][name]
        job = Job()
        context = self._context(job)
        context["needs"] = {
            key: {"outputs": done.outputs, "result": "failure" if done.failed else "success"}
            for key, done in (needs or {}).items()
        }
        if "if" in content and not condition(content["if"], {**context, "job": _GOES_ON}):
            return None
        self.github.permissions = content["permissions"]
        self._steps(content["steps"], context, job, {}, ROOT)
        job.failed = context["job"]["failed"]
        for key, value in content.get("outputs", {}).items():
            job.outputs[key] = fill(value, context)
        return job

    def run_action(self, action: str, **inputs: str) -> Job:
        """One of our actions alone."""
        job = Job()
        context = self._context(job)
        job.outputs = self._composite(action, inputs, {}, context, job)
        job.failed = context["job"]["failed"]
        return job

    def _context(self, job: Job) -> dict[str, Any]:
        return {
            "github": {
                "token": TOKEN,
                "event": self.event,
                "event_name": self.event_name,
                "repository": REPOSITORY,
                "run_id": self.run_id,
                "ref_name": self.ref.rpartition("/")[2],
            },
            "runner": {"temp": str(self.temp)},
            "secrets": self.secrets,
            "inputs": self.inputs,
            "steps": {},
            "job": {"failed": False, "cancelled": False},
        }

    def _steps(
        self,
        steps: list[Json],
        context: dict[str, Any],
        job: Job,
        env: Mapping[str, str],
        action_path: Path,
    ) -> None:
        for step in steps:
            if not condition(str(step.get("if", "!cancelled() && !failure()")), context):
                continue
            words = {key: fill(value, context) for key, value in step.get("env", {}).items()}
            given = {key: fill(value, context) for key, value in step.get("with", {}).items()}
            step_env = {**env, **words}
            outputs: dict[str, str] = {}
            if "run" in step:
                assert "${{" not in step["run"], "text of others would become a script"
                done = self._bash(step["run"], step_env, action_path, job)
                job.steps.append(done)
                context["job"]["failed"] |= bool(done.code)
                outputs = done.outputs
            elif ours := _OURS.fullmatch(step["uses"]):
                outputs = self._composite(ours[1], given, step_env, context, job)
            elif step["uses"].startswith("actions/upload-artifact@"):
                self._upload(given, job)
            elif step["uses"].startswith("actions/setup-python@"):
                outputs = {"python-path": sys.executable}
            else:
                assert step["uses"].startswith("actions/checkout@"), step["uses"]
            if "id" in step:
                context["steps"][step["id"]] = {"outputs": outputs}

    def _composite(
        self,
        name: str,
        given: Mapping[str, str],
        env: Mapping[str, str],
        context: dict[str, Any],
        job: Job,
    ) -> dict[str, str]:
        action = yaml.safe_load((ACTIONS / name / "action.yml").read_text())
        assert set(given) <= set(action["inputs"]), "an input that the action does not have"
        inputs = {
            key: given.get(key, fill(spec.get("default", ""), context))
            for key, spec in action["inputs"].items()
        }
        inner = {**context, "inputs": inputs, "steps": {}, "secrets": {}}
        if name != "setup":  # its own test installs; here kgitops is on the path already
            self._steps(action["runs"]["steps"], inner, job, env, ACTIONS / name)
        outputs = action.get("outputs", {})
        return {key: fill(spec["value"], inner) for key, spec in outputs.items()}

    def _bash(self, script: str, env: Mapping[str, str], action_path: Path, job: Job) -> Step:
        self.before_step(script)
        files = {
            name: self.temp / f"_{name}" for name in ("output", "summary", "path", "env", "event")
        }
        for file in files.values():
            file.write_text("")
        files["event"].write_text(json.dumps(self.event))
        body = self.temp / "_script.sh"
        body.write_text(script)
        done = subprocess.run(
            ["bash", "--noprofile", "--norc", "-e", "-o", "pipefail", str(body)],
            cwd=self.workspace,
            env={
                **self._env(files, action_path),
                **job.env,
                "PATH": os.pathsep.join((*reversed(job.path), self.path)),
                **env,
            },
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=120,
            check=False,
        )
        job.env.update(read_outputs(files["env"].read_text()))
        job.path += files["path"].read_text().splitlines()
        return Step(
            script,
            dict(env),
            done.returncode,
            done.stdout.decode(),
            read_outputs(files["output"].read_text()),
            files["summary"].read_text(),
        )

    def _env(self, files: Mapping[str, Path], action_path: Path) -> dict[str, str]:
        return {
            "PATH": self.path,
            "HOME": str(self.temp),
            "CI": "true",
            "GITHUB_ACTIONS": "true",
            "GITHUB_ENV": str(files["env"]),
            "GITHUB_ACTION_PATH": str(action_path),
            "GITHUB_API_URL": self.github.url,
            "GITHUB_EVENT_NAME": self.event_name,
            "GITHUB_EVENT_PATH": str(files["event"]),
            "GITHUB_OUTPUT": str(files["output"]),
            "GITHUB_PATH": str(files["path"]),
            "GITHUB_REF": self.ref,
            "GITHUB_REPOSITORY": REPOSITORY,
            "GITHUB_RUN_ID": str(self.run_id),
            "GITHUB_SERVER_URL": "https://github.example",
            "GITHUB_SHA": self.sha,
            "GITHUB_STEP_SUMMARY": str(files["summary"]),
            "GITHUB_WORKSPACE": str(self.workspace),
            "RUNNER_TEMP": str(self.temp),
            "PYTHONDONTWRITEBYTECODE": "1",
        }

    def _upload(self, given: Mapping[str, str], job: Job) -> None:
        path = Path(given["path"])
        found = sorted(path.iterdir()) if path.is_dir() else [path] if path.is_file() else []
        if not found:
            assert given["if-no-files-found"] == "ignore", f"{path} is not there"
            return
        name = given["name"]
        assert re.fullmatch(r'[^":<>|*?\r\n\\/]+', name), f"GitHub refuses the name {name}"
        job.uploads.append(name)
        self.github.add_artifact(
            name,
            {file.name: file.read_bytes() for file in found},
            run_id=self.run_id,
            head_sha=self.head_sha,
            head_branch=self.head_branch,
            head_repository_id=self.head_repository_id,
        )


_GOES_ON = {"failed": False, "cancelled": False}


def read_outputs(text: str) -> dict[str, str]:
    """The file behind ``GITHUB_OUTPUT``; what can't be read is an error, as for the runner."""
    found = {}
    at = 0
    while at < len(text):
        match = _OUTPUT.match(text, at)
        assert match, f"{text[at:]!r} is no output"
        found[match[1] or match[4]] = match[3] if match[1] else match[5]
        at = match.end()
    return found


def path_with(folder: Path) -> str:
    """A path with this folder before what any runner has."""
    python = str(Path(sys.executable).parent)
    return os.pathsep.join((str(folder), python, "/usr/local/bin", "/usr/bin", "/bin"))
