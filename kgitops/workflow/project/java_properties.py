"""``--command-config``: a Java client's properties as the configs that kgitops takes."""

import re
from collections.abc import Iterator
from pathlib import Path

from kgitops.model.errors import UsageError

_LOGIN = re.compile(r'\b(username|password)\s*=\s*"((?:[^"\\]|\\.)*)"')
_PLAIN_LOGINS = ("PlainLoginModule", "ScramLoginModule")
_IAM_LOGIN = "software.amazon.msk.auth.iam.IAM"
"""The beginning of the classes with which Amazon's library for Java logs in."""
_IAM_OPTION = re.compile(r'\b(aws\w+)\s*=\s*"([^"]*)"')
_PEM_FILES = {
    "ssl.truststore": ("ssl.ca.location",),
    "ssl.keystore": ("ssl.certificate.location", "ssl.key.location"),
}
_IGNORED = ("bootstrap.servers", "bootstrap.controllers")


def read_client_properties(file: Path) -> dict[str, str]:
    """The configs by librdkafka's names: a login, Amazon's too, and PEM stores are translated.

    Raises:
        UsageError: the file can't be read, or has a line that is not a property.
    """
    properties = dict(read_properties(file))
    for name in _IGNORED:
        properties.pop(name, None)
    return _translated(properties)


def read_properties(file: Path) -> Iterator[tuple[str, str]]:
    """Key and value of each line; a backslash at its end joins the next one to it.

    Raises:
        UsageError: the file can't be read, or has a line that is not a property.
    """
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not text"
        raise UsageError(
            f"--command-config {file} can't be read: {reason.lower()}; name a file of properties"
        ) from error
    # The blank lines at the end of what was joined keep the numbers of the lines after it.
    joined = re.sub(r"(?:[^\n]*\\\n)+[^\n]*", _one_line, text)
    for number, line in enumerate(joined.split("\n"), start=1):
        stripped = line.strip()
        if not stripped or stripped[0] in "#!":
            continue
        match = re.fullmatch(r"([^\s=:]+)\s*[=:]\s*(.*)", stripped)
        if match is None:
            # The line may hold a password: it is not shown.
            raise UsageError(f"{file}:{number}: the line is not a property; write NAME=VALUE")
        yield match[1], match[2]


def _one_line(lines: re.Match[str]) -> str:
    return re.sub(r"\\\n\s*", "", lines[0]) + "\n" * lines[0].count("\n")


def _translated(properties: dict[str, str]) -> dict[str, str]:
    configs = dict(properties)
    login = configs.get("sasl.jaas.config", "")
    if any(module in login for module in _PLAIN_LOGINS):
        del configs["sasl.jaas.config"]
        for key, value in _LOGIN.findall(login):
            configs[f"sasl.{key}"] = re.sub(r"\\(.)", r"\1", value)
    if login.startswith(_IAM_LOGIN):
        del configs["sasl.jaas.config"]
        if configs.get("sasl.client.callback.handler.class", "").startswith(_IAM_LOGIN):
            del configs["sasl.client.callback.handler.class"]
        if options := ",".join(map("=".join, _IAM_OPTION.findall(login))):
            configs["sasl.oauthbearer.config"] = options
    for store, names in _PEM_FILES.items():
        if configs.get(f"{store}.type", "").upper() == "PEM" and f"{store}.location" in configs:
            del configs[f"{store}.type"]
            location = configs.pop(f"{store}.location")
            configs |= dict.fromkeys(names, location)
    return configs
