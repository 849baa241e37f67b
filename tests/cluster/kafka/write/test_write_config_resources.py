"""Configs of brokers that hang: an apply's lock must not run out while it waits for them."""

from collections.abc import Sequence
from dataclasses import dataclass

import pytest

from kgitops.cluster.kafka.answers import SEND_MS
from kgitops.cluster.kafka.transport.wire import Message
from kgitops.cluster.kafka.write import config_resources as write_config_resources
from kgitops.cluster.kafka.write.config_resources import BrokerConfigs, alter_brokers
from kgitops.model.errors import UnreachableError
from kgitops.model.resources.topics import LEADER_RATE
from kgitops.model.results import ErrorCode


@dataclass
class HangingWire:
    """A fake, for its fault: no broker ever answers, and the clock goes on instead of waiting."""

    now: float = 0.0

    def monotonic(self) -> float:
        return self.now

    def reach(self, brokers: Sequence[int]) -> None:
        """Connections are accepted; requests hang."""

    def give_up(self, broker: int, *, silent: int) -> None:
        """So few are asked that none is given up."""

    def send(self, request: Message, *, to: int, timeout_ms: int, may_repeat: bool) -> Message:
        self.now += timeout_ms / 1000
        raise UnreachableError(f"broker {to} did not answer")


def test_brokers_that_hang_have_the_time_of_one_change_together(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    wire = HangingWire()
    monkeypatch.setattr(write_config_resources, "time", wire)
    asked: list[BrokerConfigs] = [(id_, {LEADER_RATE: "7"}) for id_ in range(5)]

    results = alter_brokers(wire, asked, validate_only=False)  # type: ignore[arg-type]

    assert [result.code for result in results] == [ErrorCode.NETWORK_EXCEPTION] * 5
    assert wire.now <= SEND_MS / 1000 + 4  # each is asked all the same, for a second at least
