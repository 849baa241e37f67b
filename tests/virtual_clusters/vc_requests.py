"""Short builders of requests about virtual clusters, and random requests."""

from hypothesis import strategies as st

from kgitops.model import requests as req
from kgitops.model.resources.virtual_clusters import (
    CapLowering,
    ChangeType,
    EntityType,
    LoweringOptions,
)

A, B = "emea.sales", "analytics"
VirtualClusterRequest = (
    req.CreateVirtualClusterRequest
    | req.AlterVirtualClusterRequest
    | req.DeleteVirtualClusterRequest
)


def create(name: str = A) -> req.CreateVirtualClusterRequest:
    """Create it."""
    return req.CreateVirtualClusterRequest(virtual_cluster=name)


def delete(name: str = A) -> req.DeleteVirtualClusterRequest:
    """Delete it."""
    return req.DeleteVirtualClusterRequest(virtual_cluster=name)


def add(entity_type: EntityType, name: str, to: str = A, **more: object):
    """Add an entity."""
    return req.AlterVirtualClusterRequest(
        virtual_cluster=to,
        entity_type=entity_type,
        entity_name=name,
        **more,  # type: ignore[arg-type]
    )


def remove(entity_type: EntityType, name: str, of: str = A) -> req.AlterVirtualClusterRequest:
    """Remove an entity."""
    return req.AlterVirtualClusterRequest(
        virtual_cluster=of, change=ChangeType.REMOVE, entity_type=entity_type, entity_name=name
    )


def link(name: str, topic: str, to: str = A, **more: object) -> req.AlterVirtualClusterRequest:
    """Link a physical topic."""
    return add(EntityType.TOPIC, name, to, topic=topic, **more)


CLUSTERS = ("a", "b", "a.b")
NAMES = ("x", "y")
TOPICS = ("t", "u")
_somewhere = st.sampled_from(CLUSTERS)
_adding = st.builds(
    add,
    st.sampled_from([item for item in EntityType if item is not EntityType.TOPIC]),
    st.sampled_from(NAMES),
    _somewhere,
    moved_from=st.sampled_from([None, None, *CLUSTERS]),
)
_adopting = st.builds(
    add,
    st.just(EntityType.GROUP),
    st.sampled_from(NAMES),
    _somewhere,
    adopts=st.sampled_from(NAMES),
    moved_from=st.sampled_from([None, None, *CLUSTERS]),
)
_options = st.builds(
    req.AlterVirtualClusterRequest,
    virtual_cluster=_somewhere,
    options=st.builds(LoweringOptions, cap_lowering=st.sampled_from(CapLowering)),
)
any_request = st.one_of(
    st.builds(create, _somewhere),
    st.builds(delete, _somewhere),
    _adding,
    _adding,
    _adopting,
    st.builds(
        link,
        st.sampled_from(NAMES),
        st.sampled_from(TOPICS),
        _somewhere,
        replaces=st.sampled_from([None, *TOPICS]),
    ),
    st.builds(remove, st.sampled_from(EntityType), st.sampled_from(NAMES), _somewhere),
    _options,
)
