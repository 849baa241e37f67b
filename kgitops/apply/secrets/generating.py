"""Passwords that an apply makes up: each goes to its sink before the cluster gets it."""

import os
import secrets
import string
from contextlib import suppress
from pathlib import Path

from kgitops.apply.secrets.commands import give_to
from kgitops.model.errors import KgitopsError
from kgitops.model.resources.secrets import Secret
from kgitops.model.resources.users import GeneratedPassword

_CHARACTERS = string.ascii_letters + string.digits


def generate(generated: GeneratedPassword, base: Path) -> Secret:
    """Make up a password and hand it to its sink; it is printed nowhere.

    Raises:
        KgitopsError: the sink did not take it.
    """
    secret = Secret("".join(secrets.choice(_CHARACTERS) for _ in range(generated.length)).encode())
    if generated.command is not None:
        give_to(generated.command, base, secret)
    else:
        _write(base / (generated.file or ""), secret)
    return secret


def _write(path: Path, secret: Secret) -> None:
    """Replace the file as a whole; nobody but its owner may read it.

    The draft's name is always the same, so that one which a killed process left behind goes.
    """
    draft = path.with_name(f".{path.name}.kgitops-draft")
    try:
        draft.unlink(missing_ok=True)
        handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(handle, "wb") as file:
            file.write(secret.reveal())
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)
    except OSError as error:
        with suppress(OSError):
            draft.unlink()
        raise _unwritten(path, error) from None


def _unwritten(path: Path, error: OSError) -> KgitopsError:
    return KgitopsError(
        f"the generated password can't be written to {path}: {error.strerror}; correct the path"
    )
