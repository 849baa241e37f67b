"""Builds users from ``kind: User`` documents: their mechanisms, and where the passwords are."""

import re
from typing import TYPE_CHECKING

from kgitops.desired.findings import Findings, Path, check_name, scope_of
from kgitops.manifests.yaml.document import Document
from kgitops.manifests.yaml.placeholders import takes_from_env
from kgitops.manifests.yaml.text import shown
from kgitops.model.json.declared import DeletionPolicy, DesiredCredential, DesiredUser
from kgitops.model.resources.addresses import user_address
from kgitops.model.resources.names import text_problem
from kgitops.model.resources.users import (
    UNKNOWN_PASSWORD,
    GeneratedPassword,
    PasswordSource,
    ScramMechanism,
)

if TYPE_CHECKING:
    from kgitops.manifests.kinds.user import PasswordGenerator, PasswordReference, User

_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_PREFIX = "User:"
_ONE_OF = "write one of env, file, command, generate and unknown"


def build_user(user: "User", document: Document, findings: Findings) -> DesiredUser:
    """Build the user in normal form."""
    name, spec = user.metadata.name, user.spec
    scope = scope_of(user.metadata.virtual_cluster)
    if scope is not None:
        check_name(scope, document, ("metadata", "virtualCluster"), findings)
    _check_user_name(name, document, findings)
    credentials: dict[ScramMechanism, DesiredCredential] = {}
    for index, item in enumerate(spec.scram):
        path: Path = ("spec", "scram", index)
        if item.mechanism in credentials:
            problem = f"{item.mechanism} is declared twice"
            advice = "keep one: Kafka holds one password of each mechanism"
            findings.error(document, (*path, "mechanism"), problem, advice)
        credentials[item.mechanism] = DesiredCredential(
            iterations=item.iterations,
            password=_source(item.password, document, (*path, "password"), findings),
            version=item.version,
        )
    return DesiredUser(
        address=user_address(name),
        name=name,
        credentials={key: credentials[key] for key in ScramMechanism if key in credentials},
        virtual_cluster=scope,
        deletion_policy=DeletionPolicy(spec.deletion_policy or "Protect"),
        deletion_policy_written=spec.deletion_policy is not None,
        labels=user.metadata.labels,
        located=document,
    )


def _check_user_name(name: str, document: Document, findings: Findings) -> None:
    path = ("metadata", "name")
    if problem := text_problem(name):
        findings.error(document, path, f"the name {problem}", "shorten it")
    if name.startswith(_PREFIX):
        findings.warning(
            document,
            path,
            f"a user's name is without its principal's type, so {shown(name)} is a user whose "
            "name begins with 'User:'",
            f"write {shown(name.removeprefix(_PREFIX))}",
        )


def _source(
    given: "PasswordReference", document: Document, path: Path, findings: Findings
) -> PasswordSource:
    """Return the source; a finding never shows more of it than the names of its fields."""
    named = [key for key in ("env", "file", "command", "generate", "unknown") if _has(given, key)]
    if len(named) != 1:
        problem = "the password comes from nowhere" if not named else f"has {' and '.join(named)}"
        findings.error(document, path, problem, _ONE_OF)
        return UNKNOWN_PASSWORD
    if _holds_env_value(given, document, path):
        findings.error(
            document,
            path,
            "the value of an environment variable would stand in the plan",
            "write the variable's name as {env: NAME}, without ${env:…}",
        )
        return UNKNOWN_PASSWORD
    if given.env is not None and _VARIABLE.fullmatch(given.env) is None:
        findings.error(
            document,
            (*path, "env"),
            "that is not the name of an environment variable",
            "write a name of letters, digits and '_', such as SALES_APP_PASSWORD",
        )
        return UNKNOWN_PASSWORD
    generate = None
    if given.generate is not None:
        generate = _generated(given.generate, document, (*path, "generate", "to"), findings)
    return PasswordSource(
        env=given.env,
        file=given.file,
        command=None if given.command is None else tuple(given.command),
        generate=generate,
    )


def _has(given: object, key: str) -> bool:
    return getattr(given, key) is not None


def _generated(
    given: "PasswordGenerator", document: Document, path: Path, findings: Findings
) -> GeneratedPassword:
    sink = given.to
    if (sink.file is None) == (sink.command is None):
        problem = "a generated password goes to a file or to a command"
        findings.error(document, path, problem, "write one of file and command")
    command = None if sink.command is None else tuple(sink.command)
    return GeneratedPassword(length=given.length, file=sink.file, command=command)


def _holds_env_value(given: "PasswordReference", document: Document, path: Path) -> bool:
    """True if anything below ``path`` is written with a placeholder for an environment variable."""
    to = (*path, "generate", "to")
    sink = None if given.generate is None else given.generate.to
    places = [(*path, "env"), (*path, "file"), (*to, "file")]
    places += [(*path, "command", index) for index in range(len(given.command or ()))]
    places += [(*to, "command", i) for i in range(len(sink.command or () if sink else ()))]
    return any(takes_from_env(document.written(*place) or "") for place in places)
