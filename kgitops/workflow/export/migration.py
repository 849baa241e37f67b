"""From prefixes to virtual clusters: the manifests of the first step (VC-347, VC-348)."""

from collections.abc import Mapping, Sequence

from kgitops.kinds.exports import Document, Inline, as_document
from kgitops.model.cluster_state import ClusterState
from kgitops.model.errors import FindingsError, UsageError
from kgitops.model.resources.names import is_internal, topic_name_problem
from kgitops.model.resources.virtual_clusters import virtual_cluster_name_problem
from kgitops.model.source import Finding

_SEPARATORS = ".-_"


def migration_files(
    state: ClusterState,
    prefixes: Sequence[str],
    *,
    virtual_cluster: str | None = None,
    groups: Sequence[str] = (),
) -> Mapping[str, Sequence[Document]]:
    """A virtual cluster and, for each topic of the prefixes, a link by its full and short name.

    Clients continue with the full name, and change to the short one when they like. ``groups`` are
    global groups that it takes over. No user is assigned yet: that is the next step.

    Raises:
        UsageError: the virtual cluster's name is missing or invalid, or no topic has a prefix.
        FindingsError: two topics would have one short name.
    """
    name = virtual_cluster or _name_of(prefixes)
    problem = virtual_cluster_name_problem(name)
    if problem:
        raise UsageError(f"{problem}; give another name with --virtual-cluster")
    topics = {
        topic: _short(topic, prefixes)
        for topic in sorted(state.topics)
        if topic.startswith(tuple(prefixes)) and not is_internal(topic)
    }
    if not topics:
        raise UsageError(
            f"no topic begins with {' or '.join(prefixes)}; kgitops export shows the topics"
        )
    _check(topics, name)
    links = [
        _link(name, link, topic)
        for topic, short in topics.items()
        for link in dict.fromkeys((topic, short))
    ]
    adopted = [_group(name, group) for group in sorted(set(groups))]
    return {
        # Until the migration is done it may be removed again once it is empty (VC-349).
        "virtual-cluster.yaml": [as_document("VirtualCluster", name, {"deletionPolicy": "Delete"})],
        "links.yaml": links,
        **({"groups.yaml": adopted} if adopted else {}),
    }


def _name_of(prefixes: Sequence[str]) -> str:
    if len(prefixes) != 1:
        raise UsageError("several prefixes need --virtual-cluster; say what theirs is called")
    return prefixes[0].rstrip(_SEPARATORS)


def _short(topic: str, prefixes: Sequence[str]) -> str:
    return topic[max(len(prefix) for prefix in prefixes if topic.startswith(prefix)) :]


def _check(topics: Mapping[str, str], name: str) -> None:
    """Short names are unique in a virtual cluster, and are names.

    Raises:
        FindingsError: not all are.
    """
    findings = []
    taken: dict[str, str] = {topic: topic for topic in topics}
    for topic, short in topics.items():
        problem = topic_name_problem(short)
        other = taken.get(short, topic)
        if problem:
            findings.append(
                Finding(
                    source=None,
                    problem=f"{topic} would be {short!r} in {name}: {problem}",
                    advice="choose a prefix that leaves a name",
                )
            )
        elif short[0] in _SEPARATORS:
            findings.append(
                Finding(
                    source=None,
                    problem=f"{topic} would be {short!r} in {name}",
                    advice=f"end --prefix with {short[0]!r} as well",
                )
            )
        elif other != topic:
            findings.append(
                Finding(
                    source=None,
                    problem=f"{other} and {topic} would both be {short} in {name}",
                    advice="migrate one of the prefixes into a virtual cluster of its own",
                )
            )
        taken.setdefault(short, topic)
    if findings:
        raise FindingsError(findings)


def _link(name: str, link: str, topic: str) -> Document:
    return as_document("TopicLink", link, {"target": Inline({"physicalTopic": topic})}, name)


def _group(name: str, group: str) -> Document:
    return as_document("ConsumerGroup", group, {"adopt": group}, name)
