"""Tokens for Amazon MSK, against a verifier that knows the key and makes the signature anew."""

import base64
import re
import sys
import threading
import urllib.parse
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from cluster.kafka.msk_verifier import (
    ENVIRON,
    KEY_ID,
    REGION,
    SECRET_KEY,
    MskVerifier,
    RefusedError,
)

from kgitops.cluster.kafka.configs.tokens.cache import TokenError
from kgitops.cluster.kafka.configs.tokens.msk import msk_tokens
from kgitops.model.errors import UsageError

HERE = f"region={REGION}"
ROLE = "arn:aws:iam::123456789012:role/kafka"


@pytest.fixture(autouse=True)
def environ(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_PROFILE", "AWS_REGION", "AWS_DEFAULT_REGION", "AWS_SESSION_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    for name, value in ENVIRON.items():
        monkeypatch.setenv(name, value)


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Files of AWS's tools in place of the environment's credentials."""
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "config"))
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "credentials"))
    (tmp_path / "config").write_text("[profile ci]\nregion = eu-west-1\n")
    (tmp_path / "credentials").write_text(
        f"[ci]\naws_access_key_id = {KEY_ID}\naws_secret_access_key = {SECRET_KEY}\n"
    )
    return tmp_path


def url_of(token: str) -> str:
    return base64.urlsafe_b64decode(token + "=" * (-len(token) % 4)).decode()


def token_of(url: str) -> str:
    return base64.urlsafe_b64encode(url.encode()).decode().rstrip("=")


def unusable(config: str = HERE) -> str:
    with pytest.raises(TokenError) as error:
        msk_tokens(config).token()
    said = str(error.value)
    assert SECRET_KEY not in said
    assert said.count("; ") == 1
    return said


def refused(config: str = HERE) -> str:
    with pytest.raises(UsageError) as error:
        msk_tokens(config)
    return str(error.value)


def test_a_token_is_signed_with_the_key():
    tokens = msk_tokens(HERE)
    assert MskVerifier().verify(tokens.token()) > 0
    assert tokens.for_librdkafka()[0] == tokens.token()
    assert SECRET_KEY not in url_of(tokens.token())


def test_the_verifier_refuses_what_another_key_signed_and_what_was_changed():
    """The verifier is worth something: no part of a token can be changed."""
    token = msk_tokens(HERE).token()
    with pytest.raises(RefusedError):
        MskVerifier(keys={KEY_ID: "another"}).verify(token)
    with pytest.raises(RefusedError):
        MskVerifier().verify(token, "eu-west-1")
    parts = urllib.parse.urlsplit(url_of(token))
    pairs = urllib.parse.parse_qsl(parts.query)
    assert {name for name, _ in pairs} >= {"Action", "X-Amz-Date", "X-Amz-Signature"}
    for name, value in pairs:
        if name == "User-Agent":
            continue
        changed = value[:-1] + ("1" if value[-1] != "1" else "2")
        query = urllib.parse.urlencode([(n, changed if n == name else v) for n, v in pairs])
        with pytest.raises((RefusedError, ValueError)):
            MskVerifier().verify(token_of(parts._replace(query=query).geturl()))
        left = urllib.parse.urlencode([(n, v) for n, v in pairs if n != name])
        with pytest.raises((RefusedError, KeyError)):
            MskVerifier().verify(token_of(parts._replace(query=left).geturl()))


def test_temporary_credentials_bring_their_session(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("AWS_SESSION_TOKEN", "session/+=")
    token = msk_tokens(HERE).token()
    MskVerifier(session_tokens={KEY_ID: "session/+="}).verify(token)
    with pytest.raises(RefusedError):
        MskVerifier().verify(token)


def test_the_region_is_found_where_aws_tools_find_it(monkeypatch: pytest.MonkeyPatch):
    for name in ("AWS_DEFAULT_REGION", "AWS_REGION"):
        with monkeypatch.context() as patch:
            patch.setenv(name, "us-gov-east-1")
            MskVerifier().verify(msk_tokens("").token(), "us-gov-east-1")
    monkeypatch.setenv("AWS_REGION", "us-east-1")
    MskVerifier().verify(msk_tokens(HERE).token(), REGION)


@pytest.mark.usefixtures("files")
def test_a_profile_has_keys_and_region(monkeypatch: pytest.MonkeyPatch):
    MskVerifier().verify(msk_tokens("awsProfileName=ci").token(), "eu-west-1")
    MskVerifier().verify(msk_tokens(f"awsProfileName=ci, {HERE}").token(), REGION)
    assert refused("awsProfileName=cd") == (
        "there is no AWS profile 'cd'; correct awsProfileName in sasl.oauthbearer.config, or "
        "AWS_PROFILE"
    )
    monkeypatch.setenv("AWS_PROFILE", "cd")
    assert "there is no AWS profile 'cd'" in refused()


@pytest.mark.usefixtures("files")
def test_without_credentials_there_is_no_token():
    assert unusable() == (
        "no AWS credentials were found for sasl.mechanism=AWS_MSK_IAM; set AWS_PROFILE, or "
        "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or run where a role is attached"
    )


def test_half_a_key_is_no_key(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")
    assert unusable() == (
        "Amazon's signer raises PartialCredentialsError; try `aws sts get-caller-identity` in the "
        "same environment"
    )


@contextmanager
def sts(status: int, answer: str) -> Iterator[tuple[str, list[dict[str, str]]]]:
    """AWS's service for assuming roles, with one answer."""
    asked: list[dict[str, str]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"])).decode()
            asked.append(dict(urllib.parse.parse_qsl(body)))
            self.send_response(status)
            self.send_header("Content-Type", "text/xml")
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer.encode())

        def log_message(self, *words: object) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}", asked
        finally:
            server.shutdown()
            thread.join()


ASSUMED = """<AssumeRoleResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/">
<AssumeRoleResult><Credentials><AccessKeyId>ASIAROLE</AccessKeyId>
<SecretAccessKey>of-the-role</SecretAccessKey><SessionToken>session</SessionToken>
<Expiration>2999-01-01T00:00:00Z</Expiration></Credentials></AssumeRoleResult>
</AssumeRoleResponse>"""
DENIED = """<ErrorResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><Error>
<Type>Sender</Type><Code>AccessDenied</Code><Message>not you</Message></Error></ErrorResponse>"""


def test_a_role_is_assumed(monkeypatch: pytest.MonkeyPatch):
    with sts(200, ASSUMED) as (url, asked):
        monkeypatch.setenv("AWS_ENDPOINT_URL_STS", url)
        token = msk_tokens(f"{HERE},awsRoleArn={ROLE},awsRoleSessionName=ci").token()
        msk_tokens(f"{HERE} awsRoleArn={ROLE}").token()
    MskVerifier({"ASIAROLE": "of-the-role"}, {"ASIAROLE": "session"}).verify(token)
    assert [(one["RoleArn"], one["RoleSessionName"]) for one in asked] == [
        (ROLE, "ci"),
        (ROLE, "kgitops"),
    ]


def test_a_role_that_may_not_be_assumed(monkeypatch: pytest.MonkeyPatch):
    with sts(403, DENIED) as (url, _):
        monkeypatch.setenv("AWS_ENDPOINT_URL_STS", url)
        assert unusable(f"{HERE},awsRoleArn={ROLE}") == (
            f"AWS does not let these credentials assume the role {ROLE} (AccessDenied); check "
            "awsRoleArn and the role's trust policy"
        )


@pytest.mark.parametrize(
    ("config", "says"),
    [
        ("", "needs the cluster's region; set sasl.oauthbearer.config: region=REGION, or AWS_REG"),
        ("region=evil.example.com/?", "'evil.example.com/?' is no AWS region; write one such as"),
        ("awsProfile=x", "sasl.oauthbearer.config: 'awsProfile' is not known; did you mean awsPr"),
        ("zzz", "sasl.oauthbearer.config: 'zzz' is not known; known are region, awsProfileName"),
        ("region", "sasl.oauthbearer.config: write region=VALUE, once"),
        ("region=a-b-1,region=a-c-1", "sasl.oauthbearer.config: write region=VALUE, once"),
        (f"{HERE},awsRoleSessionName=x", "awsRoleSessionName needs awsRoleArn; add it"),
    ],
)
def test_configs_that_can_not_be_meant(config: str, says: str):
    assert says in refused(config)


def test_without_the_extra_the_sentence_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "aws_msk_iam_sasl_signer", None)
    assert re.fullmatch(
        "sasl.mechanism=AWS_MSK_IAM needs the package aws-msk-iam-sasl-signer-python, which is not "
        r"installed; run (pip install 'kgitops\[msk\].*|uv sync --inexact --extra msk)",
        refused(),
    )
