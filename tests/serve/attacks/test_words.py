"""Clients' words in logs: they begin no line of their own, and give terminals no orders."""

import json
import logging

import pytest
from serve.plain_requests import request_of
from serve.raw_client import RawClient
from serve.served import served

from kgitops.serve.listening.open_connections import ClosingLog
from kgitops.serve.printable import printable, printable_json
from kgitops.wire import messages

EVIL = "a\nINFO kgitops.serve: all is well\r\x1b[2J\x9b2J\u202eb\u2028c"


def test_no_sign_is_lost_in_json() -> None:
    for text in (EVIL, "\U000e0001", "\x7f", "ä"):
        escaped = printable_json(json.dumps(text, ensure_ascii=False))
        assert escaped.isprintable()
        assert json.loads(escaped) == text
    assert printable("ä\n" + "x" * 1000) == "ä?" + "x" * 298 + "…"


@pytest.mark.parametrize("name", ["a\nb", "\x1b[2J", "-a", "a-", "", "ä", "a" * 1000])
def test_a_library_with_an_impossible_name(client: RawClient, name: str) -> None:
    """KIP-511: INVALID_REQUEST, for the version of the library as well."""
    for software in ((name, "1"), ("a", name)):
        asked = messages.ApiVersionsRequest(
            client_software_name=software[0], client_software_version=software[1]
        )
        answer = client.ask("ApiVersions", 4, asked)
        assert (answer.error_code, answer.api_keys) == (42, [])


def test_the_audit_log_has_lines_of_its_own_alone(caplog: pytest.LogCaptureFixture) -> None:
    """F590-31: one line a request, whatever its names are."""
    with (
        served() as brokers,
        brokers.client(principal=f"User:{EVIL}") as client,
        caplog.at_level(logging.INFO),
    ):
        client.client_id = EVIL
        asked = request_of("CreateTopics", {"topics": {"name": EVIL}, "timeout_ms": 1000})
        assert client.ask("CreateTopics", 7, asked).topics[0].error_code == 17
    (line,) = [record.getMessage() for record in caplog.records]
    assert line.isprintable()
    told = json.loads(line)
    assert told["principal"] == f"User:{EVIL}"
    assert told["client_id"] == EVIL
    assert told["results"] == [[EVIL, 17]]


def test_a_refused_envelope_names_its_sender_in_one_line(caplog: pytest.LogCaptureFixture) -> None:
    with (
        served(rights=()) as brokers,
        brokers.client(3000, principal=f"User:{EVIL}") as client,
        caplog.at_level(logging.INFO),
    ):
        asked = request_of("Envelope", {"request_data": b"", "client_host_address": bytes(4)})
        assert client.ask("Envelope", 0, asked).error_code == 31
    (line,) = [record.getMessage() for record in caplog.records]
    assert line.isprintable()


def test_the_reason_for_the_end_of_a_connection(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO):
        ClosingLog().tell("127.0.0.1", f"it logs in by {EVIL}" + "y" * 1000)
    (line,) = [record.getMessage() for record in caplog.records]
    assert line.isprintable()
    assert len(line) < 400
