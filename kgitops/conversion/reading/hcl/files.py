"""The files of the source that expressions read: `file`, `fileset`, `templatefile`."""

import os
import posixpath
import re
from collections.abc import Iterator

from kgitops.conversion.reading.folder import SourceFolder, read_source
from kgitops.conversion.reading.hcl.functions import go_pattern
from kgitops.conversion.reading.hcl.scopes import NotKnownError
from kgitops.manifests.yaml.document import SourceText

_ARMOR = "-----BEGIN"
"""The beginning of a certificate or a key, which is no value of an object."""
_GLOB = re.compile(r"\*\*/|\*\*|\*|\?|\[!?[^]]+\]|\{[^{}]*\}|.", re.DOTALL)


class RootFiles:
    """The files of the converted folder, by paths that start from the root module.

    Terraform starts there too, because it is run there. A file outside of the folder is not known.
    """

    def __init__(self, folder: SourceFolder, root: str) -> None:
        self._root = root
        self._disk = folder.root
        self._files = {file.relative: file for file in folder.files}
        self._texts: dict[str, str | None] = {}
        self._matching: dict[tuple[str, str], list[str]] = {}

    def text(self, path: str) -> str:
        """The text of a file.

        Raises:
            NotKnownError: it is not among the files, or is a secret or no text.
        """
        inside = self._inside(path)
        if inside not in self._texts:
            file = self._files.get(inside)
            text = read_source(file) if file is not None else None
            self._texts[inside] = text.text if isinstance(text, SourceText) else None
        found = self._texts[inside]
        if found is None or found.startswith(_ARMOR):
            raise NotKnownError(path)
        return found

    def has(self, path: str) -> bool:
        """Return whether there is such a file.

        Raises:
            NotKnownError: the path leads out of the folder.
        """
        return self._inside(path) in self._files

    def matching(self, folder: str, pattern: str) -> list[str]:
        """The paths of the files below a folder that match, in order.

        Raises:
            NotKnownError: the folder is not the converted one, nor in it, or Terraform would find a
                hidden file, which kgitops does not read.
        """
        start = self._inside(folder)
        start = f"{start}/" if start else ""
        key = (start, pattern)
        if key not in self._matching:
            whole = go_pattern(_regular(pattern))
            for path in self._hidden(start):
                if whole.fullmatch(path):
                    raise NotKnownError(path)
            below = (path.removeprefix(start) for path in self._files if path.startswith(start))
            self._matching[key] = sorted(path for path in below if whole.fullmatch(path))
        return list(self._matching[key])

    def _hidden(self, start: str) -> Iterator[str]:
        """The paths of files below a folder that are hidden, or in a hidden folder."""
        above = self._disk / start
        for folder, _, names in os.walk(above):
            inside = os.path.relpath(folder, above).replace(os.sep, "/")
            for name in names:
                path = name if inside == "." else f"{inside}/{name}"
                if path.startswith(".") or "/." in path:
                    yield path

    def _inside(self, path: str) -> str:
        """A path that starts from the converted folder."""
        found = posixpath.normpath(posixpath.join(self._root, path))
        if posixpath.isabs(path) or found == ".." or found.startswith("../"):
            raise NotKnownError(path)
        return "" if found == "." else found


def _regular(pattern: str) -> str:
    """A pattern of `fileset` as a regular expression."""
    parts = []
    for sign in _GLOB.findall(pattern):
        match sign[0]:
            case "*":
                parts.append({"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*"}[sign])
            case "?":
                parts.append("[^/]")
            case "[" if len(sign) > 1:
                inside = sign[1:-1].replace("\\", "\\\\")
                parts.append(f"[^{inside[1:]}]" if inside[0] == "!" else f"[{inside}]")
            case "{" if len(sign) > 1:
                choices = sign[1:-1].split(",")
                parts.append(f"(?:{'|'.join(map(_regular, choices))})")
            case _:
                parts.append(re.escape(sign))
    return "".join(parts)
