"""The configuration and environment that git runs in: its own, and nothing of the user's."""

import os
import shutil
from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct, field

from kgitops.model.errors import UsageError
from kgitops.reconcile.sources.git_address import GitAddress

USERNAME = "KGITOPS_GIT_USERNAME"
PASSWORD = "KGITOPS_GIT_PASSWORD"  # noqa: S105 (the name of a variable)
SSH_KEY = "KGITOPS_GIT_SSH_KEY"
KNOWN_HOSTS = "KGITOPS_GIT_KNOWN_HOSTS"

_PASSED_ON = (
    "PATH", "TMPDIR", "SSH_AUTH_SOCK", "GIT_SSL_CAINFO", "SSL_CERT_FILE", "SSL_CERT_DIR",
    "http_proxy", "https_proxy", "all_proxy", "no_proxy",
    "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY",
)  # fmt: skip

# Reads the login from the environment, so that it is in no file and on no command line.
_HELPER = (
    "!f() { test \\\"$1\\\" = get || exit 0; printf 'username=%s\\npassword=%s\\n' "
    f'\\"${USERNAME}\\" \\"${PASSWORD}\\"; }}; f'
)


class SignatureKeys(Struct, frozen=True):
    """Files with the keys of those whose signatures are trusted, of SSH and of OpenPGP."""

    allowed_signers: Path | None = None
    gpg_keys: Path | None = None

    @property
    def asked_for(self) -> bool:
        """True if a revision must be signed."""
        return self.allowed_signers is not None or self.gpg_keys is not None


class GitLogin(Struct, frozen=True):
    """The login at the repository, from the environment."""

    variables: Mapping[str, str] = field(default_factory=dict)

    @property
    def secrets(self) -> tuple[str, ...]:
        """All that no text may show."""
        return tuple(
            text for name in (PASSWORD, USERNAME) if len(text := self.variables.get(name, "")) > 3
        )


def login_of(environ: Mapping[str, str]) -> GitLogin:
    """The login that the environment holds."""
    names = (USERNAME, PASSWORD, SSH_KEY, KNOWN_HOSTS)
    return GitLogin({name: environ[name] for name in names if environ.get(name)})


def config_text(
    address: GitAddress, mirror: Path, keys: SignatureKeys, gnupg: Path, login: GitLogin
) -> str:
    """The configuration as git reads it from a file, instead of the user's and the system's."""
    transport = "file" if address.local else address.url.partition("://")[0]
    if not address.local and "://" not in address.url:
        transport = "ssh"
    signers = keys.allowed_signers.absolute() if keys.allowed_signers else Path(os.devnull)
    sections: dict[str, list[tuple[str, str]]] = {
        "protocol": [("allow", "never"), ("version", "2")],
        f'protocol "{transport}"': [("allow", "always")],
        "core": [
            ("hooksPath", os.devnull),
            ("attributesFile", os.devnull),
            ("excludesFile", os.devnull),
            ("fsmonitor", "false"),
            ("autocrlf", "false"),
        ],
        "fetch": [("fsckObjects", "true"), ("recurseSubmodules", "false"), ("unpackLimit", "1")],
        "transfer": [("bundleURI", "false")],
        "submodule": [("recurse", "false")],
        "gc": [("auto", "0")],
        "maintenance": [("auto", "false")],
        "http": [("followRedirects", "initial")],
        "safe": [("directory", str(mirror)), *_safe(address)],
        "gpg": [("minTrustLevel", "fully"), ("program", str(gnupg / "gpg"))],
        'gpg "ssh"': [("allowedSignersFile", str(signers))],
        'gpg "x509"': [("program", "false")],
    }
    if PASSWORD in login.variables and address.url.startswith(("https://", "http://")):
        root = "/".join(address.url.split("/")[:3])
        # The first, empty one takes away what a built-in default might have.
        sections[f'credential "{root}"'] = [("helper", ""), ("helper", _HELPER)]
    lines = []
    for section, entries in sections.items():
        lines.append(f"[{section}]")
        lines += [f"\t{key} = {_quoted(key, value)}" for key, value in entries]
    return "\n".join(lines) + "\n"


def _safe(address: GitAddress) -> list[tuple[str, str]]:
    """The folder that was given is trusted, whoever owns it: it was named on the command line."""
    if not address.local:
        return []
    return [("directory", address.url), ("directory", f"{address.url}/.git")]


def _quoted(key: str, value: str) -> str:
    if key == "helper":
        return f'"{value}"'
    return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'


def environment(
    config: Path, home: Path, login: GitLogin, environ: Mapping[str, str]
) -> dict[str, str]:
    """The environment of git's processes; Kafka's passwords and the like are not in it."""
    kept = {name: environ[name] for name in _PASSED_ON if name in environ}
    ssh = ["ssh", "-o", "BatchMode=yes", "-o", "StrictHostKeyChecking=yes"]
    ssh += ["-o", "ControlMaster=no", "-o", "ControlPath=none", "-o", "ConnectTimeout=20"]
    if key := login.variables.get(SSH_KEY):
        ssh += ["-o", "IdentitiesOnly=yes", "-i", _shell_word(SSH_KEY, key)]
    if hosts := login.variables.get(KNOWN_HOSTS):
        ssh += ["-o", _shell_word(KNOWN_HOSTS, f"UserKnownHostsFile={hosts}")]
    return {
        **kept,
        **_credentials(login),
        "HOME": str(home),
        "LC_ALL": "C",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": str(config),
        "GIT_ATTR_NOSYSTEM": "1",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_ASKPASS": "",
        "SSH_ASKPASS": "",
        "SSH_ASKPASS_REQUIRE": "never",
        "GIT_SSH_COMMAND": " ".join(ssh),
        "GIT_NO_REPLACE_OBJECTS": "1",
        "GIT_OPTIONAL_LOCKS": "0",
        "GNUPGHOME": str(home / "gnupg"),
    }


def _credentials(login: GitLogin) -> dict[str, str]:
    if PASSWORD not in login.variables:
        return {}
    # A token needs no name, but git asks for one.
    return {USERNAME: login.variables.get(USERNAME, "git"), PASSWORD: login.variables[PASSWORD]}


def _shell_word(variable: str, text: str) -> str:
    """One word for the shell that git gives the command to."""
    if not text.isprintable() or "'" in text or '"' in text:
        raise UsageError(f"{variable} is no path that ssh can be given; correct it")
    return f"'{text}'"


def program(name: str, needed_for: str) -> str:
    """The path of a program.

    Raises:
        UsageError: it is not installed.
    """
    found = shutil.which(name)
    if found is None:
        raise UsageError(f"{name} is not installed, and {needed_for}; install it")
    return found
