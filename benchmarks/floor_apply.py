"""The floor of an apply: bare batched create_topics and create_acls, then polling until all shows.

Prints the seconds until everything was acknowledged, and until the broker shows everything.
"""

import sys
import time

from confluent_kafka.admin import (
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    AdminClient,
    NewTopic,
    ResourcePatternType,
    ResourceType,
)

CONFIGS = {"retention.ms": "604800000", "cleanup.policy": "delete", "min.insync.replicas": "1"}
ANY_ACL = AclBindingFilter(
    ResourceType.ANY,
    None,
    ResourcePatternType.ANY,
    None,
    None,
    AclOperation.ANY,
    AclPermissionType.ANY,
)


def main() -> None:
    servers, topics, partitions = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    started = time.perf_counter()
    admin = AdminClient({"bootstrap.servers": servers})
    names = [f"topic-{number:05d}" for number in range(topics)]
    for start in range(0, topics, 1000):
        new = [NewTopic(n, partitions, 1, config=CONFIGS) for n in names[start : start + 1000]]
        for created in admin.create_topics(new, request_timeout=120).values():
            created.result()
    acls = [acl(name) for name in names[::10]]
    for made in admin.create_acls(acls).values():
        made.result()
    acknowledged = time.perf_counter() - started
    while not shows(admin, set(names), len(acls)):
        time.sleep(0.1)
    print(acknowledged, time.perf_counter() - started)


def acl(name: str) -> AclBinding:
    return AclBinding(
        ResourceType.TOPIC,
        name,
        ResourcePatternType.LITERAL,
        f"User:{name}",
        "*",
        AclOperation.READ,
        AclPermissionType.ALLOW,
    )


def shows(admin: AdminClient, names: set[str], acls: int) -> bool:
    found = admin.list_topics(timeout=60).topics
    if not names <= found.keys() or any(
        partition.leader < 0 for name in names for partition in found[name].partitions.values()
    ):
        return False
    return len(admin.describe_acls(ANY_ACL).result()) >= acls


if __name__ == "__main__":
    main()
