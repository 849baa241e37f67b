"""The subject of a certificate as Java writes it (RFC 2253)."""

from collections.abc import Iterator, Sequence

_SEQUENCE, _OBJECT_ID, _VERSION = 0x30, 0x06, 0xA0
_NAMES = {
    "2.5.4.3": "CN",
    "2.5.4.6": "C",
    "2.5.4.7": "L",
    "2.5.4.8": "ST",
    "2.5.4.9": "STREET",
    "2.5.4.10": "O",
    "2.5.4.11": "OU",
    "0.9.2342.19200300.100.1.1": "UID",
    "0.9.2342.19200300.100.1.25": "DC",
}
_TEXTS = {0x0C: "utf-8", 0x13: "ascii", 0x14: "latin-1", 0x16: "ascii", 0x1E: "utf-16-be"}
_SPECIAL = set(',+"\\<>;')
_SUBJECT = 5
"""The subject's place in a certificate: after serial, algorithm, issuer and validity (RFC 5280)."""


def subject_name(certificate: bytes) -> str:
    """The subject of a certificate in DER, which TLS has verified.

    Raises:
        ValueError: it is no certificate.
    """
    try:
        ((_, whole),) = _items(certificate)
        (_, signed), *_ = _items(whole)
        fields = [item for item in _items(signed) if item[0] != _VERSION]
        _, subject = fields[_SUBJECT - 1]
        parts = [_part(values) for _, values in _items(subject)]
    except (IndexError, UnicodeDecodeError) as error:
        raise ValueError("it is no certificate") from error
    return ",".join(reversed(parts))


def _part(values: bytes) -> str:
    """One relative distinguished name; several attributes are joined by plus signs."""
    return "+".join(_attribute(list(_items(pair))) for _, pair in _items(values))


def _attribute(pair: Sequence[tuple[int, bytes]]) -> str:
    (kind, identifier), (tag, value) = pair
    if kind != _OBJECT_ID:
        raise ValueError("an attribute has no type")
    name = _object_id(identifier)
    if name not in _NAMES or tag not in _TEXTS:
        return f"{name}=#{bytes([tag, *_length(len(value))]).hex()}{value.hex()}"
    return f"{_NAMES[name]}={_escaped(value.decode(_TEXTS[tag]))}"


def _escaped(text: str) -> str:
    escaped = "".join(f"\\{sign}" if sign in _SPECIAL else sign for sign in text)
    if escaped.startswith(("#", " ")):
        escaped = f"\\{escaped}"
    if escaped.endswith(" ") and len(text) > 1:
        escaped = f"{escaped[:-1]}\\ "
    return escaped


def _object_id(data: bytes) -> str:
    numbers, number = [min(data[0] // 40, 2)], 0
    numbers.append(data[0] - numbers[0] * 40)
    for byte in data[1:]:
        number = number << 7 | byte & 0x7F
        if byte < 0x80:
            numbers.append(number)
            number = 0
    return ".".join(map(str, numbers))


def _items(data: bytes) -> Iterator[tuple[int, bytes]]:
    """The tags and contents of values in DER that follow each other."""
    at = 0
    while at < len(data):
        tag, size = data[at], data[at + 1]
        at += 2
        if size >= 0x80:
            long = size & 0x7F
            size = int.from_bytes(data[at : at + long], "big")
            at += long
        if at + size > len(data):
            raise ValueError("it ends early")
        yield tag, data[at : at + size]
        at += size


def _length(size: int) -> bytes:
    if size < 0x80:
        return bytes([size])
    data = size.to_bytes((size.bit_length() + 7) // 8, "big")
    return bytes([0x80 | len(data)]) + data
