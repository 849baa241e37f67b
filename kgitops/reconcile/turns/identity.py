"""The cluster and the registry that a loop knows, from turn to turn, and a person's confirmation.

A loop that finds another cluster, or another registry, than in its last turn applies nothing until
``kgitops reconcile resume`` confirms what it found. The confirmation is a record in the registry
that was found, bound to the ids of both, so it confirms no other cluster. One that was there before
the loop first reported the change confirmed something earlier, so it does not count.
"""

import secrets
from collections.abc import Iterator

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from kgitops.apply.journal.reading import (
    ConfirmationDocument,
    Latest,
    confirmation_key,
    read_confirmation,
)
from kgitops.cluster.port import Cluster
from kgitops.model.json.records import Record, record
from kgitops.reconcile.status import ClusterChange, ClusterIdentity


class KnownCluster(Struct, frozen=True, kw_only=True):
    """The memory of a loop about one of its clusters.

    ``confirmed`` is the identity that turns continue with; None if a file that held it is damaged.
    ``found`` is another one that nobody has confirmed since the time ``since``, and ``earlier`` are
    the nonces of the confirmations that were there when it was found.
    """

    confirmed: ClusterIdentity | None
    found: ClusterIdentity | None = None
    earlier: tuple[str, ...] = ()
    since: str = ""

    @property
    def change(self) -> ClusterChange | None:
        """The change that waits for a confirmation; None where nothing does."""
        if self.found is None:
            return None
        return ClusterChange(known=self.confirmed, found=self.found, since=self.since)


DAMAGED = KnownCluster(confirmed=None)
"""The memory where it can't be read: whatever cluster is found needs a confirmation."""


def identity_of(cluster: Cluster) -> ClusterIdentity:
    """The identity of a cluster, with its registry as last read or written."""
    return ClusterIdentity(
        cluster_id=cluster.cluster_id, registry_topic_id=cluster.registry.topic_id()
    )


def recognized(
    known: KnownCluster | None, found: ClusterIdentity, latest: Latest, project: str, now: str
) -> KnownCluster:
    """Return the memory after a turn found this cluster, whose registry holds ``latest``.

    ``project`` is the identity of the project. The first cluster that is ever found is known at
    once; so is a registry that is found where there was none.
    """
    if known is None or (known.confirmed is not None and _continues(known.confirmed, found)):
        return KnownCluster(confirmed=found)
    confirmations = tuple(_confirmations(latest, project))
    if known.found is None or not _continues(known.found, found):
        earlier = tuple(confirmation.nonce for confirmation in confirmations)
        return replace(known, found=found, earlier=earlier, since=now)
    if known.found.registry_topic_id is None and found.registry_topic_id is not None:
        # The registry came after the report: with the confirmation, or it is an older one.
        older = tuple(it.nonce for it in confirmations if it.at < known.since)
        known = replace(known, found=found, earlier=(*known.earlier, *older))
    for confirmation in confirmations:
        confirmed = ClusterIdentity(
            cluster_id=confirmation.cluster_id, registry_topic_id=confirmation.registry_topic_id
        )
        if confirmed == found and confirmation.nonce not in known.earlier:
            return KnownCluster(confirmed=found)
    return replace(known, found=found)


def _continues(known: ClusterIdentity, found: ClusterIdentity) -> bool:
    """Return whether it is the same cluster with the same registry, or with its first one."""
    if not found.cluster_id or known.cluster_id != found.cluster_id:
        return False
    return known.registry_topic_id in (None, found.registry_topic_id)


def confirmation_record(
    project: str | None, identity: ClusterIdentity, *, by: str, at: str
) -> Record:
    """Build the record that confirms the cluster with this registry."""
    document = ConfirmationDocument(
        by=by,
        at=at,
        cluster_id=identity.cluster_id,
        registry_topic_id=identity.registry_topic_id or "",
        nonce=secrets.token_hex(16),
    )
    return record(confirmation_key(project), document)


def _confirmations(latest: Latest, project: str) -> Iterator[ConfirmationDocument]:
    for identity in (None, project):
        key = confirmation_key(identity)
        if key not in latest:
            continue
        yield read_confirmation(key, latest[key])


def known_to_text(known: KnownCluster) -> str:
    """The text of a memory, for later processes."""
    return msgspec.json.encode(known).decode() + "\n"


def known_from_text(text: str) -> KnownCluster:
    """The memory in a text.

    Raises:
        ValueError: the text is none.
    """
    return msgspec.json.decode(text, type=KnownCluster)
