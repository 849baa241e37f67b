"""Policies that tell what they see of a cluster, each by other questions, as violations."""

from hashlib import sha256
from pathlib import Path

from kgitops.policy import (
    AclManagementPolicy,
    BaseTopicPolicy,
    ClientQuotaManagementPolicy,
    PolicyViolation,
    VirtualClusterManagementPolicy,
)

NAMES = ("orders", "orders.eu", "billing", "new", "other", "__consumer_offsets", "no such name")
USERS = ("alice", "bob", None)
FLAGS = [(internal, going) for internal in (False, True) for going in (False, True)]


class Tells(
    BaseTopicPolicy,
    AclManagementPolicy,
    ClientQuotaManagementPolicy,
    VirtualClusterManagementPolicy,
):
    """Tells of every request what ``tell`` finds."""

    def _judge(self, request, cluster):
        told = f"{self.tell(cluster)}"
        # The words may be cut, their hash is not.
        raise PolicyViolation(f"{sha256(f'{told} {request}'.encode()).hexdigest()} {told}")

    validate_create_topic = _judge
    validate_alter_topic = _judge
    validate_delete_topic = _judge
    validate_delete_records = _judge
    validate_create_acl = _judge
    validate_delete_acl = _judge
    validate_alter_client_quota = _judge
    validate_create_virtual_cluster = _judge
    validate_alter_virtual_cluster = _judge
    validate_delete_virtual_cluster = _judge
    validate_create_topic_link = _judge
    validate_delete_topic_link = _judge


class Counts(Tells):
    """The sums."""

    def tell(self, cluster):
        return cluster.topic_count(), [cluster.partitions(p) for p in ("", "o", "orders", "é")]


class Names(Tells):
    """The names, with each of the flags."""

    def tell(self, cluster):
        return [
            sorted(cluster.topics(include_internal=internal, include_marked_for_deletion=going))
            for internal, going in FLAGS
        ]


class States(Tells):
    """The states of some topics."""

    def tell(self, cluster):
        return [
            (found, cluster.effective_config(found, "retention.ms")) if found else None
            for found in map(cluster.topic_state, NAMES)
        ]


class Walks(Tells):
    """The states of all topics, as KIP-201 lets policies count."""

    def tell(self, cluster):
        return [cluster.topic_state(name) for name in sorted(cluster.topics())]


class Rights(Tells):
    """The ACLs and quotas."""

    def tell(self, cluster):
        quotas = [sorted(cluster.quotas((("user", name),)).items()) for name in USERS]
        return sorted(cluster.acls()), quotas


class Others(Tells):
    """Brokers, virtual clusters and links."""

    def tell(self, cluster):
        return (
            cluster.brokers(),
            sorted(cluster.default_configs().items()),
            [cluster.virtual_cluster(name) for name in sorted(cluster.virtual_clusters())],
            [sorted(cluster.links_to(name)) for name in NAMES],
            sorted(cluster.deleted_topics()),
        )


class Denies(BaseTopicPolicy):
    """Denies deletions, so that what comes after them sees another cluster."""

    def validate_delete_topic(self, request, cluster_state):
        if cluster_state.partitions("orders") > 3:
            raise PolicyViolation("orders are kept")


class Hides(BaseTopicPolicy):
    """Accepts whatever it can't find out."""

    def validate_create_topic(self, request, cluster_state):
        try:
            cluster_state.topics()
        except BaseException:  # noqa: BLE001 (as bad policies do)
            return


class Nothing(BaseTopicPolicy):
    """Asks for nothing."""


class Files(BaseTopicPolicy):
    """Denies with the memory that the process has by now, in MiB, and what it imported."""

    def validate_create_topic(self, request, cluster_state):
        import sys

        walked = len(cluster_state.topics()) if request.topic == "walk" else 0
        held = int(Path("/proc/self/statm").read_text().split()[1]) * 4096 >> 20
        raise PolicyViolation(f"{held} {'pyarrow' in sys.modules} {walked}")


class Greedy(BaseTopicPolicy):
    """Takes ``mib`` of memory of its own, before and after it looked at all topics."""

    def configure(self, configs):
        self.bytes = int(configs["mib"]) << 20

    def validate_create_topic(self, request, cluster_state):
        for _ in range(2):
            taken = bytearray(self.bytes)
            assert len(taken) == self.bytes
            cluster_state.topics()
            cluster_state.acls()
            del taken
