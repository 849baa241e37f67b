"""The one normal form in which an object is declared, recorded and compared."""

import json
from collections.abc import Mapping

from kgitops.model.cluster_state import Broker
from kgitops.model.json.declared import part_json, target_json
from kgitops.model.registry import Json
from kgitops.model.requests import NEW_UUID
from kgitops.model.resources.topics import Assignment, TopicState
from kgitops.model.resources.virtual_clusters import (
    CapLowering,
    EntityType,
    LocalName,
    LoweringOptions,
    generated_topic_name,
)


def topic_view(state: TopicState) -> dict[str, Json]:
    """Show a topic's state for ``before`` and ``after``."""
    return {
        "name": state.name,
        "topic_id": state.topic_id,
        **shape_view(state.assignment),
        "configs": in_order(state.configs),
    }


def shape_view(assignment: Assignment) -> dict[str, Json]:
    """Show the shape of a topic for ``before`` and ``after``."""
    return {
        "partitions": len(assignment),
        "replicationFactor": len(assignment[0]) if assignment else 0,
        "assignments": _lists(assignment),
    }


def in_order(configs: Mapping[str, str]) -> dict[str, str]:
    """Sort the configs by their keys."""
    return {key: configs[key] for key in sorted(configs)}


def known_after_apply(name: str) -> str:
    """Show the physical name of a topic that is yet to be created in a virtual cluster (VC-057)."""
    return f"{generated_topic_name(NEW_UUID, name)} (known after apply)"


def virtual_cluster_view(name: str, options: LoweringOptions) -> dict[str, Json]:
    """Show a virtual cluster for ``before`` and ``after``, and for the registry."""
    return {"kind": "VirtualCluster", "name": name, "lowering": part_json(options)}


def option_texts(options: LoweringOptions) -> dict[str, str]:
    """Write the options of a virtual cluster as the texts of fields."""
    return {
        "options.capLowering": options.cap_lowering.value,
        "options.denyWins": str(options.deny_wins).lower(),
    }


def options_of(texts: Mapping[str, str]) -> LoweringOptions:
    """Read the texts of ``option_texts``."""
    return LoweringOptions(
        cap_lowering=CapLowering(texts["options.capLowering"]),
        deny_wins=texts["options.denyWins"] == "true",
    )


def link_view(local: LocalName, topic: str | None, target: LocalName | None) -> dict[str, Json]:
    """Show a link for ``before`` and ``after``, and for the registry."""
    return {
        "kind": "TopicLink",
        "virtualCluster": local.virtual_cluster,
        "name": local.name,
        "topic": topic,
        "target": None if target is None else target_json(target),
    }


def member_view(virtual_cluster: str, entity_type: EntityType, name: str) -> dict[str, Json]:
    """Show a member for ``before`` and ``after``; the registry records its other fields as well."""
    group = entity_type is EntityType.GROUP
    return {
        "kind": "ConsumerGroup" if group else "VirtualClusterBinding",
        "virtualCluster": virtual_cluster,
        "type": entity_type.value,
        "name": name,
    }


def broker_view(broker: Broker) -> dict[str, Json]:
    """Show a broker for ``before`` and ``after``: only its throttles are ever planned."""
    return {"id": broker.id, "throttles": dict(sorted((broker.throttles or {}).items()))}


def assignment_text(assignment: Assignment) -> str:
    """Write an assignment as the text of a field: ``[[1,2],[2,3]]``."""
    return json.dumps(_lists(assignment), separators=(",", ":"))


def _lists(assignment: Assignment) -> list[list[int]]:
    return [list(replicas) for replicas in assignment]
