"""Token functions of others: found by their entry point, bounded in time, checked, never quoted."""

import math
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from cluster.kafka.token_package import register

from kgitops.cluster.kafka.configs.tokens.cache import TokenError
from kgitops.cluster.kafka.configs.tokens.choosing import token_function
from kgitops.cluster.kafka.configs.tokens.provided import ProvidedTokens
from kgitops.model.errors import KgitopsError, UsageError

SECRET = "hunter2-the-secret"  # noqa: S105
LIFE_S = 600


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def tokens(function: Callable[[str], object], config: str = "", **options: object):
    given = {"source": "the token provider ours", "name": "its token", "advice": "look"}
    return ProvidedTokens(function, config, **given | options)


def failure(function: Callable[[str], object], **options: object) -> str:
    with pytest.raises(TokenError) as error:
        tokens(function, **options).token()
    said = str(error.value)
    assert SECRET not in said
    assert "\n" not in said
    assert said.count("; ") == 1
    assert error.value.__cause__ is None
    assert error.value.__suppress_context__
    return said


def test_both_clients_get_the_same_token_until_it_is_old():
    asked: list[str] = []
    ends: list[float] = []

    def function(config: str) -> tuple[str, float, str, dict[str, str]]:
        asked.append(config)
        ends.append(later())
        return f"t{len(asked)}", ends[-1], "User:ci", {"team": "payments"}

    clock = Clock()
    ours = tokens(function, "vault=one", clock=clock)
    assert ours.token() == "t1"
    assert ours.extensions() == {"team": "payments"}
    text, end, principal, extensions = ours.for_librdkafka("ignored")
    assert (text, principal, extensions) == ("t1", "User:ci", {"team": "payments"})
    assert end == pytest.approx(ends[0], abs=60)
    assert asked == ["vault=one"]
    clock.now = LIFE_S * 0.85
    assert ours.for_librdkafka()[0] == ours.token() == "t2"
    assert len(asked) == 2


def test_a_token_is_in_no_representation():
    ours = tokens(lambda _: (SECRET, time.time() + LIFE_S))
    ours.token()
    assert SECRET not in repr(ours.fetch()) + str(ours.fetch()) + repr(ours)


def test_principal_and_extensions_may_be_left_out():
    assert tokens(lambda _: ("abc", later())).for_librdkafka()[2:] == ("", {})
    assert tokens(lambda _: ("abc", later(), "ci")).for_librdkafka()[2:] == ("ci", {})


def later(seconds: float = LIFE_S) -> float:
    return time.time() + seconds


DAY_LATER = later(86_400)  # long after the last test, however long the others take

JUNK: dict[str, tuple[object, str]] = {
    "nothing": (None, "no tuple of two to four values"),
    "a text": (SECRET, "no tuple of two to four values"),
    "a list": ([SECRET, 1], "no tuple of two to four values"),
    "one value": ((SECRET,), "no tuple of two to four values"),
    "five values": ((SECRET, 1, "", {}, 2), "no tuple of two to four values"),
    "bytes": ((SECRET.encode(), DAY_LATER), "a token that OAUTHBEARER can't carry"),
    "an empty token": (("", DAY_LATER), "a token that OAUTHBEARER can't carry"),
    "a token with a space": ((f"a {SECRET}", DAY_LATER), "a token that OAUTHBEARER can't carry"),
    "a token that adds an extension": (
        (f"a\x01auth=Bearer {SECRET}", DAY_LATER),
        "a token that OAUTHBEARER can't carry",
    ),
    "a token of 2 MiB": (("a" * (1 << 21), DAY_LATER), "a token that OAUTHBEARER can't carry"),
    "an end that is a text": ((SECRET, "tomorrow"), "an end that is no number"),
    "an end that is true": ((SECRET, True), "an end that is no number"),
    "an end that is not a number": ((SECRET, math.nan), "an end that is no number"),
    "no end": ((SECRET, math.inf), "an end that is no number"),
    "milliseconds": ((SECRET, DAY_LATER * 1000), "an end in milliseconds"),
    "the past": ((SECRET, later(-1)), "a token that has ended already"),
    "a lifetime": ((SECRET, 900), "a token that has ended already"),
    "a principal of bytes": ((SECRET, DAY_LATER, b"ci"), "a principal that is no text"),
    "a principal of two lines": ((SECRET, DAY_LATER, "a\nb"), "a principal that is no text"),
    "extensions as a list": ((SECRET, DAY_LATER, "", ["a"]), "extensions that are not names"),
    "an extension that is a number": ((SECRET, DAY_LATER, "", {"a": 1}), "extensions that are not"),
    "an extension with a digit": ((SECRET, DAY_LATER, "", {"a1": "b"}), "extensions that are not"),
    "an extension called auth": ((SECRET, DAY_LATER, "", {"auth": "b"}), "extensions that are not"),
    "an extension that ends itself": (
        (SECRET, DAY_LATER, "", {"a": "b\x01c=d"}),
        "extensions that are not",
    ),
}


@pytest.mark.parametrize("case", JUNK)
def test_what_is_no_token_is_refused(case: str):
    result, problem = JUNK[case]
    said = failure(lambda _: result)
    assert said.startswith(f"the token provider ours returns {problem}")
    assert said.endswith("; it must return a tuple (token, end in seconds since 1970, principal)")


@pytest.mark.parametrize(
    "error", [ValueError(SECRET), KeyError(SECRET), SystemExit(SECRET), TimeoutError(SECRET)]
)
def test_an_exception_is_named_but_not_quoted(error: BaseException):
    def function(_: str) -> object:
        raise error

    assert failure(function) == (
        f"the token provider ours raises {type(error).__name__}; call it by itself to see why"
    )


def test_a_sentence_that_is_meant_to_be_read_is_shown():
    def function(_: str) -> object:
        raise KgitopsError("the vault is\nsealed; unseal it")

    assert failure(function) == "the token provider ours: the vault is sealed; unseal it"


def test_a_function_that_hangs_is_given_up_and_what_it_brings_later_is_used():
    go, calls = threading.Event(), []

    def function(_: str) -> object:
        calls.append(1)
        go.wait(60)
        return "late", later()

    ours = tokens(function, timeout_s=0.1)
    for _ in range(3):
        with pytest.raises(TokenError) as error:
            ours.token()
        assert str(error.value) == (
            "the token provider ours gives no token within 0.1 s; see what it waits for"
        )
    go.set()
    ours._timeout_s = 60
    assert ours.token() == "late"
    assert calls == [1]


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder for packages."""
    monkeypatch.syspath_prepend(tmp_path)
    for name in ("provider_one", "provider_two"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    return tmp_path


def refused(name: str) -> str:
    with pytest.raises(UsageError) as error:
        token_function(name)
    said = str(error.value)
    assert "\n" not in said
    assert said.startswith("sasl.oauthbearer.token.provider: ")
    return said.partition(": ")[2]


def test_a_provider_is_found_by_its_entry_point(installed: Path):
    (installed / "provider_one.py").write_text("def get(config):\n    return config, 1\n")
    register(installed, "one", {"vault": "provider_one:get"})
    assert token_function("vault")("x") == ("x", 1)
    assert refused("valut") == (
        "no installed package has a token provider 'valut' (known: vault); correct the name, or "
        "install its package beside kgitops"
    )


def test_a_function_that_no_package_registered_is_never_called():
    assert "no installed package has a token provider 'os:abort' (known: none)" in refused(
        "os:abort"
    )


def test_a_name_of_two_packages_means_neither(installed: Path):
    register(installed, "one", {"vault": "provider_one:get"})
    register(installed, "two", {"vault": "provider_two:get"})
    assert refused("vault") == (
        "several packages have a token provider 'vault' (one, two); uninstall all but one"
    )


@pytest.mark.parametrize(
    ("source", "problem"),
    [
        (f"raise RuntimeError('{SECRET}')", "can't be loaded (RuntimeError)"),
        ("import no_such_package", "(ModuleNotFoundError: No module named 'no_such_package')"),
        ("other = 1", "can't be loaded (AttributeError)"),
        ("get = 1", "is no function"),
    ],
)
def test_a_provider_that_can_not_be_loaded(installed: Path, source: str, problem: str):
    (installed / "provider_one.py").write_text(source)
    register(installed, "one", {"vault": "provider_one:get"})
    said = refused("vault")
    assert said.startswith("provider_one:get of the token provider 'vault' ")
    assert problem in said
    assert SECRET not in said
