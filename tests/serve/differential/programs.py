"""Random programs of administrative requests, the same for every cluster with the same seed."""

from collections.abc import Callable, Iterator, Mapping
from random import Random

from serve.differential import access, topics
from serve.differential.steps import Step

KINDS: Mapping[Callable[[Random], Step], int] = {
    topics.create_topics: 12,
    topics.delete_topics: 5,
    topics.create_partitions: 6,
    topics.alter_configs: 5,
    topics.incremental_alter_configs: 10,
    topics.describe_configs: 8,
    topics.list_config_resources: 1,
    access.create_acls: 7,
    access.describe_acls: 4,
    access.delete_acls: 4,
    access.alter_quotas: 7,
    access.describe_quotas: 4,
    access.alter_users: 5,
    access.describe_users: 2,
    access.alter_moves: 4,
    access.elect_leaders: 3,
    access.metadata: 6,
    access.describe_cluster: 1,
    access.describe_partitions: 4,
}
"""How often a kind of request is asked, beside the others."""


def program(seed: int, length: int) -> Iterator[Step]:
    """Random requests; with the same seed the same."""
    random = Random(seed)  # noqa: S311 (no secret)
    for kind in random.choices([*KINDS], [*KINDS.values()], k=length):
        yield kind(random)
