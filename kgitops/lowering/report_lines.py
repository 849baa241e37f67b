"""The lines of the lowering report by code, with grade, reason and remedy (§18)."""

from msgspec import Struct

from kgitops.model.lowered import Grade, LoweringLine


class _Code(Struct, frozen=True):
    grade: Grade | None
    reason: str
    remedy: str


_CODES = {
    "L-NATIVE": _Code(
        None,
        "this Kafka has no virtual clusters; kgitops keeps them in __kgitops",
        "change virtual clusters with kgitops only, and protect __kgitops with ACLs",
    ),
    "L-TRANSPARENCY": _Code(
        Grade.CLIENT,
        "brokers don't resolve link names",
        "give clients the physical topic names: kgitops vc bindings",
    ),
    "L-GROUP": _Code(
        Grade.CLIENT,
        "brokers don't translate group ids; a wrong one is denied",
        "let clients set group.id to the virtual cluster's name, a colon and the group",
    ),
    "L-TXN": _Code(
        Grade.CLIENT,
        "brokers don't translate transactional ids; a wrong one is denied",
        "let clients set transactional.id to the virtual cluster's name, a colon and the id",
    ),
    "L-TXN-CHECK": _Code(
        Grade.NONE,
        "whether a transaction is open under the old id can't be checked",
        "stop its producer before it takes the new id",
    ),
    "L-CREATE": _Code(
        Grade.NONE,
        "members can't create topics in their virtual cluster",
        "declare the topics and let kgitops create them",
    ),
    "L-AUTO-CREATE": _Code(
        Grade.NONE,
        "auto.create.topics.enable is true: an unknown topic that a client names is created "
        "outside of any virtual cluster",
        "set auto.create.topics.enable to false",
    ),
    "L-STREAMS": _Code(
        Grade.NONE,
        "topics that Streams, Connect and MirrorMaker create themselves are in no virtual cluster",
        "declare their topics, and configure the physical names where the tool allows it",
    ),
    "L-LIST": _Code(
        Grade.NONE,
        "clients that may describe topics and groups see their physical names",
        "look them up in the binding sheet: kgitops vc bindings",
    ),
    "L-DYNAMIC": _Code(
        Grade.NONE,
        "changes that others make on brokers are only seen by the next plan",
        "run kgitops drift regularly",
    ),
    "L-LINK-GUARD": _Code(
        Grade.NONE,
        "brokers let clients with Delete on the topic delete it in spite of its links",
        "don't grant Delete on it",
    ),
    "L-TOPICID": _Code(
        Grade.APPROX,
        "the uuid in the name is not the topic id that brokers gave it",
        "identify the topic by its name or its topic id, never by the uuid",
    ),
    "L-CLIENTID": _Code(
        Grade.NONE,
        "brokers don't put a client into a virtual cluster for its client id, so neither ACLs nor "
        "quotas of the virtual cluster reach it; and anyone can claim a client id",
        "add the client's user instead",
    ),
    "L-ACL-CLUSTER": _Code(
        Grade.NONE,
        "kgitops checks it for plans, brokers don't; Alter on kafka-cluster bypasses it",
        "let administrators of virtual clusters change Kafka with kgitops only",
    ),
    "L-ACL-CREATE": _Code(
        Grade.NONE,
        "Create is not granted: a member can't know the name that a topic would get",
        "declare the topics and let kgitops create them",
    ),
    "L-ACL-DELETE": _Code(
        Grade.NONE,
        "Delete is not granted: it would delete the physical topic, not the link",
        "remove the link's document",
    ),
    "L-ACL-OPERATION": _Code(
        Grade.NONE,
        "part of the operation is not granted on this Kafka",
        "name the operations that are needed, or grant them with a global ACL",
    ),
    "L-ACL-SNAPSHOT": _Code(
        Grade.SNAPSHOT,
        "it is expanded to the links, members and virtual clusters that exist now",
        "apply again when links, members or virtual clusters were added without kgitops",
    ),
    "L-ACL-CONFLICT": _Code(
        Grade.REFUSE,
        "",
        "change one of the rules, or set lowering.denyWins to apply the denial to both links",
    ),
    "L-ACL-TOKEN": _Code(
        Grade.REFUSE,
        "ACLs on users and delegation tokens can't be kept in a virtual cluster",
        "make it a global ACL",
    ),
    "L-QUOTA-API": _Code(
        Grade.EXACT,
        "quotas are set by AlterClientQuotas on each member's user, over kgitops' own connection",
        "leave these users' quotas to kgitops",
    ),
    "L-QUOTA-EXPAND": _Code(
        Grade.SNAPSHOT,
        "it is set on each current member",
        "apply again when members were added without kgitops",
    ),
    "L-QUOTA-CLIENT": _Code(
        Grade.APPROX,
        "each member has a quota of its own for the client id, instead of all sharing one",
        "divide the quota by the members that use the client id",
    ),
    "L-QUOTA-CAP": _Code(Grade.APPROX, "", "set the quotas of members so that their sum is right"),
    "L-QUOTA-SHADOW": _Code(
        Grade.EXACT,
        "",
        "nothing: it is restored when the virtual cluster's quota or the user's membership ends",
    ),
    "L-ISOLATION": _Code(None, "", "remove these ACLs, or narrow them"),
    "L-BYPASS": _Code(
        None,
        "",
        "once its clients use the virtual cluster, remove these ACLs: removeOldAclsFrom",
    ),
    "L-NO-AUTHORIZER": _Code(
        Grade.NONE,
        "brokers have no authorizer, so nothing isolates tenants",
        "configure authorizer.class.name",
    ),
    "L-ALLOW-EVERYONE": _Code(
        Grade.NONE,
        "allow.everyone.if.no.acl.found is true, so everything without an ACL is open to all",
        "set allow.everyone.if.no.acl.found to false",
    ),
    "L-SUPER-USER": _Code(
        Grade.REFUSE,
        "the member is a super user, which nothing confines to its virtual cluster",
        "remove the member, or take it from super.users",
    ),
    "L-PREFLIGHT": _Code(
        None,
        "the settings of brokers that isolation depends on can't be read",
        "grant DescribeConfigs on kafka-cluster to kgitops",
    ),
    "L-HIDDEN": _Code(
        None,
        "brokers don't reveal this setting of their authorizer",
        "check in the brokers' own files that allow.everyone.if.no.acl.found is false and that "
        "super.users names no member",
    ),
    "L-GATEWAY": _Code(
        None,
        "clients come through a gateway, so brokers see its address instead of theirs",
        "count on no client's address: name no hosts in ACLs, and limit connections in front of "
        "the gateway",
    ),
    "L-GATEWAY-HOST": _Code(
        Grade.NONE,
        "brokers compare its host with the gateway's address, so it lets no client of that host in "
        "through the gateway",
        "take the host out, or let its clients connect to the brokers",
    ),
    "L-GATEWAY-IP": _Code(
        Grade.NONE,
        "all clients of the gateway come from its address: they share the quota of that one, and "
        "no other counts for them",
        "give the gateway's address a quota that is enough for all its clients",
    ),
    "L-LEFTOVER": _Code(
        None,
        "an apply was interrupted and left it on brokers",
        "run kgitops apply --resume; otherwise the next change of a virtual cluster removes it",
    ),
    "L-PENDING": _Code(
        None,
        "an apply was interrupted after it had created the topic, which is in no virtual cluster "
        "yet",
        "run kgitops apply --resume, or apply its document again, to finish it",
    ),
    "L-GOAL": _Code(None, "", ""),
    "L-DATAPLANE": _Code(
        None,
        "the embedded cluster moves no data; it only resolves and authorizes produce and consume",
        "try clients on a real Kafka",
    ),
}


def report_line(
    code: str,
    *,
    virtual_cluster: str = "",
    subject: str = "",
    reason: str = "",
    grade: Grade | None = None,
) -> LoweringLine:
    """A line of this code, with the code's own grade and reason unless others are given."""
    default = _CODES[code]
    return LoweringLine(
        code=code,
        grade=grade or default.grade,
        virtual_cluster=virtual_cluster,
        subject=subject,
        reason=reason or default.reason,
        remedy=default.remedy,
    )
