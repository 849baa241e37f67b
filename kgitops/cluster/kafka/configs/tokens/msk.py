"""Tokens for Amazon MSK from AWS credentials, for ``sasl.mechanism=AWS_MSK_IAM``.

Brokers of MSK take them by OAUTHBEARER: a token is the address of a signed request for the action
kafka-cluster:Connect. Amazon's own package signs it; no request is sent for that.
"""

import os
import re
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING

from kgitops.cluster.kafka.configs.tokens.cache import TokenError
from kgitops.cluster.kafka.configs.tokens.provided import ProvidedTokens
from kgitops.model.errors import UsageError
from kgitops.model.origin import install_command
from kgitops.model.wording import nearest

if TYPE_CHECKING:
    from botocore.credentials import Credentials
    from botocore.session import Session

MECHANISM = "AWS_MSK_IAM"
REGION, PROFILE, ROLE, SESSION_NAME = "region", "awsProfileName", "awsRoleArn", "awsRoleSessionName"
"""The names that Amazon's library for Java has, and ``region``, which it takes from the broker."""
_NAMES = (REGION, PROFILE, ROLE, SESSION_NAME)
_REGION = re.compile(r"[a-z]{2,}(-[a-z]+)+-[0-9]+")
_SOURCE = "Amazon's signer"
_LIFE_S = 600.0
"""A token is good for 15 minutes, if its credentials are: botocore keeps them for ten at least."""
_NO_CREDENTIALS = (
    "no AWS credentials were found for sasl.mechanism=AWS_MSK_IAM; set AWS_PROFILE, or "
    "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or run where a role is attached"
)


def msk_tokens(config: str) -> ProvidedTokens:
    """Tokens by ``sasl.oauthbearer.config``: NAME=VALUE,NAME=VALUE.

    Raises:
        UsageError: Amazon's signer is not installed, the config is not valid, or the region is not
            known.
    """
    session = _session(options := _options(config))
    region = options.get(REGION) or os.environ.get("AWS_REGION")
    region = region or session.get_config_variable("region")
    if not region:
        raise UsageError(
            "sasl.mechanism=AWS_MSK_IAM needs the cluster's region; set sasl.oauthbearer.config: "
            "region=REGION, or AWS_REGION"
        )
    if not _REGION.fullmatch(region):  # it becomes part of a host name
        raise UsageError(f"{region!r} is no AWS region; write one such as eu-central-1")
    return ProvidedTokens(
        lambda _: _signed(session, region, options),
        "",
        source=_SOURCE,
        name="the token signed with the AWS credentials",
        advice="check that their IAM policies allow kafka-cluster:Connect on the cluster, and its "
        "region",
        look="try `aws sts get-caller-identity` in the same environment",
    )


def _options(config: str) -> Mapping[str, str]:
    options: dict[str, str] = {}
    for item in re.split(r"[,\s]+", config.strip()) if config.strip() else ():
        name, equals, value = item.partition("=")
        if name not in _NAMES:
            near = nearest(name, _NAMES)
            advice = f"did you mean {near}?" if near else f"known are {', '.join(_NAMES)}"
            raise UsageError(f"sasl.oauthbearer.config: {name!r} is not known; {advice}")
        if not equals or not value or name in options:
            raise UsageError(f"sasl.oauthbearer.config: write {name}=VALUE, once")
        options[name] = value
    if SESSION_NAME in options and ROLE not in options:
        raise UsageError(f"sasl.oauthbearer.config: {SESSION_NAME} needs {ROLE}; add it")
    return options


def _session(options: Mapping[str, str]) -> "Session":
    try:
        import aws_msk_iam_sasl_signer  # noqa: F401, PLC0415 (an extra)
        from botocore.exceptions import ProfileNotFound  # noqa: PLC0415
        from botocore.session import Session  # noqa: PLC0415
    except ImportError:
        raise UsageError(
            "sasl.mechanism=AWS_MSK_IAM needs the package aws-msk-iam-sasl-signer-python, which is "
            f"not installed; run {install_command('msk')}"
        ) from None
    try:
        session = Session(profile=options.get(PROFILE))
        session.get_config_variable("region")
    except ProfileNotFound:
        named = options.get(PROFILE) or os.environ.get("AWS_PROFILE") or ""
        raise UsageError(
            f"there is no AWS profile {named!r}; correct awsProfileName in "
            "sasl.oauthbearer.config, or AWS_PROFILE"
        ) from None
    return session


def _signed(session: "Session", region: str, options: Mapping[str, str]) -> tuple[str, float]:
    """Have a token signed; return it and its end in seconds since 1970."""
    from aws_msk_iam_sasl_signer.MSKAuthTokenProvider import (  # noqa: PLC0415
        generate_auth_token_from_credentials_provider,
    )
    from botocore.credentials import CredentialProvider  # noqa: PLC0415

    credentials = _credentials(session, region, options)

    class Found(CredentialProvider):  # type: ignore[misc]
        def load(self) -> "Credentials":
            return credentials

    token, end_ms = generate_auth_token_from_credentials_provider(region, Found())
    return token, min(end_ms / 1000, time.time() + _LIFE_S)


def _credentials(session: "Session", region: str, options: Mapping[str, str]) -> "Credentials":
    """The default chain's credentials, renewed by botocore, or those of a role they may assume."""
    from botocore.config import Config  # noqa: PLC0415
    from botocore.credentials import Credentials  # noqa: PLC0415
    from botocore.exceptions import ClientError  # noqa: PLC0415

    found = session.get_credentials()
    if found is None:
        raise TokenError(_NO_CREDENTIALS)
    if ROLE not in options:
        return found.get_frozen_credentials()
    quick = Config(connect_timeout=2, read_timeout=3, retries={"total_max_attempts": 1})
    client = session.create_client("sts", region_name=region, config=quick)
    try:
        answer = client.assume_role(
            RoleArn=options[ROLE], RoleSessionName=options.get(SESSION_NAME, "kgitops")
        )
    except ClientError as error:
        code = error.response.get("Error", {}).get("Code", "no code")
        raise TokenError(
            f"AWS does not let these credentials assume the role {options[ROLE]} ({code}); check "
            "awsRoleArn and the role's trust policy"
        ) from None
    given = answer["Credentials"]
    return Credentials(given["AccessKeyId"], given["SecretAccessKey"], given["SessionToken"])
