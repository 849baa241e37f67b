"""Merges bindings that roles declare besides other documents: what roles allow may overlap."""

from collections.abc import Sequence

from msgspec.structs import replace

from kgitops.desired.expansion.roles import is_of_role
from kgitops.desired.findings import Declaration, DeclaredObject, Findings
from kgitops.model.json.declared import DesiredAcl

_Declared = tuple[DesiredAcl, Declaration]


def merge_overlaps(objects: Sequence[DeclaredObject], findings: Findings) -> list[DeclaredObject]:
    """The objects, with each binding once that several documents declare, all but one by a role.

    It has the labels of all of them. Two that differ in a label or in deletionPolicy stay, and are
    reported; so do bindings that are written out twice.
    """
    if not any(is_of_role(desired.located) for desired, _ in objects):
        return list(objects)
    by_address: dict[str, list[_Declared]] = {}
    for desired, document in objects:
        if isinstance(desired, DesiredAcl):
            by_address.setdefault(desired.address, []).append((desired, document))
    merged: dict[str, DesiredAcl | None] = {
        address: _merged(several, findings)
        for address, several in by_address.items()
        if len(several) > 1 and _may_overlap(several)
    }
    kept: list[DeclaredObject] = []
    for desired, document in objects:
        if desired.address not in merged:
            kept.append((desired, document))
        elif (one := merged[desired.address]) is not None:
            kept.append((one, document))
            merged[desired.address] = None
    return kept


def _may_overlap(several: Sequence[_Declared]) -> bool:
    documents = {id(document) for _, document in several}
    written_out = sum(not is_of_role(desired.located) for desired, _ in several)
    return len(documents) == len(several) and written_out <= 1


def _merged(several: Sequence[_Declared], findings: Findings) -> DesiredAcl:
    first, where = several[0]
    for other, document in several[1:]:
        differing = _differing(first, other)
        if differing is not None:
            findings.error(
                document,
                ("spec", "role"),
                f"{other.address} is declared already at {where.source}, with another {differing}",
                f"write the same {differing} in both documents, or declare it in one of them",
            )
        labels = {**other.labels, **first.labels}
        written = first.deletion_policy_written or other.deletion_policy_written
        first = replace(first, labels=labels, deletion_policy_written=written)
    return first


def _differing(one: DesiredAcl, other: DesiredAcl) -> str | None:
    if one.deletion_policy is not other.deletion_policy:
        return "deletionPolicy"
    shared = one.labels.keys() & other.labels.keys()
    return next(
        (f"label {key}" for key in sorted(shared) if one.labels[key] != other.labels[key]), None
    )
