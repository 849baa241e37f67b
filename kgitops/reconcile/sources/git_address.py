"""Checks where a git repository is said to be, and takes logins out of text that is shown."""

import re
from collections.abc import Iterable
from pathlib import Path, PurePosixPath
from urllib.parse import SplitResult, urlsplit

from msgspec import Struct

from kgitops.model.errors import UsageError
from kgitops.model.resources.names import is_loopback

_COMMIT = re.compile(r"(?a:[0-9a-f]{40}|[0-9a-f]{64})")
_SSH_SHORT = re.compile(r"(?a:(?:([\w.][\w.-]*)@)?(\w[\w.-]*):(?!:)([^-\s].*))")
_HOST = re.compile(r"(?a:\w[\w.-]*|[0-9a-fA-F:.]+)")
_NOT_IN_REFS = re.compile(r"[\x00-\x20\x7f~^:?*\[\\]|\.\.|@\{|//|^[-/]|/$|\.$|(^|/)\.|\.lock(/|$)")
_USERINFO = re.compile(r"(?a:(\w+://)[^/@\s'\"]*@)")
_QUERY = re.compile(r"(?a:(\w+://[^\s?'\"]*)\?[^\s'\"]*)")


class GitAddress(Struct, frozen=True):
    """A repository's address, in the form that git is given; ``local`` if it is a folder."""

    url: str
    local: bool = False


def git_address(text: str, *, signed: bool) -> GitAddress:
    """The address that ``text`` means; ``signed`` if signatures are checked.

    Raises:
        UsageError: kgitops does not fetch from there; the sentence shows no login.
    """
    if not text or not text.isprintable() or text.startswith("-") or "::" in text:
        raise _refused(text, "it is no address of a repository")
    if "://" in text:
        return GitAddress(_checked_url(text, signed=signed))
    if text.startswith(("/", ".")) or Path(text).is_dir():
        folder = Path(text).resolve()
        if not folder.is_dir():
            raise _refused(text, "there is no such folder")
        return GitAddress(str(folder), local=True)
    if _SSH_SHORT.fullmatch(text):
        return GitAddress(text)
    raise _refused(text, "it is no address of a repository")


def _checked_url(text: str, *, signed: bool) -> str:
    try:
        parts = urlsplit(text)
        _ = parts.port
    except ValueError:
        raise _refused(text, "it is no URL") from None
    if parts.scheme not in ("https", "http", "ssh"):
        raise _refused(text, f"{parts.scheme}:// is not fetched from")
    if not _HOST.fullmatch(parts.hostname or "") or not parts.path.strip("/"):
        raise _refused(text, "it names no host and repository")
    if parts.query or parts.fragment:
        raise _refused(text, "it has a query or a fragment")
    _check_login(text, parts)
    if parts.scheme == "http" and not signed and not is_loopback(parts.hostname or ""):
        raise _refused(text, "over http:// anybody on the way could change what is fetched")
    return text


def _check_login(text: str, parts: SplitResult) -> None:
    if parts.scheme == "ssh":
        if parts.password is not None or (parts.username or "").startswith("-"):
            raise _refused(text, "a login over SSH is by a key")
    elif parts.username is not None or parts.password is not None:
        raise UsageError(
            f"--git {redacted(text)} holds a login, which lists of processes would show; leave it "
            "out, and set KGITOPS_GIT_USERNAME and KGITOPS_GIT_PASSWORD"
        )


def _refused(text: str, why: str) -> UsageError:
    return UsageError(
        f"--git {redacted(text)!r}: {why}; give https://HOST/PATH, ssh://USER@HOST/PATH, "
        "USER@HOST:PATH or a folder, or http:// where signatures are checked"
    )


def checked_ref(text: str) -> str:
    """A branch, a tag, a name below ``refs/``, a commit or HEAD.

    Raises:
        UsageError: git knows no ref of such a name.
    """
    if not text or text == "@" or _NOT_IN_REFS.search(text):
        raise UsageError(f"--ref {text!r} is not a name of a branch or a tag; correct it")
    return text


def is_commit(ref: str) -> bool:
    """True for the full name of a commit."""
    return _COMMIT.fullmatch(ref) is not None


def checked_path(text: str) -> PurePosixPath:
    """The project's folder in the repository.

    Raises:
        UsageError: it leads out of the repository.
    """
    path = PurePosixPath(text)
    parts = path.parts
    if path.is_absolute() or ".." in parts or not text.isprintable() or text.startswith(("-", ":")):
        raise UsageError(f"--path {text!r} is not a folder of the repository; give it from its top")
    return path


def redacted(text: str, secrets: Iterable[str] = ()) -> str:
    """The text without logins and queries in URLs, and without these ``secrets``."""
    for secret in sorted(filter(None, secrets), key=len, reverse=True):
        text = text.replace(secret, "***")
    return _QUERY.sub(r"\1?***", _USERINFO.sub(r"\1***@", text))
