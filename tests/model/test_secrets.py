"""Hidden values are neither shown nor stored."""

import copy
import json
import pickle

import msgspec
import pytest

from kgitops.model.json.requests import request_to_json
from kgitops.model.requests import SaltedCredentialsRequest
from kgitops.model.resources.secrets import Hidden, SaltedPassword, Secret
from kgitops.model.resources.users import ScramMechanism

WORD = b"correct horse battery"


@pytest.mark.parametrize("hidden", [Secret(WORD), SaltedPassword(WORD, WORD)])
def test_no_way_of_writing_it_shows_it(hidden: Hidden) -> None:
    for text in (repr(hidden), str(hidden), f"{hidden}", f"{[hidden]!r}"):
        assert "horse" not in text
    with pytest.raises(TypeError, match="not to leave this process"):
        pickle.dumps(hidden)
    for encode in (json.dumps, msgspec.json.encode, msgspec.msgpack.encode):
        with pytest.raises(TypeError):
            encode(hidden)
    assert not hasattr(hidden, "__dict__")
    assert copy.copy(hidden) is hidden
    assert copy.deepcopy(hidden) is hidden
    assert hidden != type(hidden)(*([WORD] * (1 if isinstance(hidden, Secret) else 2)))


def test_the_bytes_of_a_secret_are_used_and_not_shown() -> None:
    revealed = Secret(WORD).reveal()
    assert revealed == WORD
    for text in (repr(revealed), str(revealed), f"{revealed}", f"{[revealed]!r}", f"{revealed!r}"):
        assert "horse" not in text
    with pytest.raises(TypeError, match="not to leave this process"):
        pickle.dumps(revealed)
    for encode in (json.dumps, msgspec.json.encode, msgspec.msgpack.encode):
        with pytest.raises(TypeError):
            encode(revealed)


def test_a_request_with_a_password_can_be_shown_and_not_written() -> None:
    request = SaltedCredentialsRequest(
        user="a",
        mechanism=ScramMechanism.SHA_512,
        iterations=4096,
        salted=SaltedPassword(WORD, WORD),
    )
    assert "horse" not in repr(request)
    with pytest.raises((TypeError, KeyError)):
        request_to_json(request)
