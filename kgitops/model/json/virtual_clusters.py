"""Parts of virtual clusters' requests as JSON, and back; exactly one shape for each."""

from kgitops.model.json.strict import (
    ShapeError,
    boolean,
    choice,
    members,
    text,
    text_or_none,
)
from kgitops.model.registry import Json
from kgitops.model.requests import AlterVirtualClusterRequest
from kgitops.model.resources.virtual_clusters import (
    CapLowering,
    ChangeType,
    EntityType,
    LocalName,
    LoweringOptions,
)

_ENTITY_KEYS = (
    "virtual_cluster",
    "change",
    "entity_type",
    "entity_name",
    "topic",
    "target",
    "replaces",
    "moved_from",
    "adopts",
)
_OPTIONS_KEYS = ("virtual_cluster", "options")


def local_to_json(local: LocalName | None) -> dict[str, Json]:
    """The key ``local`` for an object with a local name, no key for any other."""
    return {"local": _local_to_json(local)} if local else {}


def read_local(value: Json, path: str) -> LocalName | None:
    """The local name in ``value``."""
    if value is None:
        return None
    given = members(value, path, ("virtual_cluster", "name"))
    return LocalName(
        text(given["virtual_cluster"], f"{path}.virtual_cluster"),
        text(given["name"], f"{path}.name"),
    )


def options_to_json(options: LoweringOptions) -> dict[str, Json]:
    """``spec.lowering``."""
    return {"cap_lowering": options.cap_lowering.value, "deny_wins": options.deny_wins}


def read_options(value: Json, path: str) -> LoweringOptions:
    """The options in ``value``."""
    given = members(value, path, ("cap_lowering", "deny_wins"))
    return LoweringOptions(
        cap_lowering=choice(CapLowering, given["cap_lowering"], f"{path}.cap_lowering"),
        deny_wins=boolean(given["deny_wins"], f"{path}.deny_wins"),
    )


def alter_to_json(request: AlterVirtualClusterRequest) -> dict[str, Json]:
    """The request's body: either one entity, or the options."""
    if request.options is not None:
        options = options_to_json(request.options)
        return {"virtual_cluster": request.virtual_cluster, "options": options}
    return {
        "virtual_cluster": request.virtual_cluster,
        "change": request.change.value,
        "entity_type": None if request.entity_type is None else request.entity_type.value,
        "entity_name": request.entity_name,
        "topic": request.topic,
        "target": None if request.target is None else _local_to_json(request.target),
        "replaces": request.replaces,
        "moved_from": request.moved_from,
        "adopts": request.adopts,
    }


def alter_from_json(body: Json) -> AlterVirtualClusterRequest:
    """The request that ``alter_to_json`` wrote.

    Raises:
        ShapeError: it is of another shape.
    """
    if isinstance(body, dict) and "options" in body:
        given = members(body, "body", _OPTIONS_KEYS)
        return AlterVirtualClusterRequest(
            virtual_cluster=text(given["virtual_cluster"], "body.virtual_cluster"),
            options=read_options(given["options"], "body.options"),
        )
    given = members(body, "body", _ENTITY_KEYS)
    request = AlterVirtualClusterRequest(
        virtual_cluster=text(given["virtual_cluster"], "body.virtual_cluster"),
        change=choice(ChangeType, given["change"], "body.change"),
        entity_type=choice(EntityType, given["entity_type"], "body.entity_type"),
        entity_name=text(given["entity_name"], "body.entity_name"),
        topic=text_or_none(given["topic"], "body.topic"),
        target=read_local(given["target"], "body.target"),
        replaces=text_or_none(given["replaces"], "body.replaces"),
        moved_from=text_or_none(given["moved_from"], "body.moved_from"),
        adopts=text_or_none(given["adopts"], "body.adopts"),
    )
    link = request.entity_type is EntityType.TOPIC and request.change is ChangeType.ADD
    if link != ((request.topic is None) != (request.target is None)):
        raise ShapeError("body.topic or body.target must say where a link that is added leads to")
    return request


def _local_to_json(local: LocalName) -> dict[str, Json]:
    return {"virtual_cluster": local.virtual_cluster, "name": local.name}
