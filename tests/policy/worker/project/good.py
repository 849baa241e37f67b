"""Policies as they should be."""

from hashlib import sha256
from pathlib import Path

from kgitops.policy import (
    AclManagementPolicy,
    BaseTopicPolicy,
    BrokerManagementPolicy,
    ClientQuotaManagementPolicy,
    PolicyViolation,
)


class Accepts(BaseTopicPolicy):
    """Nothing is wrong."""


class Cap(BaseTopicPolicy):
    """As many partitions as ``max`` says, counted as KIP-201 lets policies count."""

    def configure(self, configs):
        self.max = int(configs.get("max", "10"))

    def validate_create_topic(self, request, cluster_state):
        held = [cluster_state.topic_state(name) for name in cluster_state.topics()]
        total = sum(topic.num_partitions for topic in held) + request.requested_state.num_partitions
        if total > self.max:
            raise PolicyViolation(f"{total} partitions, {self.max} are allowed", field="partitions")


class Everything(
    BaseTopicPolicy, AclManagementPolicy, ClientQuotaManagementPolicy, BrokerManagementPolicy
):
    """Tells what it sees of each request, as a violation."""

    def validate_create_topic(self, request, cluster_state):
        self._tell(request, cluster_state)

    validate_alter_topic = validate_create_topic
    validate_delete_topic = validate_create_topic
    validate_delete_records = validate_create_topic
    validate_create_acl = validate_create_topic
    validate_delete_acl = validate_create_topic
    validate_alter_client_quota = validate_create_topic
    validate_alter_broker = validate_create_topic

    def _tell(self, request, cluster_state):
        acls = sorted(map(str, cluster_state.acls()))
        topics = sorted(cluster_state.topics(include_internal=True))
        states = [cluster_state.topic_state(name) for name in topics]
        sizes = cluster_state.cluster_size(), cluster_state.partitions("o")
        node = dict(cluster_state.broker_state().configs)
        rest = sorted(cluster_state.default_configs().items()), cluster_state.brokers()
        if hasattr(request, "entity"):
            rest += (sorted(cluster_state.quotas(request.entity).items()),)
        told = f"on {states} {acls} {sizes} {node}"
        # The words may be cut, their hash is not.
        digest = sha256(f"{request} {told} {rest}".encode(errors="surrogatepass")).hexdigest()
        raise PolicyViolation(f"{digest} {told} for {request.principal}", field="configs")


class Odd(BaseTopicPolicy):
    """Denies by the length of the name."""

    def validate_create_topic(self, request, cluster_state):
        if len(request.topic) % 2:
            raise PolicyViolation(f"{request.topic} is odd for {request.principal}")

    def validate_delete_topic(self, request, cluster_state):
        if cluster_state.topic_state(request.topic) is None:
            raise KeyError(request.topic)


class Recorder(BaseTopicPolicy):
    """Writes down its life into the file that ``file`` names."""

    def __init__(self):
        self.file = None

    def configure(self, configs):
        self.file = configs["file"]
        self.note(f"configure {sorted(configs)}")

    def validate_create_topic(self, request, cluster_state):
        self.note(f"create {request.topic}")
        if request.topic == "bad":
            raise ZeroDivisionError

    def validate_alter_topic(self, request, cluster_state):
        self.note(f"alter {request.topic}")

    def close(self):
        self.note("close")
        raise RuntimeError("whatever close raises")

    def note(self, line):
        with Path(self.file).open("a") as file:
            file.write(f"{line}\n")
