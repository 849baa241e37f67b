"""The columns of what a run leaves behind; the folder of a row's file names its cluster.

Their order is the order of writing. Columns may be added within a major version, not changed.
"""

from enum import StrEnum

import pyarrow as pa


class Table(StrEnum):
    """The tables, as their folders are called."""

    PLANS = "plans"
    CHANGES = "changes"
    REQUESTS = "requests"
    VIOLATIONS = "violations"
    FINDINGS = "findings"


class Status(StrEnum):
    """What became of a unit."""

    PLANNED = "planned"
    FAILED = "failed"


REASON = pa.struct([("exit", pa.int16()), ("sentence", pa.string())])
FIELD = pa.struct(
    [
        ("path", pa.string()),
        ("before", pa.string()),  # null: absent
        ("after", pa.string()),
        ("code", pa.string()),  # of the risk, null where there is none
        ("note", pa.string()),
    ]
)

PLANS = pa.schema(
    [
        ("project", pa.string()),
        ("identity", pa.string()),
        ("status", pa.string()),
        ("exit", pa.int16()),
        ("reasons", pa.list_(REASON)),
        ("plan", pa.large_string()),  # canonical JSON without its changes; null: failed
        ("plan_digest", pa.string()),
        ("captured_at", pa.string()),
        ("created", pa.string()),
        ("expires", pa.string()),
        ("nonce", pa.string()),
        ("digest", pa.string()),  # of the plan's file
    ]
)
"""One row a unit; the last five are the plan's envelope."""

CHANGES = pa.schema(
    [
        ("project", pa.string()),
        ("position", pa.int32()),  # from 0, the plan's order
        ("address", pa.string()),
        ("kind", pa.string()),
        ("actions", pa.list_(pa.string())),
        ("code", pa.string()),
        ("level", pa.string()),
        ("because", pa.string()),
        ("file", pa.string()),
        ("line", pa.int32()),
        ("column", pa.int32()),
        ("fields", pa.list_(FIELD)),
        ("change", pa.string()),  # canonical JSON of the whole change
    ]
)
REQUESTS = pa.schema(
    [
        ("project", pa.string()),
        ("address", pa.string()),
        ("id", pa.string()),
        ("api", pa.string()),
        ("depends_on", pa.list_(pa.string())),
        ("validated", pa.string()),
        ("body", pa.string()),  # canonical JSON
    ]
)
VIOLATIONS = pa.schema(
    [
        ("project", pa.string()),
        ("address", pa.string()),
        ("policy", pa.string()),
        ("level", pa.string()),
        ("outcome", pa.string()),  # denied or waived; at a level below soft it only warns
        ("message", pa.string()),
        ("fingerprint", pa.string()),  # null: the policy itself failed
        ("remediation", pa.string()),
        ("file", pa.string()),
        ("line", pa.int32()),
        ("column", pa.int32()),
    ]
)
FINDINGS = pa.schema(
    [
        ("project", pa.string()),
        ("severity", pa.string()),
        ("problem", pa.string()),
        ("advice", pa.string()),
        ("file", pa.string()),
        ("line", pa.int32()),
        ("column", pa.int32()),
    ]
)

SCHEMAS: dict[Table, pa.Schema] = {
    Table.PLANS: PLANS,
    Table.CHANGES: CHANGES,
    Table.REQUESTS: REQUESTS,
    Table.VIOLATIONS: VIOLATIONS,
    Table.FINDINGS: FINDINGS,
}
