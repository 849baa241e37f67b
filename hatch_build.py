"""The README as an index shows it: its links lead to the repository, for an index has no files."""

import re
from pathlib import Path

from hatchling.metadata.plugin.interface import MetadataHookInterface

_RELATIVE = re.compile(r"(?<=\]\()(?!https?://|#)([^)\s]+)")


class ReadmeHook(MetadataHookInterface):
    """Fills in ``project.readme``."""

    def update(self, metadata: dict[str, object]) -> None:
        """Called by the build with what pyproject.toml says."""
        urls = metadata["urls"]
        if not isinstance(urls, dict):
            raise TypeError("project.urls is no table")
        text = (Path(self.root) / "README.md").read_text(encoding="utf-8")
        absolute = _RELATIVE.sub(rf"{urls['Repository']}/blob/main/\1", text)
        metadata["readme"] = {"content-type": "text/markdown", "text": absolute}
