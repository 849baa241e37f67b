"""The floor of a small plan: import confluent-kafka, connect, and read the same cluster with it."""

import sys

from confluent_kafka import TopicCollection
from confluent_kafka.admin import (
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    AdminClient,
    ConfigResource,
    ResourcePatternType,
    ResourceType,
)

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
    admin = AdminClient({"bootstrap.servers": sys.argv[1]})
    listed = admin.list_topics(timeout=60)
    resources = [
        *(ConfigResource(ResourceType.TOPIC, name) for name in listed.topics),
        *(ConfigResource(ResourceType.BROKER, str(broker)) for broker in listed.brokers),
    ]
    answers = [
        *admin.describe_topics(TopicCollection(list(listed.topics))).values(),
        *admin.describe_configs(resources).values(),
        admin.describe_acls(ANY_ACL),
        admin.describe_cluster(),
    ]
    for answer in answers:
        answer.result(60)


if __name__ == "__main__":
    main()
