"""Logins of users, and the mechanisms that brokers hold of them, as other clients see them."""

from functools import partial

from patience import eventually

from kgitops.sandbox.layout import login_configs
from kgitops.sandbox.sandbox import Sandbox

PATIENCE_S = 120


def logs_in(
    kafka: Sandbox, user: str, mechanism: str, password: str, server: str | None = None
) -> bool:
    """Whether librdkafka, which shares nothing with kgitops, can log in at one or at any broker."""
    from confluent_kafka import KafkaException
    from confluent_kafka.admin import AdminClient

    errors: list[str] = []
    base = {k: v for k, v in kafka.layout.client_configs("SASL_SSL").items() if "sasl" not in k}
    client = AdminClient(
        {
            "bootstrap.servers": server or kafka.layout.servers("SASL_SSL"),
            "error_cb": lambda error: errors.append(str(error)),
            "log_level": 0,
            **base,
            **login_configs(user, password, mechanism),
        }
    )

    def tried() -> tuple[bool, list[str]]:
        try:
            client.list_topics(timeout=0.2)
        except KafkaException:
            client.poll(0)
            return False, errors
        return True, errors

    works, _ = eventually(
        tried,
        lambda found: found[0] or any("uthentication" in error for error in found[1]),
        what=f"{user} logs in or is refused",
    )
    return works


def await_logins(kafka: Sandbox, user: str, mechanism: str, password: str, *, works: bool) -> None:
    """Wait until a login works at every broker, or at none: they learn of it one by one."""
    for server in kafka.layout.servers("SASL_SSL").split(","):
        eventually(
            partial(logs_in, kafka, user, mechanism, password, server),
            lambda does: does is works,
            what=f"{user} by {mechanism} at {server}: {works}",
        )


def described_users(kafka: Sandbox) -> dict[str, dict[str, int]]:
    """Users, mechanisms and iterations, as Kafka's own tool tells them."""
    found: dict[str, dict[str, int]] = {}
    printed = kafka.tool("kafka.admin.ConfigCommand", "--describe", "--entity-type", "users")
    head = "SCRAM credential configs for user-principal '"
    for line in printed.splitlines():
        assert line.startswith(head), line
        name, _, credentials = line.removeprefix(head).partition("' are ")
        found[name] = {
            mechanism: int(iterations.removeprefix("iterations="))
            for mechanism, iterations in (part.split("=", 1) for part in credentials.split(", "))
        }
    return found


def held_mechanisms(kafka: Sandbox) -> dict[str, dict[str, int]]:
    """The same, as librdkafka reads it from a broker, which takes no second."""
    from confluent_kafka.admin import AdminClient

    client = AdminClient(
        {
            "bootstrap.servers": kafka.layout.servers("SASL_SSL"),
            "log_level": 0,
            **kafka.layout.client_configs("SASL_SSL"),
        }
    )
    users = client.describe_user_scram_credentials(request_timeout=60).result(PATIENCE_S)
    return {
        name: {
            info.mechanism.name.replace("_", "-"): info.iterations
            for info in user.scram_credential_infos
        }
        for name, user in users.items()
    }
