"""``spec.reconcile.notifications`` of a project: who is told of what the loop does."""

from dataclasses import field
from typing import Annotated, Literal, Self

from pydantic import GetCoreSchemaHandler, model_validator
from pydantic_core import CoreSchema, PydanticCustomError, core_schema

from kgitops.manifests.kinds.fields import NotNull, Text, manifest

EventName = Literal[
    "synced", "applied", "drifted", "healed", "pending", "fight", "failed", "recovered",
    "source-failed", "source-recovered", "suspended", "resumed",
]  # fmt: skip


@manifest
class SecretFromEnv:
    """A secret, by the name of the environment variable that holds it."""

    env: Text
    """The variable's name; the secret itself is never written down."""


class NotShown:
    """Refuses anything but a mapping without showing it: it may be the secret."""

    def __get_pydantic_core_schema__(
        self, source: object, handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        """Look at the value before anything else does."""
        return core_schema.no_info_before_validator_function(_mapping, handler(source))


def _mapping(value: object) -> object:
    if isinstance(value, dict | SecretFromEnv):
        return value
    context = {
        "problem": "a secret can't be written here",
        "advice": "write {env: NAME}, and set that environment variable where kgitops runs",
    }
    raise PydanticCustomError("kgitops_secret", "secret", context)


Secret = Annotated[SecretFromEnv, NotShown()]


@manifest
class WebhookDocument:
    """An address that is sent a JSON body for each event."""

    url: Secret
    """The address, https:// or http://, from the environment: who knows it may post there."""
    template: Text = "cloudevents"
    """The body: cloudevents, slack, teams or alertmanager, or a file with a template of your own,
    from the project's folder."""
    headers: dict[str, Secret] = field(default_factory=dict)
    """More HTTP headers, such as Authorization, from the environment."""


@manifest
class GithubStatusDocument:
    """A status on the commit that was planned or applied, for each cluster."""

    repository: Text
    """The repository, OWNER/NAME."""
    token: Secret
    """A token that may write commit statuses."""
    api_url: Text = "https://api.github.com"
    """The address of GitHub's API; of GitHub Enterprise https://HOST/api/v3."""
    context: Text = "kgitops"
    """The beginning of the status's name; the name of the cluster follows."""


@manifest
class NotificationDocument:
    """Somebody who is told of changes of state."""

    name: Text
    """A name for messages and metrics."""
    webhook: Annotated[WebhookDocument | None, NotNull()] = None
    """An address that is sent a JSON body for each event."""
    github_status: Annotated[GithubStatusDocument | None, NotNull()] = None
    """A status on the commit that was planned or applied, for each cluster."""
    events: list[EventName] = field(default_factory=list)
    """The kinds of event to tell; all if left out."""

    @model_validator(mode="after")
    def _one_receiver(self) -> Self:
        """Exactly one receiver."""
        if (self.webhook is None) == (self.github_status is None):
            context = {
                "problem": "a notification has exactly one receiver",
                "advice": "write webhook or githubStatus, and another entry for a second one",
            }
            raise PydanticCustomError("kgitops_receiver", "receiver", context)
        return self
