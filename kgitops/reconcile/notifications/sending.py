"""Sends one HTTP request within a limit of time, and shows no address in what goes wrong."""

import http.client
import socket
import ssl
import threading
import urllib.request
from contextlib import suppress
from urllib.parse import urlsplit

from msgspec import Struct

from kgitops.reconcile.notifications.sinks import HttpPost

_AGAIN = frozenset({408, 425, 429})
_LONGEST_WAIT = 60.0
_WRONG_NAMES = frozenset({62, 63, 64})
"""OpenSSL's codes for a certificate of another host, mail address or IP address."""


class Answer(Struct, frozen=True):
    """The outcome: ``problem`` is None if it was taken; ``again`` if it is worth another try."""

    problem: str | None = None
    again: bool = False
    wait: float | None = None


def send(post: HttpPost, timeout: float) -> Answer:
    """Send the request; it takes no longer than ``timeout`` seconds, however slow the other is."""
    try:
        connection = _connection(post.url, timeout)
    except ValueError:
        return Answer("its address is not https:// or http:// with a host")
    # A server that sends one byte from time to time never runs into the limit of a socket.
    late = threading.Event()
    guard = threading.Timer(timeout, _hang_up, (connection, late))
    guard.daemon = True
    guard.start()
    try:
        connection.request("POST", _path(post.url), post.body, {**_AGENT, **post.headers})
        return _answer(connection.getresponse())
    except TimeoutError:
        return Answer(f"it did not answer within {timeout:g} s", again=True)
    except ssl.SSLCertVerificationError as error:
        return Answer(_untrusted(error))
    except (OSError, http.client.HTTPException, ValueError) as error:
        if late.is_set():
            return Answer(f"it did not answer within {timeout:g} s", again=True)
        return Answer(f"it can't be reached: {_told(error)}", again=True)
    finally:
        guard.cancel()
        connection.close()


_AGENT = {"User-Agent": "kgitops"}


def _answer(response: http.client.HTTPResponse) -> Answer:
    code = response.status
    if 200 <= code < 300:
        return Answer()
    if 300 <= code < 400:
        return Answer(f"it answered {code}: redirects are not followed, since they lead elsewhere")
    again = code in _AGAIN or code >= 500
    return Answer(f"it answered {code}", again=again, wait=_wait(response.getheader("Retry-After")))


def _untrusted(error: ssl.SSLCertVerificationError) -> str:
    """The reason why a certificate is refused; that of a wrong name would show the address."""
    if error.verify_code in _WRONG_NAMES:
        return "its certificate is for another host than its address names"
    return (
        f"its certificate can't be trusted: {error.verify_message} (name the file of a CA of your "
        "own in SSL_CERT_FILE)"
    )


def _wait(header: str | None) -> float | None:
    if header is None or not header.isdecimal():
        return None
    return min(float(header), _LONGEST_WAIT)


def _connection(url: str, timeout: float) -> http.client.HTTPConnection:
    parts = urlsplit(url)
    host, port = parts.hostname, parts.port
    if parts.scheme not in ("http", "https") or not host or not url.isascii():
        raise ValueError
    if parts.scheme == "http":  # never by a proxy: its operator would read along
        return http.client.HTTPConnection(host, port, timeout=timeout)
    context = ssl.create_default_context()
    proxy = None if urllib.request.proxy_bypass(host) else _proxy()
    if proxy is None:
        return http.client.HTTPSConnection(host, port, timeout=timeout, context=context)
    through = http.client.HTTPSConnection(*proxy, timeout=timeout, context=context)
    through.set_tunnel(host, port)
    return through


def _proxy() -> tuple[str, int | None] | None:
    text = urllib.request.getproxies().get("https")
    if text is None:
        return None
    parts = urlsplit(text if "://" in text else f"http://{text}")
    return (parts.hostname, parts.port) if parts.hostname else None


def _path(url: str) -> str:
    parts = urlsplit(url)
    return (parts.path or "/") + (f"?{parts.query}" if parts.query else "")


def _hang_up(connection: http.client.HTTPConnection, late: threading.Event) -> None:
    late.set()
    with suppress(OSError, AttributeError):
        if connection.sock is not None:
            connection.sock.shutdown(socket.SHUT_RDWR)


def _told(error: Exception) -> str:
    """The kind of error, in words that hold no part of the address."""
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return type(error).__name__
