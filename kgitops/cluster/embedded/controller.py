"""The controller: the one place where decisions become records, and records the next image."""

import secrets
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from msgspec.structs import replace

from kgitops.cluster.embedded.authorizer import Authorizer
from kgitops.cluster.embedded.draft import Draft
from kgitops.cluster.embedded.image.image import BrokersImage, Image
from kgitops.cluster.embedded.image.replay import Delta
from kgitops.cluster.embedded.image.state import build_cluster_state, find_objects
from kgitops.cluster.embedded.options import (
    BROKER_PRINCIPAL,
    ClockAndIds,
    Faults,
    GroupMembers,
    Options,
)
from kgitops.cluster.embedded.policy_hook import BrokerPolicies
from kgitops.cluster.embedded.store.authorship import field_authors
from kgitops.cluster.embedded.store.batches import BatchTables
from kgitops.cluster.embedded.store.errors import damaged
from kgitops.cluster.embedded.store.registry_log import EmbeddedRegistryLog
from kgitops.cluster.embedded.store.store import Store
from kgitops.cluster.port import Author, Authors
from kgitops.model.cluster_state import ClusterState
from kgitops.model.resources.kinds import Kind
from kgitops.virtual_clusters.resolution import bind

T = TypeVar("T")

LOCALHOST = "127.0.0.1"
_SALT_META = "salt_secret"


class Controller:
    """Holds an open store and its current image, and appends decisions to both."""

    def __init__(self, store: Store, options: Options, clock_and_ids: ClockAndIds) -> None:
        self.options = options
        self.clock_and_ids = clock_and_ids
        self.faults = Faults()
        self.policies: BrokerPolicies | None = None
        self.members: GroupMembers | None = None
        self.unstarted_brokers: frozenset[int] = frozenset()
        self._seen: tuple[Image, Image] | None = None
        self._store = store
        # SQLite's connection serves one thread at a time; apply has several.
        self._turn = threading.RLock()
        self.registry = EmbeddedRegistryLog(
            store, self._turn, clock_ms=clock_and_ids.now_ms, new_id=clock_and_ids.new_id
        )
        with store.reading():
            cluster_id = store.meta("cluster_id")
            if cluster_id is None:
                raise damaged(store.name, "it has no cluster id")
            self.cluster_id = cluster_id
            self._position = store.load()

    @property
    def end_offset(self) -> int:
        """The offset after the last batch of the log that this process has read."""
        return self._position.offset + 1

    def image(self) -> Image:
        """The cluster now, including records that other processes appended."""
        with self.consistent_image() as image:
            return image

    def recent_image(self) -> Image:
        """The cluster now; while another thread decides, as it was before that decision."""
        if not self._turn.acquire(blocking=False):
            return self._with_unstarted(self._position.image)
        try:
            return self.image()
        finally:
            self._turn.release()

    @contextmanager
    def consistent_image(self) -> Iterator[Image]:
        """The cluster at one moment, at which the registry can be read too."""
        with self._turn, self._store.reading():
            self._position = self._store.catch_up(self._position)
            yield self._with_unstarted(self._position.image)

    def show(self, image: Image) -> ClusterState:
        """The cluster as policies see it."""
        state = build_cluster_state(
            image,
            self.options,
            cluster_id=self.cluster_id,
            topics=None,
            registry=None,
            captured_at="",
        )
        if not image.scram.users:
            return state
        users = find_objects(image, Kind.USER, None, frozenset())
        return state.with_objects(users, Kind.USER)

    def authors(self) -> Authors:
        """The last author of each field, as far back as the log goes."""
        with self._turn, self._store.reading():
            return field_authors(
                (
                    (Author(principal, timestamp_ms), records)
                    for timestamp_ms, principal, records in self._store.history()
                ),
                BROKER_PRINCIPAL,
            )

    def read(
        self,
        answer: Callable[[Draft], T],
        image: Image,
        *,
        principal: str,
        host: str = LOCALHOST,
        client_id: str | None = None,
    ) -> T:
        """Let ``answer`` answer a request from this image; nothing is waited for or written."""
        return answer(self._draft(image, principal, host, client_id, validate_only=True))

    def decide(
        self,
        decide: Callable[[Draft], T],
        *,
        principal: str = BROKER_PRINCIPAL,
        host: str = LOCALHOST,
        client_id: str | None = None,
        validate_only: bool = False,
        until_ms: int | None = None,
    ) -> T:
        """Let ``decide`` answer a request, and append the records it wrote unless only validating.

        The caller's virtual cluster is looked up again for each request (VC-091). ``until_ms`` is
        the end of the lock's lease, for the holder of the lock.

        Raises:
            ExcessivelyLargeBatchError: it wrote too many records; none was appended.
            LockedError: another process is writing for too long, or the lock was lost.
            UnreachableError: the store can't be read or written.
        """
        with self._turn:
            after: Image | None = None
            try:
                if validate_only:
                    draft = self._draft(
                        self.image(), principal, host, client_id, validate_only=True
                    )
                    return decide(draft)
                with self._store.writing():
                    if until_ms is not None:
                        # In this very transaction: the lock can't be taken over before its end.
                        self.registry.check_lease(until_ms)
                    position = self._store.catch_up(self._position)
                    image = self._with_unstarted(position.image)
                    draft = self._draft(image, principal, host, client_id)
                    answer = decide(draft)
                    self._store.append_batches(image, draft.batches)
                    if draft.records:
                        position = self._store.append(
                            position,
                            draft.records,
                            timestamp_ms=self.clock_and_ids.now_ms(),
                            principal=principal,
                        )
                # The position moves only after the commit.
                self._position = position
                after = self._with_unstarted(position.image)
                return answer
            finally:
                if self.policies is not None:
                    self.policies.end(after)

    def salt_secret(self) -> bytes:
        """Return the store's 32 secret bytes behind the salts of users that don't exist.

        Raises:
            LockedError: another process is writing for too long.
            UnreachableError: the store can't be read or written.
        """
        with self._turn, self._store.writing():
            kept = self._store.meta(_SALT_META)
            if kept is None:
                kept = secrets.token_hex(32)
                self._store.set_meta(_SALT_META, kept)
        return bytes.fromhex(kept)

    @property
    def batches(self) -> BatchTables:
        """The record batches in the store, for whoever takes a turn with them, or reads alone."""
        return self._store.batches

    @contextmanager
    def reading_batches(self) -> Iterator[Image]:
        """Read batches at one moment of the cluster."""
        with self.consistent_image() as image:
            yield image

    @contextmanager
    def writing_batches(self) -> Iterator[Image]:
        """Append batches to partitions of the cluster, all of them or none.

        Raises:
            LockedError: another process is writing for too long.
            UnreachableError: the store can't be read or written.
        """
        with self._turn:
            if not self._store.batches.exist:
                with self._store.writing():
                    self._store.create_batches(self._store.catch_up(self._position).image)
            with self._store.writing_batches():
                self._position = self._store.catch_up(self._position)
                yield self._with_unstarted(self._position.image)

    def close(self) -> None:
        """Close the store, and the policies."""
        with self._turn:
            self._store.close()
            if self.policies is not None:
                self.policies.close()

    def _with_unstarted(self, image: Image) -> Image:
        """The image in this process: brokers that could not start here are fenced.

        The store does not hold that, as it does not hold configs.
        """
        if not self.unstarted_brokers:
            return image
        if self._seen is None or self._seen[0] is not image:
            brokers = {
                broker.id: replace(
                    broker, fenced=broker.fenced or broker.id in self.unstarted_brokers
                )
                for broker in image.brokers.brokers.values()
            }
            self._seen = image, replace(image, brokers=BrokersImage(brokers=brokers))
        return self._seen[1]

    def _draft(
        self,
        image: Image,
        principal: str,
        host: str,
        client_id: str | None,
        *,
        validate_only: bool = False,
    ) -> Draft:
        binding = bind(image.virtual_clusters, principal, client_id)
        return Draft(
            delta=Delta(image),
            authorizer=Authorizer(self.options, image.acls.bindings, principal, host, binding),
            options=self.options,
            new_id=self.clock_and_ids.new_id,
            new_uuid=self.clock_and_ids.new_uuid,
            faults=self.faults,
            validate_only=validate_only,
            policies=self.policies,
            members=self.members,
        )
