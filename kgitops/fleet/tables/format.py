"""The format of the two tables: their columns, the fingerprints in them, and writing their files.

A row is one address; the first row of a table is its header. A file is there as a whole or not at
all.
"""

import hashlib
import os
import secrets
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from itertools import islice
from operator import itemgetter
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from kgitops.model.errors import KgitopsError
from kgitops.model.json.canonical import canonical_json
from kgitops.model.registry import Json

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
        ("fingerprint", pa.binary(FINGERPRINT_BYTES)),  # null: always compare
        ("owner", pa.string()),  # the project's identity; null: unmanaged
        ("owner_topic_id", pa.string()),
        ("exists", pa.bool_()),  # whether it is on the cluster
        ("adopted", pa.bool_()),
        ("spent", pa.bool_()),
        ("partitions", pa.int32()),  # of topics
        ("context", pa.bool_()),  # other objects' plans depend on it
        ("last_applied", pa.string()),  # canonical JSON
        ("found", pa.string()),  # canonical JSON; null for what has no row of its own there
    ]
)
"""A cluster: its objects, their owners, and what was last applied.

The header's ``found`` is the snapshot without its objects; it says how many rows follow.
"""

DESIRED = pa.schema(
    [
        ("kind", pa.string()),  # of the address, or "project" for the header
        ("address", pa.string()),
        ("name", pa.string()),  # as in a state
        ("bucket", pa.int16()),
        ("fingerprint", pa.binary(FINGERPRINT_BYTES)),  # null: always compare
        ("context", pa.bool_()),  # as in a state
        ("declared", pa.string()),  # canonical JSON, as the registry remembers what is applied
        ("file", pa.string()),
        ("line", pa.int32()),
        ("column", pa.int32()),
        ("labels", pa.string()),  # canonical JSON; null where there are none
        ("origins", pa.string()),  # canonical JSON; null if all values are the document's own
    ]
)
"""One project's objects for one cluster.

The header's ``declared`` has the project, its scope and its limits; it says how many rows follow.
"""


_SCHEME = b"kgitops-1"


def fingerprint(identity: str, address: str, declared: Mapping[str, Json]) -> bytes:
    """The fingerprint of what the project ``identity`` declares, or last applied, at ``address``.

    ``declared`` is the registry's normal form (``plan.normal_form.last_applied``).
    """
    return fingerprint_of_text(identity, address, canonical_json(declared))


def fingerprint_of_text(identity: str, address: str, declared: bytes) -> bytes:
    """The fingerprint of a declaration that is canonical JSON already."""
    head = f"{identity}\0{address}\0".encode()
    return hashlib.blake2b(head + declared, digest_size=FINGERPRINT_BYTES, person=_SCHEME).digest()


def bucket_of(address: str) -> int:
    """The part of the cluster, of 256, that an address belongs to, on either side."""
    return hashlib.blake2b(address.encode(), digest_size=1).digest()[0]


Row = dict[str, object]


class UnwritableError(KgitopsError):
    """A file can't be written."""


ROWS_AT_ONCE = 32_768
"""A row group: what a reader holds of the large columns at a time."""


def write_rows(rows: Iterable[Row], schema: pa.Schema, path: Path) -> None:
    """Write ``rows``; a page that changes afterwards is noticed by its checksum.

    Raises:
        UnwritableError: the file can't be written; what was there before still is.
    """
    write_tables(_tables(rows, schema), schema, path)


def write_tables(tables: Iterable[pa.Table], schema: pa.Schema, path: Path) -> None:
    """Write a row group for each of ``tables``; errors as of ``write_rows``."""
    with (
        _whole(path) as draft,
        pq.ParquetWriter(
            draft,
            schema,
            compression="zstd",
            use_dictionary=["kind", "owner", "file"],
            write_page_checksum=True,
        ) as writer,
    ):
        for table in tables:
            writer.write_table(table)


def in_order(rows: Iterable[Row]) -> list[Row]:
    """By bucket and address, so that a range of buckets is a range of row groups."""
    return sorted(rows, key=itemgetter("bucket", "address"))


def _tables(rows: Iterable[Row], schema: pa.Schema) -> Iterator[pa.Table]:
    rest = iter(rows)
    while batch := list(islice(rest, ROWS_AT_ONCE)):
        yield pa.Table.from_pylist(batch, schema)


@contextmanager
def _whole(path: Path) -> Iterator[Path]:
    """A draft that becomes the file at ``path``; readers of tables pass over its name.

    A missing folder is made. Only the owner may read the file. Two writers don't meet.
    """
    place = Path(os.path.realpath(path))
    draft = place.with_name(f".{place.name}.{secrets.token_hex(8)}.tmp")
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        draft.touch(mode=0o600)
        yield draft
        with draft.open("rb") as written:
            os.fsync(written.fileno())
        draft.replace(place)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise UnwritableError(
            f"{path} can't be written: {reason}; make room, or choose another place"
        ) from error
    finally:
        with suppress(OSError):
            draft.unlink(missing_ok=True)
