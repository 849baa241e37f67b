"""The two digests of a plan's file, computed while its changes pass by: none is kept."""

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import replace

from kgitops.model.json.canonical import canonical_json
from kgitops.model.registry import Json
from kgitops.model.verdict import verdict_to_json
from kgitops.plan.document.plan import Plan
from kgitops.plan.document.to_json import plan_to_json, summary

_CHANGES = "changes"


def body_of(plan: Plan) -> dict[str, Json]:
    """The plan's JSON with an empty list of changes; its summary and verdict are the plan's."""
    whole = {"summary": summary(plan), "verdict": verdict_to_json(plan.verdict)}
    return {**plan_to_json(replace(plan, changes=())), **whole}


class RunningDigests:
    """Takes each change's canonical JSON in the plan's order; then says what ``seal`` would."""

    def __init__(self, body: Mapping[str, Json]) -> None:
        self._parts = {key: canonical_json(body[key]) for key in sorted(body) if key != _CHANGES}
        before = [key for key in self._parts if key < _CHANGES]
        self._hash = hashlib.sha256(b"{%s" % b"".join(b"%s," % self._part(key) for key in before))
        self._hash.update(b'"changes":[')
        self._rest = {key: self._part(key) for key in self._parts if key > _CHANGES}
        self._first = True

    def add(self, texts: Iterable[bytes]) -> None:
        """The next changes."""
        joined = b",".join(texts)
        if joined:
            self._hash.update(b"" if self._first else b",")
            self._hash.update(joined)
            self._first = False

    def finish(self, envelope: Mapping[str, str]) -> tuple[str, str]:
        """``plan_digest`` and ``envelope.digest``, of an envelope without its digest."""
        plan_digest = self._ended(self._rest)
        sealed = {
            "plan_digest": b'"plan_digest":%s' % canonical_json(plan_digest),
            "envelope": b'"envelope":%s' % canonical_json(envelope),
        }
        return plan_digest, self._ended({**self._rest, **sealed})

    def _part(self, key: str) -> bytes:
        return b'"%s":%s' % (key.encode(), self._parts[key])

    def _ended(self, rest: Mapping[str, bytes]) -> str:
        whole = self._hash.copy()
        whole.update(b"]%s}" % b"".join(b",%s" % rest[key] for key in sorted(rest)))
        return f"sha256:{whole.hexdigest()}"
