"""Requests, and who asks."""

from kgitops.policy.cel.records.record import Field, Record
from kgitops.policy.cel.types import STRING

REQUEST = Record(
    "a request",
    {
        "api": Field(STRING, "CreateTopic, AlterTopic, … as in match.", lambda asked, _: asked.api),
        "name": Field(
            STRING,
            "The name that match.names is compared with: of a topic, of an ACL's resource; of a "
            "quota its entity as in the address; of a broker its id.",
            lambda asked, _: asked.name,
        ),
        "address": Field(
            STRING, "The object's address, such as topic/orders.", lambda asked, _: asked.address
        ),
    },
)
PRINCIPAL = Record(
    "a principal",
    {
        "type": Field(STRING, "User in most cases.", lambda principal, _: principal.type),
        "name": Field(STRING, "What follows the colon.", lambda principal, _: principal.name),
    },
)
