"""The links of virtual clusters that are the names of topics, rather than TopicLinks."""

from collections.abc import Mapping

from kgitops.model.cluster_state import ClusterState
from kgitops.model.registry import Owner
from kgitops.model.resources.addresses import local_topic_address
from kgitops.model.resources.topics import TopicState
from kgitops.model.resources.virtual_clusters import LocalName, TopicLink, generated_parts
from kgitops.plan.context import PlanContext
from kgitops.plan.document.plan import Drift


def belongs_to_topic(context: PlanContext, local: LocalName, declared: frozenset[str]) -> bool:
    """Return whether a link is the name of a topic that is declared or managed there."""
    address = local_topic_address(local)
    owner = context.ownership.owner(address)
    return address in declared or (owner is not None and not owner.spent)


def describe_lost_topic(
    context: PlanContext,
    address: str,
    link: TopicLink,
    state: TopicState | None,
    applied: str | None = None,
) -> str | None:
    """Describe a lost or replaced topic behind a link, and report the drift (VC-047).

    None if it is the same topic.
    """
    expected_ids = {item for item in (link.topic_id, applied) if item is not None}
    current_id = state.topic_id if state else None
    if state is not None and expected_ids <= {current_id}:
        return None
    context.draft.drift.append(
        Drift(
            address=address,
            path="topic_id",
            last_applied=applied or link.topic_id,
            found=current_id,
            rule="missing" if state is None else "recreated",
        )
    )
    if state is None:
        return f"leads to the topic {link.topic}, which is gone from the cluster"
    return (
        f"led to another topic than {link.topic} is now (TOPIC_REPLACED): its id was "
        f"{applied or link.topic_id} and is {current_id}"
    )


def topics_made_inside(state: ClusterState, owners: Mapping[str, Owner]) -> dict[str, LocalName]:
    """Return the physical topics that were created in a virtual cluster, with their local names.

    A project's own record decides; else the link with the topic's own name, if it is the only one.
    """
    candidates: dict[str, list[LocalName]] = {}
    applied: dict[str, LocalName] = {}
    for name, virtual_cluster in state.virtual_clusters.items():
        for link in virtual_cluster.links.values():
            local = LocalName(name, link.name)
            owner = owners.get(local_topic_address(local))
            if owner is not None and not owner.spent:
                applied[link.topic] = local
            parts = generated_parts(link.topic)
            if parts is not None and parts[1] == link.name:
                candidates.setdefault(link.topic, []).append(local)
    only = {topic: locals_[0] for topic, locals_ in candidates.items() if len(locals_) == 1}
    return {**only, **applied}


def created_inside(current: ClusterState) -> Mapping[str, LocalName]:
    """Return the local names of the topics that were created in virtual clusters, by physical name.

    Other links may have the same name; the one that a project manages as a topic comes first.
    """
    owners = current.registry.owners if current.registry else {}
    created: dict[str, LocalName] = {}
    for scope, cluster in sorted(current.virtual_clusters.items()):
        for link in cluster.links.values():
            parts = generated_parts(link.topic)
            local = LocalName(scope, link.name)
            if parts is None or parts[1] != link.name:
                continue
            if link.topic not in created or local_topic_address(local) in owners:
                created[link.topic] = local
    return created
