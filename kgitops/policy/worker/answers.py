"""Judgements as plain JSON, short where everything passed, and back.

A policy may have broken the process that wrote them: nothing in them is believed that isn't right.
"""

from collections.abc import Sequence
from typing import Any

from kgitops.model.source import Finding, Source
from kgitops.policy.evaluate.judgement import Judgement, Outcome, Ruling
from kgitops.policy.evaluate.rules import Policy, Waiver


class Answers:
    """Writes and reads judgements by these policies, in order, and these waivers.

    Where all passed, a judgement is the number whose bits are the policies that judged. Else it
    is a list: a policy's index where it passed, a list of the ruling's parts where it didn't.
    """

    def __init__(self, policies: Sequence[Policy], waivers: Sequence[Waiver]) -> None:
        self._waivers = waivers
        self._policies = policies
        # Two may share a name, where one class judges twice; their rulings look the same.
        self._index = {(policy.name, policy.level): index for index, policy in enumerate(policies)}
        self._passed = [
            Ruling(policy=policy.name, level=policy.level, outcome=Outcome.PASSED)
            for policy in policies
        ]
        self._read: dict[int, Judgement] = {}
        self._written: dict[int, tuple[Judgement, int]] = {}  # by the judgement's id

    def written(self, judgement: Judgement) -> object:
        """The judgement as JSON's own values."""
        known = self._written.get(id(judgement))
        if known is not None:
            return known[1]
        parts = [self._parts(ruling) for ruling in judgement.rulings]
        passed = {part for part in parts if isinstance(part, int)}
        if len(passed) != len(parts):
            return parts
        bits = sum(1 << index for index in passed)
        # Held on to, so that no other judgement can get its id.
        self._written[id(judgement)] = judgement, bits
        return bits

    def read(self, written: Any) -> Judgement:  # noqa: ANN401 (any JSON)
        """The judgement again; ValueError and its kin for what ``written`` never made."""
        if type(written) is int:
            if written not in self._read:
                self._read[written] = Judgement(tuple(self._all_in(written)))
            return self._read[written]
        return Judgement(tuple(self._ruling(parts) for parts in written))

    def _parts(self, ruling: Ruling) -> int | list[object]:
        index = self._index[ruling.policy, ruling.level]
        if ruling.outcome is Outcome.PASSED:
            return index
        waiver = self._waivers.index(ruling.waiver) if ruling.waiver else None
        found = ruling.message, ruling.field, ruling.fingerprint, ruling.rule
        return [index, *found, waiver, ruling.crashed]

    def _ruling(self, parts: Any) -> Ruling:  # noqa: ANN401 (any JSON)
        if type(parts) is int:
            return self._passed[_at(parts, self._passed)]
        index, message, field, fingerprint, rule, waiver, crashed = parts
        policy = self._policies[_at(index, self._policies)]
        if not isinstance(message, str) or not isinstance(crashed, bool):
            raise TypeError("no ruling")
        return Ruling(
            policy=policy.name,
            level=policy.level,
            outcome=Outcome.DENIED if waiver is None else Outcome.WAIVED,
            message=message,
            field=None if field is None else str(field),
            fingerprint=None if fingerprint is None else str(fingerprint),
            waiver=None if waiver is None else self._waivers[_at(waiver, self._waivers)],
            crashed=crashed,
            rule=None if rule is None else int(rule),
        )

    def _all_in(self, bits: int) -> list[Ruling]:
        if not 0 <= bits < 1 << len(self._passed):
            raise ValueError("no set of policies")
        return [passed for index, passed in enumerate(self._passed) if bits >> index & 1]


def _at(index: int, items: Sequence[object]) -> int:
    if not 0 <= index < len(items):
        raise IndexError(index)
    return index


def written_findings(findings: Sequence[Finding]) -> object:
    """Why policies can't be loaded, as JSON's own values."""
    return [[_place(finding.source), finding.problem, finding.advice] for finding in findings]


def read_findings(written: Any) -> list[Finding]:  # noqa: ANN401 (any JSON)
    """The findings again; ValueError and its kin for what ``written_findings`` never made."""
    return [
        Finding(
            source=None if place is None else Source(str(place[0]), int(place[1]), int(place[2])),
            problem=str(problem),
            advice=str(advice),
        )
        for place, problem, advice in written
    ]


def _place(source: Source | None) -> object:
    return None if source is None else [source.file, source.line, source.column]
