"""``/metrics``, ``/healthz`` and ``/readyz``: the state of all processes, and no names."""

import asyncio
import http.client

from prometheus_client.parser import text_string_to_metric_families

from kgitops.gateway.connections.counts import BUCKETS, ConnectionCounts
from kgitops.gateway.watching.catalogue import METRICS
from kgitops.gateway.watching.exposition import exposition
from kgitops.gateway.watching.listener import StatusListener
from kgitops.gateway.watching.status import GatewayStatus, ProcessStatus
from kgitops.serve.http.metric import MetricType


def counts(requests: int, refused: int) -> ConnectionCounts:
    made = ConnectionCounts(open=1, accepted=2)
    for number in range(requests):
        made.request(0 if number % 2 else 1, 100)
        made.took(60e-6)
    for _ in range(refused):
        made.refused("login")
    return made


def samples(status: GatewayStatus) -> dict[str, float]:
    text, content_type = exposition(status)
    assert content_type.startswith("text/plain")
    return {
        sample.name + "".join(f"{{{value}}}" for value in sample.labels.values()): sample.value
        for family in text_string_to_metric_families(text.decode())
        for sample in family.samples
    }


def get(url: str, path: str) -> tuple[int, str]:
    connection = http.client.HTTPConnection(url.removeprefix("http://"), timeout=10)
    connection.request("GET", path)
    answer = connection.getresponse()
    text = answer.read().decode()
    connection.close()
    return answer.status, text


def test_the_counts_of_all_processes_are_added_and_none_falls_when_one_is_gone() -> None:
    both = GatewayStatus(
        processes=(
            ProcessStatus(counts=counts(3, 1), age_s=2, table_version=4, table_offset=9),
            ProcessStatus(counts=counts(5, 0), age_s=1, table_version=5, table_offset=10),
        ),
        wanted=2,
    )
    found = samples(both)
    assert found["kgitops_gateway_connections"] == 2
    assert found["kgitops_gateway_requests_total{Fetch}"] == 5
    assert found["kgitops_gateway_requests_total{Produce}"] == 3
    assert found["kgitops_gateway_refusals_total{login}"] == 1
    assert found["kgitops_gateway_received_bytes_total"] == 800
    assert found["kgitops_gateway_added_latency_seconds_count"] == 8
    assert found["kgitops_gateway_added_latency_seconds_bucket{5e-05}"] == 0
    assert found["kgitops_gateway_added_latency_seconds_bucket{0.0001}"] == 8
    assert found["kgitops_gateway_table_age_seconds"] == 2
    assert found["kgitops_gateway_table_offset"] == 9
    gone = counts(5, 0)
    gone.open = 0
    left = GatewayStatus(processes=both.processes[:1], wanted=2, restarts=1, ended=gone)
    after = samples(left)
    assert after["kgitops_gateway_requests_total{Fetch}"] == 5
    assert after["kgitops_gateway_connections"] == 1
    assert after["kgitops_gateway_workers"] == 1
    assert after["kgitops_gateway_worker_restarts_total"] == 1


def test_each_metric_of_the_catalogue_is_exported_and_no_other() -> None:
    status = GatewayStatus(processes=(ProcessStatus(counts=counts(2, 1)),))
    text, _ = exposition(status)
    families = {
        family.name: family.type
        for family in text_string_to_metric_families(text.decode())
        if family.name.startswith("kgitops_")
    }
    expected = {
        metric.name.removesuffix("_total") if metric.type is MetricType.COUNTER else metric.name: (
            str(metric.type)
        )
        for metric in METRICS
    }
    assert families == expected


def test_the_last_bucket_takes_what_is_slower_than_all() -> None:
    made = ConnectionCounts()
    made.took(BUCKETS[-1] * 2)
    assert made.buckets[-1] == 1


async def test_health_and_readiness() -> None:
    status = GatewayStatus(processes=(ProcessStatus(),))
    listener = StatusListener(lambda: status, "127.0.0.1", 0)
    await listener.start()

    async def ask(path: str) -> tuple[int, str]:
        return await asyncio.to_thread(get, listener.url, path)

    assert await ask("/healthz") == (200, "ok\n")
    assert await ask("/readyz") == (200, "ok\n")
    status = GatewayStatus(processes=(ProcessStatus(too_old="too old"),), wanted=2)
    assert await ask("/healthz") == (200, "ok\n")
    assert await ask("/readyz") == (503, "1 of 2 workers are not there\ntoo old\n")
    code, text = await ask("/metrics")
    assert (code, "kgitops_gateway_workers 1.0" in text) == (200, True)
    assert (await ask("/other"))[0] == 404
    await listener.stop()
