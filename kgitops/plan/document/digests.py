"""The digests of a plan, over its canonical JSON, without holding all of its changes at once."""

import hashlib
from collections.abc import Iterable

from kgitops.model.json.canonical import canonical_json
from kgitops.plan.document.documents import (
    PLAN_KEYS,
    EnvelopeDocument,
    PlanDocument,
    RunToResume,
    written_keys,
)

_CHANGES = "changes"


class RunningDigests:
    """Takes each change's canonical JSON in the plan's order; then has the plan's digests."""

    def __init__(self, document: PlanDocument) -> None:
        parts = {
            # The keys are ASCII, so their order is RFC 8785's.
            key: _part(key, getattr(document, key))
            for key in sorted(written_keys(PLAN_KEYS, lambda key: getattr(document, key)))
            if key != _CHANGES
        }
        before = b"".join(b"%s," % parts[key] for key in parts if key < _CHANGES)
        self._hash = hashlib.sha256(b'{%s"changes":[' % before)
        self._rest = {key: part for key, part in parts.items() if key > _CHANGES}
        self._first = True

    def add(self, changes: Iterable[bytes]) -> None:
        """Add the next changes."""
        joined = b",".join(changes)
        if joined:
            self._hash.update(b"" if self._first else b",")
            self._hash.update(joined)
            self._first = False

    def finish(
        self, envelope: EnvelopeDocument, unfinished_run: RunToResume | None = None
    ) -> tuple[str, str]:
        """Return the digest of the plan, and that of the whole file with its envelope."""
        plan_digest = self._digest({})
        covered = {
            "captured_at": envelope.captured_at,
            "created": envelope.created,
            "expires": envelope.expires,
            "nonce": envelope.nonce,
        }
        sealed: dict[str, object] = {"plan_digest": plan_digest, "envelope": covered}
        if unfinished_run is not None:
            sealed["unfinished_run"] = unfinished_run
        return plan_digest, self._digest({key: _part(key, sealed[key]) for key in sealed})

    def _digest(self, more: dict[str, bytes]) -> str:
        rest = self._rest | more
        whole = self._hash.copy()
        whole.update(b"]%s}" % b"".join(b",%s" % rest[key] for key in sorted(rest)))
        return f"sha256:{whole.hexdigest()}"


def _part(key: str, value: object) -> bytes:
    return b'"%s":%s' % (key.encode(), canonical_json(value))
