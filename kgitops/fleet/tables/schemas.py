"""The columns of the two tables. A row is one address; the first row of a table is its header."""

import pyarrow as pa

FORMAT_VERSION = "1.0"
CLUSTER_ROW = "cluster"
PROJECT_ROW = "project"
FINGERPRINT_BYTES = 16

STATE = pa.schema(
    [
        ("kind", pa.string()),  # of the address (kind_of), or "cluster" for the header
        ("address", pa.string()),
        ("name", pa.string()),  # a topic's, not one of a virtual cluster; an ACL's resource's
        ("bucket", pa.int16()),  # 0 to 255 by the address, so that a huge cluster can be cut
        ("fingerprint", pa.binary(FINGERPRINT_BYTES)),  # null: always look
        ("owner", pa.string()),  # the project's identity; null: nobody manages it
        ("owner_topic_id", pa.string()),
        ("exists", pa.bool_()),  # whether it is on the cluster
        ("adopted", pa.bool_()),
        ("spent", pa.bool_()),
        ("partitions", pa.int32()),  # of topics
        ("context", pa.bool_()),  # bears on the plans of other objects
        ("last_applied", pa.string()),  # canonical JSON
        ("found", pa.string()),  # canonical JSON; null for what has no row of its own there
    ]
)
"""A cluster: what is there, who manages it, and what they last applied.

The header's ``found`` is the snapshot without its objects; it says how many rows follow.
"""

DESIRED = pa.schema(
    [
        ("kind", pa.string()),  # of the address, or "project" for the header
        ("address", pa.string()),
        ("name", pa.string()),  # as in a state
        ("bucket", pa.int16()),
        ("fingerprint", pa.binary(FINGERPRINT_BYTES)),  # null: always look
        ("context", pa.bool_()),  # as in a state
        ("declared", pa.string()),  # canonical JSON, as the registry remembers what is applied
        ("file", pa.string()),
        ("line", pa.int32()),
        ("column", pa.int32()),
        ("labels", pa.string()),  # canonical JSON; null where there are none
    ]
)
"""What one project declares for one cluster.

The header's ``declared`` has the project, its scope and its limits; it says how many rows follow.
"""
