"""Asks git who signed a commit or a tag, and takes nothing but a yes for a yes."""

import hashlib
import re
import shutil
import subprocess
from pathlib import Path

from kgitops.model.errors import KgitopsError, SafetyError, UsageError
from kgitops.reconcile.sources.git_mirror import Mirror
from kgitops.reconcile.sources.git_settings import SignatureKeys, program

_SSH = re.compile(r'^Good "git" signature for (.+) with \S+ key (SHA256:\S+)$', re.MULTILINE)
_GPG = re.compile(r"^\[GNUPG:\] VALIDSIG ([0-9A-F]{40,64}) ", re.MULTILINE)
_GPG_NAME = re.compile(r"^\[GNUPG:\] GOODSIG [0-9A-F]+ (.+)$", re.MULTILINE)
_SIGNED = re.compile(r"^gpgsig(-sha256)? |^-----BEGIN (PGP|SSH) SIGNATURE-----", re.MULTILINE)
_GPG_CONF = "batch\nno-tty\ntrust-model always\nno-auto-key-retrieve\nno-autostart\n"


class Signatures:
    """The check of signatures against the keys of those who may sign."""

    def __init__(self, keys: SignatureKeys, home: Path) -> None:
        """Keep the keys; ``home`` is the folder of GnuPG's own files."""
        self._keys = keys
        self._home = home
        self._imported: str | None = None

    def prepare(self) -> None:
        """Look whether the keys are there, and let GnuPG know them; again whenever they change.

        Raises:
            UsageError: a file can't be read, or a program is not installed.
        """
        if self._keys.allowed_signers is not None:
            program("ssh-keygen", "checks the signatures of SSH keys")
            _content("--allowed-signers", self._keys.allowed_signers)
        if self._keys.gpg_keys is None:
            return
        content = _content("--gpg-keys", self._keys.gpg_keys)
        digest = hashlib.sha256(content).hexdigest()
        if digest == self._imported:
            return
        self._import(content)
        self._imported = digest

    def _import(self, keys: bytes) -> None:
        gpg = program("gpg", "checks the signatures of OpenPGP keys")
        shutil.rmtree(self._home, ignore_errors=True)
        self._home.mkdir(mode=0o700)
        (self._home / "gpg.conf").write_text(_GPG_CONF, "utf-8")
        (self._home / "gpg").symlink_to(gpg)
        try:
            done = subprocess.run(  # noqa: S603 (gpg, keys on its standard input)
                [gpg, "--homedir", str(self._home), "--quiet", "--status-fd", "1", "--import"],
                input=keys,
                capture_output=True,
                timeout=60,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise KgitopsError(f"gpg did not import {self._keys.gpg_keys} within 60 s") from None
        # Its exit code is also about an agent, which is for secret keys and not wanted.
        if b"[GNUPG:] IMPORT_OK " not in done.stdout:
            raise UsageError(
                f"--gpg-keys {self._keys.gpg_keys} holds no public keys that gpg can import; "
                "export them with gpg --export --armor"
            )

    def signer(self, mirror: Mirror, name: str, ref: str, shown: str) -> str | None:
        """The signer of the tag or commit called ``name``; None if nobody asks for signatures.

        Raises:
            SafetyError: it is not signed, or not by somebody who may.
        """
        if not self._keys.asked_for:
            return None
        kind = mirror.kind(name)
        if kind not in ("commit", "tag"):
            raise SafetyError(f"{ref} of {shown} is a {kind}, which nobody can have signed")
        text = mirror.content(kind, name)
        what = f"the {kind} {mirror.object(name)[:12]} at {ref} of {shown}"
        if kind == "tag" and f"refs/tags/{_tag_name(text)}" != ref:
            raise SafetyError(
                f"{what} was signed as the tag {_tag_name(text)}, not as this one; nothing of it "
                "is planned"
            )
        good, said = mirror.verify(f"verify-{kind}", name)
        signer = _signer(said) if good else None
        if signer is None:
            why = "is not signed" if not _SIGNED.search(text) else "is signed by nobody who may"
            raise SafetyError(
                f"{what} {why}; nothing of it is planned until it is signed with a key of "
                f"{' or '.join(self._files())}"
            )
        return signer

    def _files(self) -> list[str]:
        files = (self._keys.allowed_signers, self._keys.gpg_keys)
        return [str(file) for file in files if file is not None]


def _content(option: str, file: Path) -> bytes:
    try:
        content = file.read_bytes()
    except OSError as error:
        raise UsageError(
            f"{option} {file} can't be read: {error.strerror}; correct the path"
        ) from error
    if not content.strip():
        raise UsageError(f"{option} {file} is empty, so nobody could sign; add keys")
    return content


def _signer(said: str) -> str | None:
    if found := _SSH.search(said):
        return f"{found[1]} ({found[2]})"
    if found := _GPG.search(said):
        name = _GPG_NAME.search(said)
        return f"{name[1]} ({found[1]})" if name else found[1]
    return None


def _tag_name(text: str) -> str:
    header = text.split("\n\n", 1)[0]
    return next((line[4:] for line in header.splitlines() if line.startswith("tag ")), "")
