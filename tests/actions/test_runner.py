"""Nothing that others wrote acts on the runner: outputs, log lines, names."""

import json
import re

import pytest
from actions.conftest import Repository
from actions.scripts import module
from actions.step_runner import read_outputs
from report.payloads import MARK, assert_of_each, of_every_family
from report.workflow_commands import commands


@of_every_family
def test_an_output_is_one_value(
    family: str, repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    repository.temp.mkdir()
    file = repository.temp / "output"
    monkeypatch.setenv("GITHUB_OUTPUT", str(file))

    def check(payload: str) -> None:
        file.unlink(missing_ok=True)
        value = payload.replace("\r", "\n").encode(errors="replace").decode()
        runner.set_output("plan", value)
        runner.set_output("after", "x")
        found = read_outputs(file.read_text())
        assert list(found) == ["plan", "after"]
        assert found["plan"] == value.removesuffix("\n")

    with module("runner") as runner:
        assert_of_each(family, check)


@of_every_family
def test_a_line_of_the_log_is_no_command(family: str, capfd: pytest.CaptureFixture[str]) -> None:
    def check(payload: str) -> None:
        capfd.readouterr()
        runner.say(f"{payload}\n  {payload}")
        runner.annotate("error", payload)
        *said, last, _ = capfd.readouterr().out.split("\n")
        assert commands("\n".join(said)) == []
        assert MARK in "\n".join((*said, last))

    with module("runner") as runner:
        assert_of_each(family, check)


@of_every_family
def test_names_are_plain_whatever_a_project_is_called(family: str) -> None:
    def check(payload: str) -> None:
        name = names.artifact_name("plan", payload, payload)
        marker = names.marker("plan", payload, payload)
        assert re.fullmatch(r"kgitops-plan-[A-Za-z0-9._-]{0,61}[0-9a-f]{8}", name)
        assert re.fullmatch(r"<!-- kgitops-plan:[A-Za-z0-9._%]+:[A-Za-z0-9._%]+ -->", marker)

    with module("names") as names:
        assert_of_each(family, check)


def test_names_tell_projects_and_clusters_apart_but_not_spellings() -> None:
    spelt = [("a", "b"), ("a-b", ""), ("", "a-b"), ("a/b", ""), ("a", "B"), (".", "")]
    with module("names") as names:
        for make in (names.artifact_name, names.marker):
            assert len({make("plan", *pair) for pair in spelt}) == len(spelt)
            assert make("plan", "./a/", "b") == make("plan", "a", "b")
            assert make("plan", "", "b") == make("plan", ".", "b") == make("plan", "./", "b")


@of_every_family
def test_what_was_reviewed_is_read_from_our_line_alone(family: str) -> None:
    forged = f"<!-- kgitops-reviewed head={'f' * 40} plan=sha256:{'f' * 64} -->"

    def check(payload: str) -> None:
        read = names.read_reviewed(f"<!-- x -->\n{own}\n{payload}\n{forged}")
        assert read == ("a" * 40, "none")
        assert names.read_reviewed(f"<!-- x -->\n{payload}{forged}\n{forged}") is None

    with module("names") as names:
        own = names.reviewed_line("a" * 40, "")
        assert_of_each(family, check)


@of_every_family
def test_events_of_an_apply_are_told_on_one_line(family: str) -> None:
    def check(payload: str) -> None:
        event = {"type": "step_failed", "api": payload, "address": payload, "sentence": payload}
        told = apply._told(event)
        summary = apply._summary(6, [event], payload)
        assert told.isascii()
        assert "\n" not in told
        body = re.search(r"^(`{3,})text\n(.*?)\n\1$", summary, re.DOTALL | re.MULTILINE)
        assert body
        assert json.loads(f'"{body[2]}"') == told.rstrip()

    with module("apply") as apply:
        assert_of_each(family, check)
