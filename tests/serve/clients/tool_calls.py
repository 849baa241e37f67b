"""Command lines of Kafka's own tools, in their order, and what each must print."""

from msgspec import Struct

_TOOLS = "org.apache.kafka.tools"
TOPICS = f"{_TOOLS}.TopicCommand"
CONFIGS = "kafka.admin.ConfigCommand"
ACLS = f"{_TOOLS}.AclCommand"
RECORDS = f"{_TOOLS}.DeleteRecordsCommand"
MOVES = f"{_TOOLS}.reassign.ReassignPartitionsCommand"
GROUPS = f"{_TOOLS}.consumer.group.ConsumerGroupCommand"
OFFSETS = f"{_TOOLS}.GetOffsetShell"
LOG_DIRS = f"{_TOOLS}.LogDirsCommand"
LEADERS = f"{_TOOLS}.LeaderElectionCommand"
QUORUM = f"{_TOOLS}.MetadataQuorumCommand"
FEATURES = f"{_TOOLS}.FeatureCommand"
CLUSTER = f"{_TOOLS}.ClusterTool"
VERSIONS = f"{_TOOLS}.BrokerApiVersionsCommand"
TRANSACTIONS = f"{_TOOLS}.TransactionsCommand"
ALL_GROUPS = f"{_TOOLS}.GroupsCommand"
SHARE_GROUPS = f"{_TOOLS}.consumer.group.ShareGroupCommand"
METRICS = f"{_TOOLS}.ClientMetricsCommand"
PRODUCER = f"{_TOOLS}.ConsoleProducer"
CONSUMER = f"{_TOOLS}.consumer.ConsoleConsumer"
SHARE_CONSUMER = f"{_TOOLS}.consumer.ConsoleShareConsumer"


class ToolCall(Struct, frozen=True):
    """A tool's command line without the bootstrap servers; ``says`` is a regular expression."""

    family: str
    main: str
    words: str
    says: str = ""
    exit: int = 0
    stdin: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The tool and its arguments."""
        return f"{self.main.rpartition('.')[2]} {self.words}"


MOVE = "reassignment.json"
"""A file with where replicas of ``orders`` should be."""
CUT = "records.json"
"""A file with the offsets that records are to be deleted before."""

ORDERS = "--topic orders"
OF_ORDERS = "--entity-type topics --entity-name orders"
OF_ALICE = "--entity-type users --entity-name alice"

TOOL_CALLS = (
    ToolCall("cluster", CLUSTER, "cluster-id", r"Cluster ID: \S{22}"),
    ToolCall("cluster", CLUSTER, "list-endpoints", r"(?s)PLAINTEXT|127\.0\.0\.1"),
    ToolCall("cluster", FEATURES, "describe", r"metadata\.version"),
    ToolCall("cluster", QUORUM, "describe --status", r"ClusterId: "),
    ToolCall("cluster", QUORUM, "describe --replication", r"Leader"),
    ToolCall("cluster", VERSIONS, "", r"CreateTopics\(19\)"),
    ToolCall(
        "topics",
        TOPICS,
        f"--create {ORDERS} --partitions 3 --replication-factor 2 --config retention.ms=7000",
        "Created topic orders",
    ),
    ToolCall("topics", TOPICS, f"--create {ORDERS}", "Topic 'orders' already exists", 1),
    ToolCall("topics", TOPICS, f"--create {ORDERS} --if-not-exists"),
    ToolCall(
        "topics", TOPICS, "--create --topic placed --replica-assignment 1:2,2:3", "Created topic"
    ),
    ToolCall("topics", TOPICS, "--create --topic a$b", "contains one or more char", 1),
    ToolCall(
        "topics",
        TOPICS,
        "--create --topic wrong --config no.such=1",
        "Unknown topic config name: no.such",
        1,
    ),
    ToolCall("topics", TOPICS, "--list", r"(?m)^orders$"),
    ToolCall(
        "topics",
        TOPICS,
        f"--describe {ORDERS}",
        r"Topic: orders\s+TopicId: \S{22}\s+PartitionCount: 3\s+ReplicationFactor: 2",
    ),
    ToolCall("topics", TOPICS, "--describe --topic placed", r"Partition: 1\s+Leader: 2\s+"),
    ToolCall("topics", TOPICS, "--describe --under-replicated-partitions", r"(?s)^((?!Topic:).)*$"),
    ToolCall("topics", TOPICS, "--describe --topic none", "does not exist", 1),
    ToolCall("topics", TOPICS, f"--alter {ORDERS} --partitions 6"),
    ToolCall("topics", TOPICS, f"--alter {ORDERS} --partitions 2", "would not be an increase", 1),
    ToolCall("topics", TOPICS, "--describe --topic orders", r"PartitionCount: 6"),
    ToolCall(
        "configs",
        CONFIGS,
        f"--alter {OF_ORDERS} --add-config retention.ms=777,cleanup.policy=compact",
        "Completed updating config for topic orders",
    ),
    ToolCall("configs", CONFIGS, f"--describe {OF_ORDERS}", r"cleanup\.policy=compact"),
    ToolCall("configs", CONFIGS, "--describe --entity-type topics", r"retention\.ms=777"),
    ToolCall("configs", CONFIGS, f"--describe {OF_ORDERS} --all", r"segment\.bytes=1073741824"),
    ToolCall(
        "configs", CONFIGS, f"--alter {OF_ORDERS} --delete-config cleanup.policy", "Completed"
    ),
    ToolCall(
        "configs",
        CONFIGS,
        f"--alter {OF_ORDERS} --add-config retention.ms=soon",
        "Not a number of type LONG",
        1,
    ),
    ToolCall(
        "configs",
        CONFIGS,
        "--alter --entity-type brokers --entity-default --add-config log.cleaner.threads=2",
        "Completed updating default config",
    ),
    ToolCall(
        "configs",
        CONFIGS,
        "--alter --entity-type brokers --entity-name 1 --add-config log.cleaner.threads=3",
        "Completed updating config for broker 1",
    ),
    ToolCall(
        "configs",
        CONFIGS,
        "--describe --entity-type brokers --entity-name 1",
        r"log\.cleaner\.threads=3 .*DYNAMIC_BROKER_CONFIG.*DYNAMIC_DEFAULT_BROKER_CONFIG",
    ),
    ToolCall(
        "configs",
        CONFIGS,
        "--describe --entity-type brokers --entity-default",
        r"log\.cleaner\.threads=2",
    ),
    ToolCall(
        "configs",
        CONFIGS,
        "--alter --entity-type groups --entity-name billing "
        "--add-config consumer.session.timeout.ms=50000",
        "Completed updating config for group billing",
    ),
    ToolCall("configs", CONFIGS, "--describe --entity-type groups", r"session\.timeout\.ms=50000"),
    ToolCall("configs", METRICS, "--alter --name all --metrics org.apache.kafka", "Altered"),
    ToolCall("configs", METRICS, "--list", r"(?m)^all$"),
    ToolCall(
        "quotas", CONFIGS, f"--alter {OF_ALICE} --add-config producer_byte_rate=1024", "Completed"
    ),
    ToolCall("quotas", CONFIGS, f"--describe {OF_ALICE}", r"producer_byte_rate=1024\.0"),
    ToolCall("quotas", CONFIGS, f"--alter {OF_ALICE} --delete-config producer_byte_rate"),
    ToolCall(
        "quotas",
        CONFIGS,
        "--alter --entity-type ips --entity-default --add-config connection_creation_rate=1000",
        "Completed",
    ),
    ToolCall("quotas", CONFIGS, "--describe --entity-type ips", r"connection_creation_rate=1000"),
    ToolCall(
        "users",
        CONFIGS,
        f"--alter {OF_ALICE} --add-config SCRAM-SHA-256=[password=secret]",
        "Completed",
    ),
    ToolCall("users", CONFIGS, f"--describe {OF_ALICE}", r"SCRAM-SHA-256=iterations=4096"),
    ToolCall(
        "users", CONFIGS, f"--alter {OF_ALICE} --delete-config SCRAM-SHA-256", "Completed updating"
    ),
    ToolCall(
        "ACLs",
        ACLS,
        f"--add --allow-principal User:alice --operation Read {ORDERS} --group billing",
        "Adding ACLs",
    ),
    ToolCall("ACLs", ACLS, "--list", r"(?s)TOPIC, name=orders.*GROUP, name=billing|GROUP.*TOPIC"),
    ToolCall(
        "ACLs",
        ACLS,
        f"--remove --force --allow-principal User:alice --operation Read {ORDERS}",
        r"(?s)^((?!name=orders).)*$",
    ),
    ToolCall("moves", MOVES, f"--reassignment-json-file {MOVE} --execute", "Successfully started"),
    ToolCall(
        "moves", MOVES, f"--reassignment-json-file {MOVE} --verify", "of partition orders-0 is comp"
    ),
    ToolCall("moves", MOVES, "--list", "No partition reassignments found"),
    ToolCall("moves", LEADERS, "--election-type preferred --all-topic-partitions"),
    ToolCall("cluster", LOG_DIRS, "--describe --topic-list orders", r'"partition":"orders-0"'),
    ToolCall(
        "topics", TOPICS, "--create --topic data --partitions 1 --replication-factor 1", "Created"
    ),
    ToolCall("records", PRODUCER, "--topic data", stdin=("one", "two", "three")),
    ToolCall(
        "groups",
        CONSUMER,
        "--topic data --from-beginning --max-messages 3 --group billing --timeout-ms 20000",
        r"(?s)one\ntwo\nthree\n.*Processed a total of 3 messages",
    ),
    ToolCall(
        "transactions",
        CONSUMER,
        "--topic data --from-beginning --max-messages 3 --isolation-level read_committed "
        "--timeout-ms 20000",
        "Processed a total of 3 messages",
    ),
    ToolCall("records", OFFSETS, "--topic data", r"data:0:3"),
    ToolCall("records", RECORDS, f"--offset-json-file {CUT}", r"low_watermark: 1"),
    ToolCall("records", OFFSETS, "--topic data --time earliest", r"data:0:1"),
    ToolCall("groups", GROUPS, "--list", r"(?m)^billing$"),
    ToolCall("groups", GROUPS, "--list --state", r"billing\s+Empty"),
    ToolCall("groups", GROUPS, "--describe --group billing", r"billing\s+data\s+0\s+3\s+3\s+0"),
    ToolCall("groups", GROUPS, "--describe --group billing --state", r"billing.*Empty"),
    ToolCall("groups", GROUPS, "--describe --group none", "Group none not found"),
    ToolCall(
        "groups",
        GROUPS,
        "--reset-offsets --group billing --topic data --to-earliest --execute",
        r"billing\s+data\s+0\s+1",
    ),
    ToolCall("groups", GROUPS, "--delete-offsets --group billing --topic data", "Successful"),
    ToolCall("groups", ALL_GROUPS, "--list", r"billing"),
    ToolCall("groups", GROUPS, "--delete --group billing", "was successful"),
    ToolCall("transactions", TRANSACTIONS, "list", "TransactionalId"),
    ToolCall(
        "transactions", TRANSACTIONS, "describe-producers --topic data --partition 0", "ProducerId"
    ),
    ToolCall("topics", TOPICS, f"--delete {ORDERS}"),
    ToolCall("topics", TOPICS, f"--delete {ORDERS}", "does not exist", 1),
)
