"""Committed offsets that are copied, and groups that are deleted, as far as they can go wrong."""

from collections.abc import Callable, Sequence

from cluster.kafka.difference_world import Ask, Case, World

from kgitops.model.requests import CopyGroupOffsetsRequest, DeleteGroupRequest

VIRTUAL_CLUSTER = "emea"


def _copy(name: str) -> CopyGroupOffsetsRequest:
    return CopyGroupOffsetsRequest(virtual_cluster=VIRTUAL_CLUSTER, group=name, source=name)


def _delete(name: str) -> DeleteGroupRequest:
    return DeleteGroupRequest(virtual_cluster=VIRTUAL_CLUSTER, group=name)


def _with_offsets(*groups: str, ask: Callable[[str], Ask]) -> Callable[[World, str], Sequence[Ask]]:
    """``groups`` have committed something; ``{}`` stands for the name of the case."""

    def prepare(world: World, name: str) -> Sequence[Ask]:
        topic = world.topic(name)
        for group in groups:
            world.clusters.commit(group.format(name), {(topic.name, 0): 0})
        return [ask(name)]

    return prepare


_SOURCE, _TARGET = "{}", VIRTUAL_CLUSTER + ":{}"
GROUPS: Sequence[Case] = (
    Case("CopyGroupOffsets", "as asked", _with_offsets(_SOURCE, ask=_copy)),
    Case("CopyGroupOffsets", "the group has offsets", _with_offsets(_SOURCE, _TARGET, ask=_copy)),
    Case("CopyGroupOffsets", "the source has none", _with_offsets(ask=_copy)),
    Case(
        "CopyGroupOffsets",
        "the source has no name",
        lambda _, name: [
            CopyGroupOffsetsRequest(virtual_cluster=VIRTUAL_CLUSTER, group=name, source="")
        ],
    ),
    Case("DeleteGroup", "as asked", _with_offsets(_TARGET, ask=_delete)),
    Case("DeleteGroup", "it is not there", lambda _, name: [_delete(name)]),
    Case("DeleteGroup", "a global one of that name", _with_offsets(_SOURCE, ask=_delete)),
)
