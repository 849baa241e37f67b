"""Folders such as ``cluster=prod``, as Hive and Spark name the partitions of a table."""

import re
from urllib.parse import unquote

NULL = "__HIVE_DEFAULT_PARTITION__"
# What Hive and Spark escape (ExternalCatalogUtils.escapePathName), and nothing else.
_ESCAPED = re.compile(r"""[\x00-\x1f\x7f"#%'*/:=?\\{\[\]^]""")
_PARTITION = re.compile(r"([^=]+)=(.*)", re.DOTALL)


def partition_folder(key: str, value: str) -> str:
    """The name of the folder that holds the rows whose column ``key`` is ``value``."""
    return f"{key}={_ESCAPED.sub(lambda found: f'%{ord(found[0]):02X}', value) or NULL}"


def partition_of(folder: str) -> tuple[str, str] | None:
    """Column and value of a partition's folder; None for any other folder.

    The value is empty where the folder says that there is none. Escapes beyond ASCII, which Spark
    never writes, are read as UTF-8, which is what others mean by them.
    """
    found = _PARTITION.fullmatch(folder)
    if found is None:
        return None
    value = unquote(found[2], errors="surrogateescape")
    return found[1], "" if value == NULL else value


def is_passed_over(name: str) -> bool:
    """Whether Spark too would not take a file or folder of this name for data: ``_SUCCESS``."""
    return name.startswith(".") or (name.startswith("_") and "=" not in name)
