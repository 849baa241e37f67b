"""Checking that the requests of groups, client metrics and brokers do exactly what is declared."""

from collections.abc import Iterator, Mapping, Sequence

from kgitops.kinds.resets import offset_path, reset_topics
from kgitops.model import requests as req
from kgitops.model.cluster_state import ClusterState
from kgitops.model.json.declared import DesiredConfigs, DesiredGroup, OffsetReset, part_json
from kgitops.model.registry import Json
from kgitops.model.resources.config_resources import FoundConfigs, normal_resource_configs
from kgitops.model.resources.groups import CommittedOffsets, FoundGroup
from kgitops.plan.document.plan import Change

_NOT_REACHED = "has requests that do not result in its declaration"
_ELSE = "has a request for something else"
_OFFSETS = "offsets."


def config_resource_problems(
    declared: DesiredConfigs, change: Change, state: ClusterState, applied: Mapping[str, Json]
) -> Iterator[str]:
    """Yield the problems of requests about a resource that only has configs."""
    requests = [planned.request for planned in change.requests]
    if any(not isinstance(it, req.AlterConfigResourceRequest) for it in requests):
        yield _ELSE
    found = state.find(FoundConfigs, declared.address)
    held = found.configs if found else {}
    yield from _configs(declared, requests, held, applied)


def group_problems(
    declared: DesiredGroup, change: Change, state: ClusterState, applied: Mapping[str, Json]
) -> Iterator[str]:
    """Yield the problems of requests about a consumer group.

    What is committed must be what a reviewer sees in the change's fields.
    """
    requests = [planned.request for planned in change.requests]
    alterations = (req.AlterConfigResourceRequest, req.AlterConsumerGroupOffsetsRequest)
    if any(not isinstance(it, alterations) for it in requests):
        yield _ELSE
    found = state.find(FoundGroup, declared.address) or FoundGroup(name=declared.name)
    yield from _configs(declared, requests, found.configs, applied)
    resets = [it for it in requests if isinstance(it, req.AlterConsumerGroupOffsetsRequest)]
    asked = {
        (item.topic, partition): offset
        for request in resets
        for item in request.topics
        for partition, offset in item.offsets.items()
    }
    shown = {it.path: it.after for it in change.fields if it.path.startswith(_OFFSETS)}
    if shown != {offset_path(*key): str(offset) for key, offset in asked.items()}:
        yield "commits other offsets than it shows"
    if len(resets) > 1:
        yield _ELSE
    reset = declared.reset
    due = reset is not None and part_json(reset) != applied.get("resetOffsets")
    if resets and (reset is None or not due):
        yield "resets offsets without a new resetOffsets"
    if reset is not None and due:
        yield from _reset(reset, asked, found.offsets)


def _reset(reset: OffsetReset, asked: CommittedOffsets, held: CommittedOffsets) -> Iterator[str]:
    if not {topic for topic, _ in asked} <= reset_topics(reset):
        yield "resets offsets of topics that resetOffsets does not name"
    if reset.offsets:
        wanted = {
            (topic, partition): offset
            for topic, partitions in reset.offsets.items()
            for partition, offset in partitions.items()
        }
        if not asked.items() <= wanted.items():
            yield "commits other offsets than resetOffsets says"
        if any({**held, **asked}.get(key) != offset for key, offset in wanted.items()):
            yield _NOT_REACHED


def _configs(
    item: DesiredConfigs,
    requests: Sequence[req.Request],
    held: Mapping[str, str],
    applied: Mapping[str, Json],
) -> Iterator[str]:
    """Check that only keys are set that are or were declared, and that all are as declared."""
    declared = item.configs
    alterations = [it for it in requests if isinstance(it, req.AlterConfigResourceRequest)]
    if len(alterations) > 1:
        yield _ELSE
    after = dict(normal_resource_configs(item.resource, held))
    last = applied.get("configs", {})
    for key, value in (pair for it in alterations for pair in it.configs.items()):
        removed = value is None and key not in declared and key in last
        if not removed and (value is None or declared.get(key) != value):
            yield f"sets {key}, which is not declared so"
        if value is None:
            after.pop(key, None)
        else:
            after[key] = value
    if any(after.get(key) != declared.get(key) for key in {*declared, *last}):
        yield _NOT_REACHED
