"""Bodies of notifications: valid JSON whatever an event says."""

import json
import os
import re
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from patience import patience_s
from reconcile.notifications.receivers import event

from kgitops.model.errors import KgitopsError, UsageError
from kgitops.reconcile.events import EventKind
from kgitops.reconcile.notifications import rendering
from kgitops.reconcile.notifications.templates import SHIPPED, open_template

HERE = Path()
LIMIT_S = rendering.SECONDS


@pytest.fixture(autouse=True)
def _patient(monkeypatch):
    """A busy machine takes more than ten seconds to start Python."""
    monkeypatch.setattr(rendering, "SECONDS", patience_s())


def body(name: str, one) -> object:
    return json.loads(open_template(name, HERE).body(one))


@given(
    st.sampled_from(SHIPPED),
    st.sampled_from(EventKind),
    st.text(),
    st.none() | st.text(max_size=80),
    st.none() | st.text(max_size=80),
)
def test_whatever_an_event_says_is_json(name, kind, sentence, digest, revision):
    one = event(kind, sentence=sentence, plan_digest=digest, revision=revision)
    made = body(name, one)
    # Only what ends nothing is no news for Alertmanager.
    assert sentence[:2900] in set(_strings(made)) or made == []


def _strings(value: object):
    match value:
        case str():
            yield value
        case list():
            for item in value:
                yield from _strings(item)
        case dict():
            for item in value.values():
                yield from _strings(item)


def test_the_envelope_is_a_cloud_event():
    made = body("cloudevents", event())
    assert made["specversion"] == "1.0"
    assert made["type"] == "kgitops.reconcile.pending"
    assert made["source"] == "/kgitops/payments/prod"
    assert made["time"] == event().at
    assert made["subject"] == event().plan_digest
    assert made["data"]["levels"] == {"data-loss": 2}
    assert made["id"] == body("cloudevents", event())["id"]
    assert made["id"] != body("cloudevents", event(at="2026-11-24T10:00:01Z"))["id"]
    assert (
        body("cloudevents", event(cluster="a/b ä"))["source"] == "/kgitops/payments/a%2Fb%20%C3%A4"
    )


def test_slack_sees_no_commands_in_what_is_told():
    made = body("slack", event(project="<!channel>&"))
    assert made["text"].startswith("&lt;!channel&gt;&amp; on prod: a plan waits")
    assert {block["type"] for block in made["blocks"]} == {"header", "section", "context"}
    assert all(block["text"]["type"] == "plain_text" for block in made["blocks"][:2])


def test_teams_gets_a_card():
    card = body("teams", event())["attachments"][0]["content"]
    assert card["type"] == "AdaptiveCard"
    assert card["body"][0]["color"] == "Attention"
    assert body("teams", event(EventKind.SYNCED))["attachments"][0]["content"]["body"][0][
        "color"
    ] == "Good"  # fmt: skip


def test_alertmanager_gets_alerts_and_their_ends():
    (alarm,) = body("alertmanager", event(EventKind.FAILED))
    assert alarm["labels"] == {
        "alertname": "kgitops-failed",
        "project": "payments",
        "cluster": "prod",
    }
    assert (alarm["startsAt"], alarm["endsAt"]) == ("2026-11-24T10:00:00Z", "2026-12-01T10:00:00Z")
    (ended,) = body("alertmanager", event(EventKind.RECOVERED))
    assert (ended["labels"], ended["endsAt"]) == (alarm["labels"], "2026-11-24T10:00:00Z")
    synced = body("alertmanager", event(EventKind.SYNCED))
    assert [alert["labels"]["alertname"] for alert in synced] == [
        "kgitops-pending", "kgitops-drifted", "kgitops-fight",
    ]  # fmt: skip


def test_a_template_of_ones_own(tmp_path):
    (tmp_path / "own.json.j2").write_text('{"said": {{ sentence }}, "counts": {{ actions }}}')
    made = json.loads(open_template("own.json.j2", tmp_path).body(event()))
    assert made == {"said": event().sentence, "counts": {"delete": 2}}


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('{"a": "{{ sentence }}"}', "makes no JSON of a pending event: "),
        ('{"a": {{ nothing }}}', "'nothing' is undefined"),
        ("{{ ''.__class__.__mro__ }}", "access to attribute '__class__'"),
        ("{{ actions.clear() }}", "attribute 'clear' of 'dict' object is unsafe"),
        ("{{ range(10 ** 9) | list }}", "Range too big"),
        (
            '["{% for n in range(90000) %}12345{% endfor %}"]',
            "it makes 450,004 bytes; make it smaller",
        ),
        ("{{ 1 / 0 }}", "makes no JSON of a pending event"),
    ],
)
def test_a_template_that_makes_no_json_is_told(tmp_path, text, problem):
    (tmp_path / "own").write_text(text)
    with pytest.raises(KgitopsError, match=re.escape(problem)):
        open_template("own", tmp_path).body(event())


TOO_LARGE = {
    "multiplied": "{{ 'a' * 4000000000 }}",
    "padded, which compiling already does": "{{ 'a' | center(4000000000) }}",
    "formatted": "{{ '%4000000000d' | format(1) }}",
    "doubled": (
        "{% set kept = namespace(text='ab') %}"
        "{% for n in range(99) %}{% set kept.text = kept.text ~ kept.text %}{% endfor %}"
        "{{ kept.text }}"
    ),
    "written again and again": (
        "{% for n in range(99999) %}{% for m in range(99999) %}{{ sentence }}{% endfor %}"
        "{% endfor %}"
    ),
}


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux limits memory")
@pytest.mark.parametrize("name", TOO_LARGE)
def test_a_template_that_takes_too_much_memory_is_ended(tmp_path, name):
    (tmp_path / "own").write_text(TOO_LARGE[name])
    with pytest.raises(KgitopsError, match="own makes no body of a pending event: it takes more"):
        open_template("own", tmp_path).body(event(sentence="a" * 2000))


def test_a_template_without_end_is_ended(tmp_path, monkeypatch):
    (tmp_path / "own").write_text(
        "{% for n in range(99999) %}{% for m in range(99999) %}{% endfor %}{% endfor %}"
    )
    assert LIMIT_S == 10
    monkeypatch.setattr(rendering, "SECONDS", 2)
    with pytest.raises(KgitopsError, match="it takes more than 2 seconds"):
        open_template("own", tmp_path).body(event())


def test_a_template_that_breaks_its_limits_three_times_is_not_run_any_more(tmp_path):
    (tmp_path / "own").write_text("[{% if kind == 'pending' %}{{ 'a' * 400000 }}{% endif %}]")
    template = open_template("own", tmp_path)

    def breaks(problem):
        with pytest.raises(KgitopsError, match=problem):
            template.body(event())

    breaks("400,004 bytes")
    breaks("400,004 bytes")
    assert template.body(event(EventKind.FAILED)) == b"[]"  # the count begins again
    for _ in range(3):
        breaks("400,004 bytes")
    breaks("the template own broke its limits 3 times and is not run any more; correct it")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("{{ sentence", "can't be used: unexpected end of template"),
        ("{{ " + "(" * 20_000, "can't be used: it is nested too deeply"),
        ("{{ " + "9" * 20_000 + " }}", "can't be used: "),
        ("{{ sentence | slak }}", "can't be used: No filter named 'slak'"),
        ("{% if alarm is falsy %}1{% endif %}", "can't be used: No test named 'falsy'"),
        ("a" * 40_000, "is longer than 32 KiB"),
    ],
)
def test_a_template_that_is_none_is_told_at_the_start(tmp_path, text, problem):
    (tmp_path / "own").write_text(text)
    with pytest.raises(UsageError, match=f"the template own of a notification {problem}"):
        open_template("own", tmp_path)


def test_a_file_that_is_none_is_told_at_the_start(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(UsageError, match="the template pipe of a notification can't be read"):
        open_template("pipe", tmp_path)
    with pytest.raises(UsageError, match="the template /dev/zero of a notification can't be read"):
        open_template("/dev/zero", tmp_path)
    with pytest.raises(UsageError, match="write one of cloudevents, slack, teams, alertmanager"):
        open_template("slak", tmp_path)
