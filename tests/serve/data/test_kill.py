"""A served cluster that is killed in the middle of its work."""

import re
import signal
import subprocess
import sys
from pathlib import Path

from serve.data.batches import batch, fetch, produce
from serve.data.test_records import recent
from serve.raw_client import raw_client

from kgitops.cluster.embedded.boot import boot
from kgitops.serve.background import serving
from kgitops.serve.nodes import Endpoint
from kgitops.wire.batches import read_header

SERVER = """
import sys, time
from pathlib import Path
from kgitops.cluster.embedded.boot import boot
from kgitops.cluster.embedded.client.admin import EmbeddedAdmin
from kgitops.cluster.embedded.controls.topics import NewTopic
from kgitops.serve.background import serving
cluster = boot(Path(sys.argv[1]), brokers=1)
topic = NewTopic(name="orders", num_partitions=1, replication_factor=1)
EmbeddedAdmin(cluster.controller).create_topics([topic])
with serving(cluster) as server:
    print(server.endpoints[0], flush=True)
    time.sleep(60)
"""


def test_what_was_acknowledged_is_kept(tmp_path: Path) -> None:
    """kill -9 while batches come in: those that were answered are there, and each is whole."""
    path = tmp_path / "local.db"
    process = subprocess.Popen(
        [sys.executable, "-c", SERVER, str(path)], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout
    found = re.fullmatch(r"(\S+):(\d+)\n", process.stdout.readline())
    assert found
    answered = 0
    with raw_client(Endpoint(found[1], int(found[2]))) as client:
        for _ in range(50):
            row = produce(client, batch(b"a", b"b", first_ms=recent()))
            assert not row.error_code
            answered = row.base_offset + 2
        client.send("Produce", 9, _unanswered())
        process.send_signal(signal.SIGKILL)
    process.wait()
    process.stdout.close()
    cluster = boot(path)
    with serving(cluster) as server, raw_client(server.endpoints[0]) as client:
        row = fetch(client)
        assert row.high_watermark in (answered, answered + 2)
        data, at, offset = row.records, 0, 0
        while at < len(data):
            header = read_header(data, at)
            assert header.base_offset == offset
            at, offset = at + header.size, header.last_offset + 1
        assert (at, offset) == (len(data), row.high_watermark)
    cluster.close()


def _unanswered():
    from kgitops.wire import messages

    request = messages.ProduceRequest
    partition = request.PartitionProduceData(index=0, records=batch(b"a", b"b", first_ms=recent()))
    return request(
        acks=-1,
        timeout_ms=1000,
        topic_data=[request.TopicProduceData(name="orders", partition_data=[partition])],
    )
