"""A process that uses a store, for tests that lock it, kill its writer or take its rights away.

Run as ``python store_driver.py MODE FILE``; it says on stdout how far it came.
"""

import os
import sqlite3
import sys
import tempfile
import time
from itertools import count
from pathlib import Path

from kgitops.cluster.embedded.boot import boot
from kgitops.cluster.embedded.options import Options
from kgitops.cluster.embedded.store import store
from kgitops.model.errors import KgitopsError
from kgitops.model.requests import (
    NEW_UUID,
    AlterVirtualClusterRequest,
    CreateAclRequest,
    CreateTopicRequest,
    CreateVirtualClusterRequest,
)
from kgitops.model.resources import topic_configs
from kgitops.model.resources.acls import (
    AclBinding,
    Operation,
    PatternType,
    PermissionType,
    ResourceType,
)
from kgitops.model.resources.topics import RequestedTopicState
from kgitops.model.resources.virtual_clusters import EntityType, LocalName

NOBODY = 65534


def say(line: str) -> None:
    print(line, flush=True)


def write(path: Path) -> None:
    """Append for ever: topics, offsets, ACLs and registry entries; each line is acknowledged."""
    # Snapshots are to be among what a kill interrupts.
    store._SNAPSHOT_MIN_CHARS = 2_000
    store._SNAPSHOT_SHARE = 1_000_000
    cluster = boot(path)
    begin = len(cluster.read_state().topics)
    say("ready")
    for number in count(begin):
        name = f"topic-{number}"
        state = RequestedTopicState(
            name=name, topic_id=None, assignment=((1, 2), (2, 3)), configs={"retention.ms": "1"}
        )
        results = cluster.execute(
            [CreateTopicRequest(topic=name, requested_state=state)],
            validate_only=False,
            principal="User:a",
        )
        say(f"topic {name} {results[0].topic_id}")
        cluster.produce(name, 0, records=number, bytes_each=1)
        binding = AclBinding(
            resource_type=ResourceType.TOPIC,
            resource_name=name,
            pattern_type=PatternType.LITERAL,
            principal="User:a",
            host="*",
            operation=Operation.READ,
            permission_type=PermissionType.ALLOW,
        )
        cluster.execute(
            [CreateAclRequest(binding=binding)], validate_only=False, principal="User:a"
        )
        say(f"acl {name}")
        entry = {"schema_version": 1, "name": name}
        cluster.registry.append([(f"project/{name}-{part}", entry) for part in "abc"])
        say(f"registry {name}")


def write_virtual_clusters(path: Path) -> None:
    """For ever: make a topic in a virtual cluster, and move a user to the other one."""
    store._SNAPSHOT_MIN_CHARS = 2_000
    store._SNAPSHOT_SHARE = 1_000_000
    cluster = boot(path)

    def ask(*requests) -> None:
        cluster.execute(requests, validate_only=False, principal="User:a")

    ask(*(CreateVirtualClusterRequest(virtual_cluster=name) for name in "ab"))
    ask(
        AlterVirtualClusterRequest(
            virtual_cluster="a", entity_type=EntityType.USER, entity_name="User:x"
        )
    )
    here = cluster.controller.image().virtual_clusters.users["User:x"]
    begin = len(cluster.read_state().topics)
    say("ready")
    for number in count(begin):
        name = f"topic-{number}"
        state = RequestedTopicState(
            name=f"{NEW_UUID}.{name}", topic_id=None, assignment=((1, 2),), configs={}
        )
        local = LocalName(here, name)
        ask(CreateTopicRequest(topic=state.name, requested_state=state, local=local))
        say(f"{here}/{name}")
        here, there = ("b", "a") if here == "a" else ("a", "b")
        ask(
            AlterVirtualClusterRequest(
                virtual_cluster=here,
                entity_type=EntityType.USER,
                entity_name="User:x",
                moved_from=there,
            )
        )


def create(path: Path) -> None:
    """Create a store."""
    say("ready")
    boot(path)
    say("created")


def hold(path: Path, statement: str) -> None:
    """Hold a lock until killed."""
    connection = sqlite3.connect(path, isolation_level=None)
    if statement == "EXCLUSIVE":
        connection.execute("PRAGMA locking_mode = EXCLUSIVE")
    connection.execute("BEGIN IMMEDIATE")
    connection.execute("INSERT INTO meta VALUES ('held', '', 0)")
    say("ready")
    time.sleep(60)


def as_nobody(path: Path) -> None:
    """Read, then try to write, without any rights but those that everybody has."""
    # What is imported only when it is needed may lie where nobody can read.
    topic_configs.topic_configs()
    with tempfile.TemporaryDirectory() as folder:
        warm = boot(Path(folder) / "warm.db")
        warm.read_state()
        warm.close()
    if os.geteuid() == 0:
        os.setuid(NOBODY)
    try:
        cluster = boot(path, options=Options(busy_timeout_ms=200))
        say(f"read {','.join(cluster.read_state().topics)}")
        cluster.registry.append([("project/x", {"schema_version": 1, "name": "x"})])
        say("written")
    except KgitopsError as error:
        say(f"{type(error).__name__} {int(error.exit)} {error}")


MODES = {
    "write": write,
    "write-virtual-clusters": write_virtual_clusters,
    "create": create,
    "hold": lambda path: hold(path, "WRITE"),
    "hold-exclusive": lambda path: hold(path, "EXCLUSIVE"),
    "as-nobody": as_nobody,
}

if __name__ == "__main__":
    MODES[sys.argv[1]](Path(sys.argv[2]))
