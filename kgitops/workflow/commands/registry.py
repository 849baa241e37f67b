"""``kgitops registry``: finds damaged records in a cluster's registry, and repairs them."""

import secrets
from collections.abc import Callable, Sequence
from datetime import UTC, datetime

from kgitops.apply.context import ApplyContext, ApplySettings
from kgitops.apply.journal.damage import Damage
from kgitops.apply.journal.repair import check_registry, repair_registry
from kgitops.cluster.port import Cluster
from kgitops.workflow.execution import lock_holder


def inspect_registry(cluster: Cluster) -> tuple[int, tuple[Damage, ...]]:
    """The number of records, and those that can't be used.

    Raises:
        SafetyError: the registry can't be read to its end, or records of it were lost.
    """
    return check_registry(cluster)


def mend(
    cluster: Cluster, damages: Sequence[Damage], interrupted: Callable[[], int | None]
) -> bool:
    """Repair just these, under the lock; False if it was interrupted before.

    Raises:
        KgitopsError: nothing was repaired.
    """
    context = ApplyContext(
        cluster=cluster,
        settings=ApplySettings(),
        on_event=lambda _: None,
        interrupted=interrupted,
    )
    name = f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}-{secrets.token_hex(4)}"
    return repair_registry(context, damages, holder=lock_holder(), name=name)
