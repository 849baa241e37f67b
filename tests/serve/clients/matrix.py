"""The table of clients and how many of their calls pass, as the tests assert it."""

from collections.abc import Mapping
from pathlib import Path

PAGE = Path(__file__).parents[3] / "docs" / "internals" / "serve-clients.md"
WRITE = "KGITOPS_WRITE_CLIENTS"
FAMILIES = (
    "cluster",
    "topics",
    "configs",
    "ACLs",
    "quotas",
    "users",
    "moves",
    "groups",
    "records",
    "transactions",
)

PASSED: Mapping[str, Mapping[str, int]] = {}
"""By client, the number of calls that pass in each family."""
