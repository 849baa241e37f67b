"""Kafka's own tools, by the names of the scripts that Kafka's distribution has for them."""

from kgitops.model.errors import UsageError
from kgitops.model.wording import nearest
from kgitops.sandbox.service import SandboxAddress

_CLASSES = {
    "kafka-acls": "org.apache.kafka.tools.AclCommand",
    "kafka-broker-api-versions": "org.apache.kafka.tools.BrokerApiVersionsCommand",
    "kafka-client-metrics": "org.apache.kafka.tools.ClientMetricsCommand",
    "kafka-cluster": "org.apache.kafka.tools.ClusterTool",
    "kafka-configs": "kafka.admin.ConfigCommand",
    "kafka-console-consumer": "org.apache.kafka.tools.consumer.ConsoleConsumer",
    "kafka-console-producer": "org.apache.kafka.tools.ConsoleProducer",
    "kafka-console-share-consumer": "org.apache.kafka.tools.consumer.ConsoleShareConsumer",
    "kafka-consumer-groups": "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand",
    "kafka-consumer-perf-test": "org.apache.kafka.tools.ConsumerPerformance",
    "kafka-delegation-tokens": "org.apache.kafka.tools.DelegationTokenCommand",
    "kafka-delete-records": "org.apache.kafka.tools.DeleteRecordsCommand",
    "kafka-features": "org.apache.kafka.tools.FeatureCommand",
    "kafka-get-offsets": "org.apache.kafka.tools.GetOffsetShell",
    "kafka-groups": "org.apache.kafka.tools.GroupsCommand",
    "kafka-leader-election": "org.apache.kafka.tools.LeaderElectionCommand",
    "kafka-log-dirs": "org.apache.kafka.tools.LogDirsCommand",
    "kafka-metadata-quorum": "org.apache.kafka.tools.MetadataQuorumCommand",
    "kafka-producer-perf-test": "org.apache.kafka.tools.ProducerPerformance",
    "kafka-reassign-partitions": "org.apache.kafka.tools.reassign.ReassignPartitionsCommand",
    "kafka-share-consumer-perf-test": "org.apache.kafka.tools.ShareConsumerPerformance",
    "kafka-share-groups": "org.apache.kafka.tools.consumer.group.ShareGroupCommand",
    "kafka-streams-application-reset": "org.apache.kafka.tools.StreamsResetter",
    "kafka-streams-groups": "org.apache.kafka.tools.streams.StreamsGroupCommand",
    "kafka-topics": "org.apache.kafka.tools.TopicCommand",
    "kafka-transactions": "org.apache.kafka.tools.TransactionsCommand",
}
TOOLS = tuple(_CLASSES)
_OPTIONS_LAST = "kafka-cluster"
"""The tool that takes the options of its connection after its own command."""


def tool_command(address: SandboxAddress, tool: str, arguments: list[str]) -> list[str]:
    """The command line that runs a tool on the sandbox as its administrator.

    Raises:
        UsageError: Kafka has no such tool.
    """
    name = tool.removesuffix(".sh")
    name = name if name.startswith("kafka-") else f"kafka-{name}"
    if name not in _CLASSES:
        near = nearest(name, TOOLS)
        advice = f"did you mean {near}?" if near else f"there are {', '.join(TOOLS)}"
        raise UsageError(f"{tool} is not one of Kafka's tools for clients; {advice}")
    connection = address.sandbox.tool_options(address.servers)
    ordered = [*arguments, *connection] if name == _OPTIONS_LAST else [*connection, *arguments]
    return address.sandbox.jvm.command(_CLASSES[name], *ordered)
