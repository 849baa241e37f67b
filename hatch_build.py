"""The README as an index shows it: its links and pictures are in the repository."""

import re
from pathlib import Path

from hatchling.metadata.plugin.interface import MetadataHookInterface

_RELATIVE = re.compile(r"(?<=\]\()(?!https?://|#)([^)\s]+)")
_PICTURE = re.compile(r"(?<=\]\()(docs/images/[^)\s]+)")


class ReadmeHook(MetadataHookInterface):
    """Fills in ``project.readme``."""

    def update(self, metadata: dict[str, object]) -> None:
        """Called by the build with what pyproject.toml says."""
        urls = metadata["urls"]
        if not isinstance(urls, dict):
            raise TypeError("project.urls is no table")
        text = (Path(self.root) / "README.md").read_text(encoding="utf-8")
        pictures = _PICTURE.sub(rf"{urls['Repository']}/raw/main/\1", text)
        absolute = _RELATIVE.sub(rf"{urls['Repository']}/blob/main/\1", pictures)
        metadata["readme"] = {"content-type": "text/markdown", "text": absolute}
