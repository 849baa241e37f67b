"""Reads the file of clients' credentials: a mapping from principals to configs of a login."""

import ssl
from collections.abc import Mapping, Sequence
from pathlib import Path

from kgitops.cluster.kafka.configs.client_configs import normalize_configs, wire_options
from kgitops.gateway.credentials.credential import ClientCredentials, Credential, SaslUser
from kgitops.manifests.yaml.document import Document, read_text, shown
from kgitops.manifests.yaml.parse import Content, parse
from kgitops.manifests.yaml.placeholders import Lookup, PlaceholderError
from kgitops.model.errors import FindingsError, KgitopsError, UsageError
from kgitops.model.source import Finding
from kgitops.serve.listening.settings import PrincipalRule
from kgitops.serve.login.principals import UnmappedNameError, certificate_principal

OPTION = "--client-credentials"
_CERTIFICATE = "ssl.certificate.location"
_FILES = (_CERTIFICATE, "ssl.key.location")
_KNOWN = (*_FILES, "ssl.key.password", "sasl.mechanism", "sasl.username", "sasl.password")
_MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")
_OWN = ("ssl.certificate.", "ssl.key.", "ssl.keystore.", "sasl.")
_PRINCIPAL = "User:"
_PEM_BEGIN, _PEM_END = "-----BEGIN CERTIFICATE-----", "-----END CERTIFICATE-----"


class CredentialsSource:
    """The file, and what else its credentials depend on."""

    def __init__(
        self,
        file: Path,
        cluster: Mapping[str, str],
        environ: Mapping[str, str],
        rules: Sequence[PrincipalRule],
    ) -> None:
        """Take the configs of the cluster, whose own login is none of its clients'."""
        self.file = file
        self._cluster = {
            name: value for name, value in cluster.items() if not name.startswith(_OWN)
        }
        self._protocol = self._cluster.get("security.protocol", "plaintext")
        self._lookup = Lookup(variables={}, env=environ)
        self._rules = tuple(rules)
        self.files: tuple[Path, ...] = (file,)
        """All files that were read the last time."""

    def read(self) -> ClientCredentials:
        """The credentials.

        Raises:
            FindingsError: one can't be used; with all that is wrong.
            UsageError: the brokers ask nobody to log in.
            KgitopsError: the file can't be read.
        """
        if self._protocol == "plaintext":
            raise UsageError(
                f"{OPTION} is for brokers at which clients log in, and the cluster's "
                "security.protocol is plaintext; leave it out, or name a listener with logins"
            )
        self.files = (self.file,)
        findings: list[Finding] = []
        document, content = self._document(findings)
        found = {}
        for principal, written in content.items():
            problem = _principal_problem(principal)
            if problem is not None:
                findings.append(_finding(document, problem, (principal,), key=True))
                continue
            configs = self._configs(document, principal, written, findings)
            try:
                if configs is not None:
                    found[principal] = self._credential(configs)
            except KgitopsError as error:
                findings.append(_finding(document, _parts(str(error)), (principal,)))
        if findings:
            raise FindingsError(findings)
        return ClientCredentials(by_principal=found, rules=self._rules)

    def _document(self, findings: list[Finding]) -> tuple[Document, dict[str, Content]]:
        text = read_text(self.file, str(self.file))
        if isinstance(text, Finding):
            raise KgitopsError(f"{OPTION} {text.problem}; {text.advice}")
        documents = list(parse(text, findings))
        if findings:
            raise FindingsError(findings)
        content = documents[0].content if len(documents) == 1 else None
        if not isinstance(content, dict):
            raise KgitopsError(
                f"{OPTION} {self.file} is not one mapping from principals to configs; write lines "
                f"such as {_PRINCIPAL}CN=orders: and below them sasl.username and sasl.password"
            )
        return documents[0].document, content

    def _configs(
        self, document: Document, principal: str, written: object, findings: list[Finding]
    ) -> dict[str, str] | None:
        """The configs of one login, with values for their placeholders."""
        if not isinstance(written, dict) or not written:
            # Not what it is: somebody may have written a password here.
            expected = f"{principal} has no mapping of configs"
            advice = "give it sasl.username and sasl.password, or ssl.certificate.location"
            findings.append(_finding(document, (expected, advice), (principal,)))
            return None
        before = len(findings)
        configs = {}
        for name, value in written.items():
            where = (principal, name)
            if name not in _KNOWN:
                problem = (f"{name} is none of the configs of a login", f"use {', '.join(_KNOWN)}")
                findings.append(_finding(document, problem, where, key=True))
            elif not isinstance(value, str):
                # Not the value: it may be a password that was not put in quotes.
                problem = (f"{name} is not a text", "put it in quotes")
                findings.append(_finding(document, problem, where))
            else:
                try:
                    configs[name] = self._lookup.replace(value)
                except PlaceholderError as error:
                    problem = (error.problem, error.advice)
                    findings.append(_finding(document, problem, where))
        return configs if len(findings) == before else None

    def _credential(self, given: Mapping[str, str]) -> Credential:
        """A credential of its configs.

        Raises:
            UsageError: they can't be used.
        """
        configs = normalize_configs({**self._cluster, **given}, self.file.parent)
        self.files += tuple(Path(configs[name]) for name in _FILES if name in configs)
        sasl = self._protocol.startswith("sasl")
        mechanism = configs.get("sasl.mechanism", "")
        if sasl and mechanism not in _MECHANISMS:
            raise UsageError(
                f"sasl.mechanism={mechanism} needs more than a password; "
                f"use one of {', '.join(_MECHANISMS)}"
            )
        if not sasl and _CERTIFICATE not in configs:
            raise UsageError(
                f"the brokers ask for a certificate (security.protocol=ssl); set {_CERTIFICATE} "
                "and ssl.key.location"
            )
        options = wire_options(configs)
        tls = options["tls"] if _CERTIFICATE in configs else None
        if not sasl:
            return Credential(principal=self._principal(Path(configs[_CERTIFICATE])), tls=tls)
        user = SaslUser(
            mechanism=mechanism,
            name=options["sasl_plain_username"],
            password=options["sasl_plain_password"],
        )
        return Credential(principal=f"{_PRINCIPAL}{configs['sasl.username']}", user=user, tls=tls)

    def _principal(self, certificate: Path) -> str:
        """The principal that the brokers make of the first certificate in a file."""
        text = certificate.read_text("ascii", "replace")
        _, _, text = text.partition(_PEM_BEGIN)
        text, _, _ = text.partition(_PEM_END)
        try:
            der = ssl.PEM_cert_to_DER_cert(f"{_PEM_BEGIN}{text}{_PEM_END}\n")
            return certificate_principal(der, self._rules)
        except (UnmappedNameError, ValueError) as error:
            raise UsageError(
                f"{_CERTIFICATE}: {certificate} tells no principal ({error}); "
                "see --principal-mapping"
            ) from None


def _principal_problem(principal: Content) -> tuple[str, str] | None:
    if not isinstance(principal, str) or not principal.startswith(_PRINCIPAL):
        return (
            f"{shown(principal)} is not the principal of a certificate",
            "write it as brokers do, such as User:CN=orders,O=Example",
        )
    return None


def _parts(sentence: str) -> tuple[str, str]:
    """The problem, and the advice."""
    problem, _, advice = sentence.rpartition("; ")
    return (problem, advice) if problem else (sentence, "correct it")


def _finding(
    document: Document, problem: tuple[str, str], path: tuple[str, ...], *, key: bool = False
) -> Finding:
    source = document.key_at(*path) if key else document.at(*path)
    return Finding(source=source, problem=problem[0], advice=problem[1])
