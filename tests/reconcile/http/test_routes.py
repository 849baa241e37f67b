"""The paths over a real socket: what they answer, and to whom."""

import json
from pathlib import Path

import pytest
from builders import a_cluster, a_desired, a_topic, plan_of
from jsonschema import Draft202012Validator
from msgspec.structs import replace
from prometheus_client.parser import text_string_to_metric_families
from reconcile.http.serving import LOCAL, serving, waiting_plan
from reconcile.loop_states import PENDING, REVISION, SUSPENSION, failed, loop, turn, unit
from report.plans import no_changes, twelve_changes
from serve.http.listening import ask

from kgitops.model.errors import UsageError
from kgitops.reconcile.http.options import listen_options
from kgitops.reconcile.http.status_document import status_schema
from kgitops.reconcile.loop_status import LoopStatus

EVERYTHING = loop(
    unit(
        turns=(turn(3, pending=PENDING, drifting={"Topic": 1}), failed(), turn()),
        pending=PENDING,
        suspended=True,
        suspension=SUSPENSION,
    ),
    unit(cluster="staging", turns=(), revision=None, last_success=None),
)


def get(port: int, path: str, *headers: str) -> tuple[int, dict[str, str], str]:
    lines = [f"GET {path} HTTP/1.1", *(headers or (f"Host: 127.0.0.1:{port}",)), "", ""]
    status, found, body = ask(port, "\r\n".join(lines).encode())
    return status, found, body.decode()


@pytest.mark.parametrize(
    ("heartbeat", "interval", "healthy"),
    [(1000.0, 300.0, True), (105.0, 300.0, True), (104.5, 300.0, False), (1000, 1.0, True)],
)
def test_healthy_while_the_heartbeat_is_young(
    heartbeat: float, interval: float, healthy: bool
) -> None:
    """Three intervals, and ten seconds at least."""
    with serving(loop(unit(), heartbeat=heartbeat, interval=interval)) as state:
        status, _, body = get(state.port, "/healthz")
    assert (status, body == "ok\n") == ((200, True) if healthy else (503, False))
    assert healthy or "was last seen to run 900 s ago" in body


@pytest.mark.parametrize(
    ("status", "problem"),
    [
        (loop(unit()), None),
        (loop(unit(turns=(failed(),), last_success=None)), None),
        (loop(unit(source_failures=2)), None),
        (loop(unit(source_failures=3)), "3 times in a row no newer revision of payments for prod"),
        (loop(unit(), unit(cluster="dr", turns=())), "first turn of payments on dr is not done"),
        (loop(), "there is nothing to reconcile"),
        (loop(*[unit(cluster=f"c{n}", turns=()) for n in range(9)]), "nor are 4 more"),
    ],
)
def test_ready_once_every_unit_had_a_turn(status: LoopStatus, problem: str | None) -> None:
    with serving(status) as state:
        code, _, body = get(state.port, "/readyz")
    assert code == (200 if problem is None else 503)
    assert (problem or "ok") in body


def test_metrics_are_what_prometheus_reads() -> None:
    with serving(EVERYTHING) as state:
        state.metrics.observe(turn())
        status, headers, body = get(state.port, "/metrics")
        host = f"Host: localhost:{state.port}"
        accept = "Accept: application/openmetrics-text; version=1.0.0"
        _, openmetrics, _ = get(state.port, "/metrics", host, accept)
    assert status == 200
    assert headers["content-type"].startswith("text/plain")
    assert openmetrics["content-type"].startswith("application/openmetrics-text")
    values = {
        (sample.name, sample.labels.get("outcome"), sample.labels.get("cluster")): sample.value
        for family in text_string_to_metric_families(body)
        for sample in family.samples
    }
    assert values["kgitops_reconcile_total", "in-sync", "prod"] == 1
    assert values["kgitops_suspended", None, "prod"] == 1
    assert values["kgitops_suspended", None, "staging"] == 0


def test_status_is_as_its_schema_says() -> None:
    with serving(EVERYTHING) as state:
        status, headers, body = get(state.port, "/status")
    found = json.loads(body)
    assert (status, headers["content-type"]) == (200, "application/json")
    Draft202012Validator(status_schema()).validate(found)
    assert found["kind"] == "kgitops.reconcile-status"
    assert (found["healthy"], found["ready"]) == (True, False)
    assert found["problems"] == ["the first turn of payments on staging is not done"]
    prod, staging = found["units"]
    assert [one["number"] for one in prod["turns"]] == [3, 2, 1]
    assert prod["turns"][1]["reasons"][0]["exit"] == 8
    assert prod["pending"]["digest"] == PENDING.digest
    assert prod["suspension"]["by"] == "User:alice"
    assert prod["revision"]["name"] == REVISION.name
    assert staging["revision"] is None
    assert "checkout" not in body  # where this machine keeps manifests is nobody's business


@pytest.mark.parametrize("path", ["/", "/status", "/metrics", "/healthz", "/readyz", "/x"])
def test_no_answer_can_be_misused_by_a_page(path: str) -> None:
    with serving(EVERYTHING) as state:
        _, headers, _ = get(state.port, path)
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["x-frame-options"] == "deny"
    assert headers["cache-control"] == "no-store"
    assert headers["referrer-policy"] == "no-referrer"
    policy = headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "frame-ancestors 'none'" in policy
    assert "unsafe" not in policy
    assert "script-src" not in policy


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"])
@pytest.mark.parametrize("path", ["/", "/status", "/healthz"])
def test_nothing_but_reading(method: str, path: str) -> None:
    with serving(EVERYTHING) as state:
        data = f"{method} {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()
        status, headers, _ = ask(state.port, data)
        assert (status, headers["allow"]) == (405, "get, head")
        assert state.hints == []


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("127.0.0.1:{port}", 200),
        ("localhost", 200),
        ("LOCALHOST:{port}", 200),
        ("[::1]:{port}", 200),
        ("rebound.example.com:{port}", 421),
        ("127.0.0.1.example.com", 421),
        ("localhost:80@example.com", 421),
        ("[::1", 421),
        ("", 421),
    ],
)
def test_another_name_of_this_machine_is_refused(host: str, status: int) -> None:
    """A page from elsewhere could else read the answers, once its name leads to 127.0.0.1."""
    with serving(EVERYTHING) as state:
        assert get(state.port, "/status", f"Host: {host.format(port=state.port)}")[0] == status
    with serving(EVERYTHING, replace(LOCAL, allow_anonymous=True)) as state:
        assert get(state.port, "/status", f"Host: {host.format(port=state.port)}")[0] == 200


def test_a_plan_that_waits_is_shown(tmp_path: Path) -> None:
    made, pending = waiting_plan(plan_of(a_desired(a_topic()), a_cluster()), tmp_path)
    with serving(loop(unit(pending=pending))) as state:
        link = f"/plans/{made.plan_digest.removeprefix('sha256:')}"
        assert f'href="{link[1:]}"' in get(state.port, "/")[2]
        status, headers, body = get(state.port, link)
        assert (status, headers["content-type"]) == (200, "text/html; charset=utf-8")
        assert "frame-ancestors 'none'" in headers["content-security-policy"]
        assert made.plan_digest in body
        assert get(state.port, link)[2] == body
        # Once it no longer waits, it is not shown, however often it was before.
        state.value = loop(unit())
        assert get(state.port, link)[0] == 404


@pytest.mark.parametrize(
    "path",
    [
        "/plans/",
        "/plans/plan.json",
        "/plans/../../../../etc/passwd",
        "/plans/%2e%2e%2f%2e%2e%2fetc%2fpasswd",
        "/plans/..%5c..%5cetc",
        "//etc/passwd",
        "/plans/" + "0" * 64,
        "/plans/" + "A" * 64,
        "/plans/" + "ab" * 32 + "/../x",
        "/plans/" + "ab" * 32 + "%00",
        "/static/../status.css",
        "http://127.0.0.1/status",
        "*",
    ],
)
def test_no_path_leads_to_a_file(path: str, tmp_path: Path) -> None:
    _, pending = waiting_plan(twelve_changes(), tmp_path)
    with serving(loop(unit(pending=pending))) as state:
        status, _, body = get(state.port, path)
    assert status == 404
    assert "root:" not in body
    assert "etc" not in body


def test_a_plan_whose_file_is_not_that_plan(tmp_path: Path) -> None:
    """Whoever may write the folder can't have another plan shown as this one."""
    made, pending = waiting_plan(plan_of(a_desired(a_topic()), a_cluster()), tmp_path)
    file = tmp_path / "plan.json"
    written = file.read_text(encoding="utf-8")
    link = f"/plans/{made.plan_digest.removeprefix('sha256:')}"
    with serving(loop(unit(pending=pending))) as state:
        waiting_plan(no_changes(), tmp_path)
        assert get(state.port, link)[0] == 409
        file.write_text(written.replace("orders", "others"), encoding="utf-8")
        assert get(state.port, link)[0] == 409
        file.write_bytes(b"\xff\xfe")
        assert get(state.port, link)[0] == 404
        file.unlink()
        assert get(state.port, link)[0] == 404
        file.mkdir()
        assert get(state.port, link)[0] == 404
        file.rmdir()
        file.write_text(written, encoding="utf-8")
        assert get(state.port, link)[0] == 200
        state.value = loop(unit(pending=replace(pending, path=None)))
        status, _, body = get(state.port, link)
        assert (status, "--plans DIR" in body) == (404, True)


def test_only_this_machine_unless_it_is_said_otherwise() -> None:
    assert listen_options("127.0.0.1:0", allow_anonymous=False, environ={}).host == "127.0.0.1"
    assert listen_options("[::1]:80", allow_anonymous=False, environ={}).host == "::1"
    for address in ("0.0.0.0:80", "[::]:80", "example.com:80", "10.0.0.1:80"):
        with pytest.raises(UsageError, match=r"listen on 127\.0\.0\.1, or give --allow-anonymous"):
            listen_options(address, allow_anonymous=False, environ={})
        assert listen_options(address, allow_anonymous=True, environ={}).port == 80
    with pytest.raises(UsageError, match="is not an address"):
        listen_options("80", allow_anonymous=True, environ={})


@pytest.mark.parametrize("text", ["", " ", "short", "fifteen letters "])
def test_a_token_that_could_be_guessed_is_refused(text: str) -> None:
    environ = {"KGITOPS_RECONCILE_TOKEN": text}
    with pytest.raises(UsageError, match="fewer than 16 characters") as refused:
        listen_options("127.0.0.1:0", allow_anonymous=False, environ=environ)
    assert not text.strip() or text.strip() not in str(refused.value)
