"""What there is on a cluster before a random project, and beside it."""

from collections.abc import Sequence
from pathlib import Path

from builders import a_binding, an_entity
from laws.fleet_documents import (
    ADOPTED,
    FOREIGN,
    FOREIGN_PROJECT,
    FOREIGN_USER,
    OLD,
    a_topic,
    uid_of,
    write,
)
from laws.twin_clusters import Twin, workspace_of

from kgitops.model.requests import AlterClientQuotaRequest, CreateAclRequest
from kgitops.model.resources.acls import AclBinding
from kgitops.model.resources.quotas import VIRTUAL_CLUSTER

FOREIGN_UID = uid_of("foreign")
OLD_RIGHTS = (
    a_binding("User:jane", "Read", "old.", pattern="prefixed"),
    a_binding("User:jane", "Read", ADOPTED, resource="group"),
    a_binding("User:joe", "Write", OLD[0]),
)


def settle(both: Sequence[Twin], folder: Path) -> None:
    """What was there before: physical topics, rights, a group that has read, another project."""
    write(folder / "fleet", "fleet", [a_topic(name, deletionPolicy="Orphan") for name in OLD])
    write(folder / "foreign", "foreign", FOREIGN_PROJECT)
    quota = AlterClientQuotaRequest(
        entity=an_entity(user="jane"), quotas={"producer_byte_rate": 9.0}
    )
    for twin in both:
        for name in ("fleet", "foreign"):
            workspace = workspace_of(folder / name)
            twin.apply(twin.plan(workspace), workspace)
        assert all(twin.ask(CreateAclRequest(binding=binding)) for binding in OLD_RIGHTS)
        assert twin.ask(quota)
        twin.commit(ADOPTED, {(OLD[0], 0): 7, (OLD[0], 1): 8})


def of_the_other_project(twin: Twin) -> tuple[object, frozenset[AclBinding]]:
    """All that it has and what its user may send, and the bindings that brokers have for it."""
    state, brokers = twin.cluster.read_state(), twin.physical.read_state()
    found = state.virtual_clusters.get(FOREIGN)
    user = brokers.quotas.get(an_entity(user=FOREIGN_USER.removeprefix("User:")))
    assert state.registry
    return (
        found,
        found and [state.topics[link.topic] for link in found.links.values()],
        {binding for binding in state.acls if binding.virtual_cluster == FOREIGN},
        {key: it for key, it in state.quotas.items() if dict(key).get(VIRTUAL_CLUSTER) == FOREIGN},
        {key: it for key, it in state.registry.owners.items() if it.project == FOREIGN_UID},
        user and user.quotas.get("producer_byte_rate"),
    ), frozenset(it for it in brokers.acls if it.principal == FOREIGN_USER)
