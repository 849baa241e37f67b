"""Requests as they go over the wire, recorded by a wire that sends nothing."""

import ast
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

import pytest
from cluster_contract.contract import creation

import kgitops
from kgitops.cluster.kafka.transport.wire import Wire
from kgitops.cluster.kafka.write.topics import create_topics, delete_topics
from kgitops.model.requests import DeleteTopicRequest

TOPIC_ID = "5L6g3nShTeMCtKA8X86swQ"


class _SeenError(Exception):
    """The request that would have gone out."""


class _SendsNothing:
    """A fake: it stops at the first request that changes something."""

    def send(self, request: object, **_: object) -> NoReturn:
        raise _SeenError(request)


@pytest.mark.parametrize(
    "write",
    [
        lambda wire: create_topics(wire, [creation()], validate_only=False),
        lambda wire: create_topics(wire, [creation()], validate_only=True),
        lambda wire: delete_topics(wire, [DeleteTopicRequest(topic="orders", topic_id=TOPIC_ID)]),
    ],
    ids=["create", "dry run", "delete"],
)
def test_brokers_are_given_time(write: Callable[[Wire], object]) -> None:
    """K-03, A4-43, C-08: KRaft drops what has none, so that nothing would be done."""
    with pytest.raises(_SeenError) as seen:
        write(_SendsNothing())  # type: ignore[arg-type]
    assert seen.value.args[0].timeout_ms > 0


def test_configs_are_never_replaced_as_a_whole() -> None:
    """K-05, A4-78: AlterConfigs forgets what is not listed, so that nothing imports it."""
    found = {
        (path.name, name.name)
        for path in Path(str(kgitops.__file__)).parent.glob("**/*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("kafka")
        for name in node.names
        if name.name.endswith("AlterConfigsRequest")
    }
    assert {name for _, name in found} == {"IncrementalAlterConfigsRequest"}
