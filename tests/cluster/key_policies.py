"""Policies that brokers' configs name in tests; what happens to them is kept in ``LIVES``."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from kgitops.policy import BaseTopicPolicy, BrokerManagementPolicy, PolicyViolation
from kgitops.policy.legacy import AlterConfigPolicy, CreateTopicPolicy


@dataclass
class Life:
    """One policy object, and what was done with it in order."""

    class_: str
    done: list[str] = field(default_factory=list)
    configs: dict[str, str] = field(default_factory=dict)
    asked: list[object] = field(default_factory=list)


LIVES: list[Life] = []


class Lived:
    def __init__(self) -> None:
        self.life = Life(type(self).__name__, ["made"])
        LIVES.append(self.life)

    def configure(self, configs: Mapping[str, str]) -> None:
        self.life.done.append("configured")
        self.life.configs = dict(configs)

    def close(self) -> None:
        self.life.done.append("closed")
        raise OSError("it would not close")

    def asked(self, request: object) -> None:
        self.life.done.append("asked")
        self.life.asked.append(request)


class TopicRules(Lived, BaseTopicPolicy):
    def validate_create_topic(self, request, cluster_state):
        self.asked(request)
        raise PolicyViolation("TopicRules")

    def validate_alter_topic(self, request, cluster_state):
        self.asked(request)


class BrokerRules(Lived, BrokerManagementPolicy):
    def validate_alter_broker(self, request, cluster_state):
        self.asked(request)


class CreateOnly(Lived, CreateTopicPolicy):
    def validate(self, request):
        self.asked(request)


class AlterOnly(Lived, AlterConfigPolicy):
    def validate(self, request):
        self.asked(request)
        if request.configs.get("retention.ms") == "7":
            raise PolicyViolation("AlterOnly")


class Both(Lived, CreateTopicPolicy, AlterConfigPolicy):
    def validate(self, request):
        self.asked(request)


class NeedsArguments(BaseTopicPolicy):
    def __init__(self, needed: str) -> None:
        raise AssertionError(needed)
