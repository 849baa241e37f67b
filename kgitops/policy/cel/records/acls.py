"""ACLs."""

from kgitops.policy.cel.records.record import Field, Record
from kgitops.policy.cel.types import STRING

ACL = Record(
    "an ACL",
    {
        "principal": Field(STRING, "Who, such as User:billing.", lambda acl, _: acl.principal),
        "host": Field(STRING, "From where; * is anywhere.", lambda acl, _: acl.host),
        "operation": Field(
            STRING, "Such as Read, in Kafka's spelling.", lambda acl, _: acl.operation.value
        ),
        "permission": Field(STRING, "Allow or Deny.", lambda acl, _: acl.permission_type.value),
        "resourceType": Field(
            STRING,
            "topic, group, cluster, transactionalId, delegationToken or user.",
            lambda acl, _: acl.resource_type.value,
        ),
        "resourceName": Field(
            STRING, "The resource's name or prefix; * is all.", lambda acl, _: acl.resource_name
        ),
        "patternType": Field(STRING, "literal or prefixed.", lambda acl, _: acl.pattern_type.value),
        "virtualCluster": Field(
            STRING,
            "The virtual cluster in which the resource's name holds, or its prefix; * is every "
            "one, kafka-cluster none.",
            lambda acl, _: acl.virtual_cluster,
        ),
        "virtualClusterPatternType": Field(
            STRING,
            "How virtualCluster is read: literal or prefixed.",
            lambda acl, _: acl.virtual_cluster_pattern_type.value,
        ),
    },
)
