"""Settings of TLS and of logins from the configs of brokers, by Kafka's keys."""

import re
from collections.abc import Callable

from msgspec import Struct

from kgitops.serve.listening.config_keys import BrokerConfigReader
from kgitops.serve.listening.settings import (
    MECHANISMS,
    OAUTHBEARER,
    PLAIN,
    ClientAuth,
    OAuthSettings,
    PrincipalRule,
    SaslSettings,
    TlsSettings,
)
from kgitops.serve.patterns import InvalidPatternError, compile_pattern

_RULE = re.compile(r"\s*(?:DEFAULT|RULE:((?:\\.|[^\\/])*)/((?:\\.|[^\\/])*)/([LU]?))\s*(?:,|$)")
_PEM = "PEM"
_ITEM = re.compile(r"""\s*(?:"((?:[^"\\]|\\.)*)"|'((?:[^'\\]|\\.)*)'|([^\s=;"']+)|([=;]))""")
_FLAGS = ("required", "requisite", "sufficient", "optional")
_USER = "user_"


def read_tls(reader: BrokerConfigReader) -> TlsSettings | None:
    """Certificates from PEM texts, or from PEM files."""
    for store in ("keystore", "truststore"):
        key = f"ssl.{store}.type"
        kind = reader.text(key)
        if kind != _PEM and (kind or reader.text(f"ssl.{store}.location")):
            reader.refuse(key, f"must be {_PEM}, not {kind or 'JKS'}; convert the file to PEM")
            return None
    location = reader.file("ssl.keystore.location")
    chain = reader.text("ssl.keystore.certificate.chain") or location
    key_text = reader.text("ssl.keystore.key") or location
    if chain is None or key_text is None:
        if reader.text("ssl.keystore.location") is None:
            missing = "ssl.keystore.certificate.chain" if chain is None else "ssl.keystore.key"
            reader.refuse(
                missing, "is missing; a listener with TLS needs a certificate and its key"
            )
        return None
    trusted = reader.text("ssl.truststore.certificates") or reader.file("ssl.truststore.location")
    auth = ClientAuth(reader.choice("ssl.client.auth", tuple(ClientAuth), ClientAuth.NONE))
    if auth is not ClientAuth.NONE and trusted is None:
        reader.refuse(
            "ssl.truststore.certificates",
            f"is missing; ssl.client.auth={auth} needs the authorities of clients' certificates",
        )
        return None
    return TlsSettings(
        chain=chain,
        key=key_text,
        key_password=reader.text("ssl.key.password"),
        trusted=trusted,
        client_auth=auth,
        rules=_rules(reader),
    )


def read_sasl(reader: BrokerConfigReader) -> SaslSettings | None:
    """The mechanisms that are enabled, and what each of them needs."""
    key = "sasl.enabled.mechanisms"
    mechanisms = reader.words(key)
    known = [name for name in mechanisms if name in MECHANISMS]
    for name in mechanisms:
        if name not in MECHANISMS:
            reader.refuse(key, f"has {name!r}; known are {', '.join(MECHANISMS)}")
    if not mechanisms:
        reader.refuse(key, f"is missing; name some of {', '.join(MECHANISMS)}")
    return SaslSettings(
        mechanisms=tuple(known),
        passwords=_passwords(reader) if PLAIN in known else {},
        oauth=_oauth(reader) if OAUTHBEARER in known else None,
        max_reauth_ms={name: ms for name in known if (ms := _max_reauth_ms(reader, name))},
    )


def _passwords(reader: BrokerConfigReader) -> dict[str, str]:
    """The users of PLAIN, from the JAAS config of the listener's mechanism."""
    key = "plain.sasl.jaas.config"
    text = reader.text(key) or reader.text("sasl.jaas.config")
    if text is None:
        reader.refuse(
            reader.own_key(key), 'is missing; PLAIN needs its users there, as user_NAME="PASSWORD"'
        )
        return {}
    try:
        users = parse_jaas(text).users
    except ValueError as error:
        reader.refuse(key, f"can't be read: {error}")
        return {}
    if not users:
        reader.refuse(key, 'names no user; write user_NAME="PASSWORD"')
    for name, password in users.items():
        if not name or not password:
            reader.refuse(key, f"gives the user {name!r} no name or no password; give both")
    return users


def _oauth(reader: BrokerConfigReader) -> OAuthSettings | None:
    key = "sasl.oauthbearer.jwks.endpoint.url"
    # Kafka has these with the mechanism's prefix, which a key of a listener must bear.
    prefix = "oauthbearer." if reader.text(f"oauthbearer.{key}") else ""
    url = reader.text(prefix + key)
    if url is None:
        reader.refuse(key, "is missing; OAUTHBEARER needs the keys that tokens are signed with")
        return None
    if not url.startswith(("https://", "http://", "file:///")):
        reader.refuse(prefix + key, "must begin with https://, http:// or file:///")
    return OAuthSettings(
        keys_url=url,
        audiences=_either(reader, "sasl.oauthbearer.expected.audience"),
        issuer=next(iter(_either(reader, "sasl.oauthbearer.expected.issuer")), None),
        name_claim=next(iter(_either(reader, "sasl.oauthbearer.sub.claim.name")), "sub"),
        clock_skew_s=reader.number("sasl.oauthbearer.clock.skew.seconds", 30, most=3600),
    )


def _either(reader: BrokerConfigReader, key: str) -> tuple[str, ...]:
    """A key with or without the mechanism's prefix."""
    return reader.words(f"oauthbearer.{key}") or reader.words(key)


def _max_reauth_ms(reader: BrokerConfigReader, mechanism: str) -> int:
    key = "connections.max.reauth.ms"
    return reader.number(f"{mechanism.lower()}.{key}", reader.number(key, 0))


def _rules(reader: BrokerConfigReader) -> tuple[PrincipalRule, ...]:
    key = "ssl.principal.mapping.rules"
    text = reader.text(key)
    if text is None:
        return (PrincipalRule(),)
    return parse_principal_rules(text, lambda problem: reader.refuse(key, problem))


def parse_principal_rules(text: str, refuse: Callable[[str], None]) -> tuple[PrincipalRule, ...]:
    """The rules of ``ssl.principal.mapping.rules``; ``refuse`` takes the end of each problem."""
    rules = []
    at = 0
    while at < len(text):
        match = _RULE.match(text, at)
        if match is None:
            break
        pattern, replacement, case = match.groups()
        rules.append(
            PrincipalRule()
            if pattern is None
            else PrincipalRule(pattern.strip(), replacement.replace("\\/", "/").strip(), case)
        )
        at = match.end()
    if at < len(text):
        refuse(f"can't be read from {text[at : at + 40]!r} on; write DEFAULT or "
               "RULE:PATTERN/REPLACEMENT/, with L or U at its end")  # fmt: skip
    for rule in rules:
        try:
            groups = compile_pattern(rule.pattern or "").groups
        except InvalidPatternError as error:
            refuse(f"has the pattern {rule.pattern!r}, which is not valid for RE2: {error}")
            continue
        if any(int(number) > groups for number in re.findall(r"\$(\d)", rule.replacement)):
            refuse(f"has {rule.replacement!r}, but its pattern has {groups} groups")
    return tuple(rules)


class LoginModule(Struct, frozen=True):
    """One login module with its options."""

    name: str
    options: dict[str, str]

    @property
    def users(self) -> dict[str, str]:
        """The passwords of the users that PLAIN knows, by name."""
        return {
            key.removeprefix(_USER): value
            for key, value in self.options.items()
            if key.startswith(_USER)
        }

    def __repr__(self) -> str:
        """Without passwords."""
        return f"LoginModule({self.name})"


def parse_jaas(text: str) -> LoginModule:
    """The login module of ``MODULE required OPTION="VALUE" …;``.

    Raises:
        ValueError: the text is something else; the message has no value of it.
    """
    items = _items(text)
    if not items or items[-1] != (";", True):
        raise ValueError("it does not end with a semicolon")
    if (";", True) in items[:-1]:
        raise ValueError("it names more than one login module")
    names = [item for item, _ in items[:2]]
    if len(names) < 2 or names[1].lower() not in _FLAGS:
        raise ValueError("it does not begin with a login module and the word required")
    options: dict[str, str] = {}
    rest = items[2:-1]
    while rest:
        if len(rest) < 3 or rest[1] != ("=", True):
            raise ValueError('its options are not all of the form NAME="VALUE"')
        (key, _), _, (value, sign) = rest[:3]
        if sign or key in options:
            raise ValueError('its options are not all of the form NAME="VALUE", each once')
        options[key] = value
        rest = rest[3:]
    return LoginModule(names[0], options)


def _items(text: str) -> list[tuple[str, bool]]:
    """Words and quoted texts; True with the signs between them."""
    items: list[tuple[str, bool]] = []
    at = 0
    while text[at:].strip():
        found = _ITEM.match(text, at)
        if found is None:
            raise ValueError("a quote in it is not closed")
        double, single, word, sign = found.groups()
        quoted = double if double is not None else single
        if quoted is not None:
            items.append((re.sub(r"\\(.)", r"\1", quoted), False))
        else:
            items.append((word or sign, sign is not None))
        at = found.end()
    return items
