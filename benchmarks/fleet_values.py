"""The same made-up fleet as the product's values, its manifests in YAML and its snapshots in JSON.

Run as it is, it holds the quick rows of ``fleet_data.py`` against what the product writes:

    uv run python benchmarks/fleet_values.py
"""

import json
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from fleet_data import Fleet, write_fleet
from fleet_rows import (
    ASSIGNMENTS,
    CHANGED,
    CONFIGS,
    GROWN,
    IDENTITY,
    PARTITIONS,
    PROJECT,
    REPLICAS,
    RIGHTS,
    Fate,
    Topic,
    make_topic,
)
from fleet_tables import desired_without_objects, state_without_objects
from msgspec.structs import replace

from kgitops.cluster.snapshot import write_snapshot
from kgitops.desired.state import DesiredState
from kgitops.fleet.tables.desired_header import DesiredPlace
from kgitops.fleet.tables.desired_rows import write_desired
from kgitops.fleet.tables.state_rows import write_state
from kgitops.model.cluster_state import ClusterState
from kgitops.model.json.declared import DeletionPolicy, DesiredAcl, DesiredTopic, last_applied
from kgitops.model.registry import Owner
from kgitops.model.resources.acls import (
    AclBinding,
    Operation,
    PatternType,
    PermissionType,
    ResourceType,
)
from kgitops.model.resources.addresses import acl_address, topic_address
from kgitops.model.resources.topics import TopicState
from kgitops.model.source import Source

PROJECT_FILE = f"""\
apiVersion: kgitops/v1
kind: Project
metadata: {{name: {PROJECT}, uid: {IDENTITY}}}
spec:
  manifests: [teams]
  clusters: {{cluster: {{url: "kafka://localhost:9092"}}}}
  safety: {{maxDeletes: 1000000000, maxDeletePercent: 100}}
"""


def cluster_values(cluster: str, size: int, *, acls: bool) -> tuple[ClusterState, DesiredState]:
    """What is there, and what is declared."""
    topics, owners, bindings = {}, {}, []
    wanted, wanted_acls = [], []
    for topic in (make_topic(cluster, number) for number in range(size)):
        declared, applied, state = topic_values(topic)
        rights = [acl_value(topic, right) for right in range(len(RIGHTS) if acls else 0)]
        if topic.fate is not Fate.DELETED:
            wanted.append(declared)
            wanted_acls += rights
        if topic.fate is not Fate.CREATED:
            topics[topic.name] = state
            owners[declared.address] = Owner(
                project=IDENTITY, last_applied=last_applied(applied), topic_id=topic.topic_id
            )
            for right in rights:
                bindings.append(right.binding)
                owners[right.address] = Owner(project=IDENTITY, last_applied=last_applied(right))
    bare = state_without_objects(cluster)
    assert bare.registry is not None
    registry = replace(bare.registry, owners=owners)
    return (
        replace(bare, topics=topics, acls=frozenset(bindings), registry=registry),
        desired_without_objects().with_objects(
            (*wanted, *sorted(wanted_acls, key=lambda acl: acl.address))
        ),
    )


def topic_values(topic: Topic) -> tuple[DesiredTopic, DesiredTopic, TopicState]:
    """As it is declared, as it was last applied, and as it is."""
    applied = DesiredTopic(
        address=topic_address(topic.name),
        name=topic.name,
        partitions=PARTITIONS,
        replication_factor=REPLICAS,
        configs=CONFIGS[topic.variant],
        deletion_policy=DeletionPolicy.DELETE,
        deletion_policy_written=True,
        located=_place(topic, "topic"),
    )
    declared, configs = applied, CONFIGS[topic.variant]
    match topic.fate:
        case Fate.CONFIG:
            declared = replace(applied, configs=CHANGED[topic.variant])
        case Fate.GROWN:
            declared = replace(applied, partitions=GROWN)
        case Fate.DRIFTED:
            configs = CHANGED[topic.variant]
        case _:
            pass
    state = TopicState(
        name=topic.name,
        topic_id=topic.topic_id,
        assignment=tuple(map(tuple, ASSIGNMENTS[topic.place])),
        configs=configs,
    )
    return declared, applied, state


def acl_value(topic: Topic, right: int) -> DesiredAcl:
    """One of the topic's ACLs."""
    role, operation = RIGHTS[right]
    binding = AclBinding(
        resource_type=ResourceType.TOPIC,
        resource_name=topic.name,
        pattern_type=PatternType.LITERAL,
        principal=f"User:{topic.team}-{role}",
        host="*",
        operation=Operation(operation),
        permission_type=PermissionType.ALLOW,
    )
    return DesiredAcl(address=acl_address(binding), binding=binding, located=_place(topic, "acl"))


def _place(topic: Topic, kind: str) -> DesiredPlace:
    return DesiredPlace(Source(f"teams/{topic.team}/{kind}s.yaml", topic.line, 1))


def write_project(folder: Path, cluster: str, size: int, *, acls: bool) -> tuple[Path, Path]:
    """The same cluster as a project in YAML and a snapshot in JSON."""
    state, desired = cluster_values(cluster, size, acls=acls)
    project, snapshot = folder / "project", folder / f"{cluster}.json"
    (project / "teams").mkdir(parents=True)
    (project / "kgitops.yaml").write_text(PROJECT_FILE)
    (project / "teams" / "all.yaml").write_text("---\n".join(_documents(desired)))
    snapshot.write_text(write_snapshot(state))
    return project, snapshot


def _documents(desired: DesiredState) -> Iterator[str]:
    for topic in desired.of(DesiredTopic):
        configs = "".join(f'    {key}: "{value}"\n' for key, value in topic.configs.items())
        yield (
            f"apiVersion: kgitops/v1\nkind: Topic\nmetadata: {{name: {topic.name}}}\nspec:\n"
            f"  partitions: {topic.partitions}\n  replicationFactor: {topic.replication_factor}\n"
            f"  deletionPolicy: Delete\n  configs:\n{configs}"
        )
    for number, acl in enumerate(desired.of(DesiredAcl)):
        binding = acl.binding
        yield (
            f"apiVersion: kgitops/v1\nkind: Acl\nmetadata: {{name: acl-{number}}}\nspec:\n"
            f"  principal: {binding.principal}\n  permission: Allow\n"
            f"  operations: [{binding.operation}]\n"
            f"  resource: {{type: topic, name: {binding.resource_name}}}\n"
        )


def check(topics: int = 400) -> None:
    """The quick rows must be those of the product, file by file and byte by byte."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        fleet = Fleet(topics=topics, acls=True, skew=True)
        write_fleet(fleet, folder, processes=1)
        for cluster, size in fleet.clusters.items():
            state, desired = cluster_values(cluster, size, acls=True)
            write_state(state, folder / "state.parquet")
            write_desired(desired, folder / "desired.parquet")
            for side in ("state", "desired"):
                quick = (folder / side / f"cluster={cluster}" / "part-0.parquet").read_bytes()
                if quick != (folder / f"{side}.parquet").read_bytes():
                    sys.exit(f"the quick rows of {side} are not those that the product writes")


if __name__ == "__main__":
    check()
    print(json.dumps({"same": True}))
