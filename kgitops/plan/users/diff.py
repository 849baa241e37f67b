"""Plans users: compares the declared credentials with those on the cluster, by mechanism.

Kafka tells mechanisms and iterations and nothing else, so that a password is set again only where
the document's version differs from the one that was last applied.
"""

from collections.abc import Iterable, Sequence

from kgitops.desired.state import DesiredState
from kgitops.model.cluster_state import Client, ClusterState
from kgitops.model.json.declared import DesiredMember, DesiredUser, Record, credentials_of
from kgitops.model.registry import Json
from kgitops.model.requests import AlterUserScramCredentialsRequest, Request
from kgitops.model.resources.addresses import user_address
from kgitops.model.resources.kinds import CREDENTIALS, Kind
from kgitops.model.resources.users import FoundUser, ScramIterations, ScramMechanism, user_principal
from kgitops.model.resources.virtual_clusters import EntityType
from kgitops.model.source import Finding
from kgitops.plan.context import PlanContext
from kgitops.plan.document import risks
from kgitops.plan.draft import PlanDraft
from kgitops.plan.engine import Requested, Values, ValuesPlanner
from kgitops.plan.users.credentials import is_renewed, iterations_path, last_credentials
from kgitops.plan.users.own_login import lockouts

_PREFIX = "user/"
_NOBODY: ScramIterations = {}


def concerned_users(desired: DesiredState, current: ClusterState) -> frozenset[str]:
    """Return the users that a plan has to know: those declared, and those that anyone manages."""
    return managed_users(current) | {user.name for user in desired.of(DesiredUser)}


def managed_users(current: ClusterState) -> frozenset[str]:
    """Return the users that any project manages."""
    return frozenset(
        owner.last_applied["name"]
        for address, owner in (current.registry.owners if current.registry else {}).items()
        if address.startswith(_PREFIX) and not owner.spent
    )


def plan_users(context: PlanContext, client: Client | None) -> PlanDraft:
    """Plan every difference between the declared users and the cluster's.

    ``client`` is kgitops itself, whose own login is left as it is.
    """
    desired, draft = context.desired, context.draft
    if Kind.USER not in context.current.asked:
        if desired.of(DesiredUser) or any(True for _ in context.ownership.mine(CREDENTIALS)):
            draft.refuse(
                "the users of this cluster were not read, so declared and managed users can't be "
                "planned; take the snapshot with --users"
            )
        return draft
    UserPlanner(context).plan()
    for sentence in lockouts(draft.changes, client, desired.principal):
        draft.refuse(sentence)
    return draft


class UserPlanner(ValuesPlanner[DesiredUser]):
    """The users who log in by SCRAM: by mechanism, the number of its iterations."""

    declares, field = DesiredUser, "scram"
    adopted, removed, forgotten = risks.USER_ADOPT, risks.USER_DELETE, risks.USER_FORGET

    def existing(self) -> Iterable[str]:
        """Return the addresses of all users."""
        return (user_address(user.name) for user in self.current.of(FoundUser))

    def fits(self, item: DesiredUser) -> bool:
        """Return whether the user is a member of its virtual cluster, or becomes one (VC-160c)."""
        context, name = self.context, item.virtual_cluster
        if name is None:
            return True
        source = item.located.at("metadata", "virtualCluster")
        if not context.has_virtual_cluster(name, source, item.address):
            return False
        principal = user_principal(item.name)
        known = self.current.virtual_clusters.get(name)
        declared = any(
            member.entity_type is EntityType.USER
            and (member.virtual_cluster, member.name) == (name, principal)
            for member in context.desired.of(DesiredMember)
        )
        if declared or (known is not None and principal in known.users):
            return True
        context.draft.findings.append(
            Finding(
                source=source,
                problem=f"{item.address} is declared in the virtual cluster {name}, of which "
                f"{principal} is not a member",
                advice=f"add {principal} to the virtual cluster's users, or remove virtualCluster",
            )
        )
        return False

    @classmethod
    def values(cls, record: Record) -> Values:
        """Return the iterations by mechanism."""
        return {key: str(each["iterations"]) for key, each in record.get("scram", {}).items()}

    @classmethod
    def path(cls, key: str) -> str:
        """Return the path of a mechanism's iterations."""
        return iterations_path(ScramMechanism(key))

    def held(self, record: Record) -> Values:
        """Return the iterations of the mechanisms that the user has."""
        user = self.current.find(FoundUser, user_address(record["name"]))
        held = user.held if user else {}
        return {key.value: str(each) for key, each in held.items()}

    @classmethod
    def view(cls, record: Record, values: Values) -> dict[str, Json]:
        """Return the user with its mechanisms."""
        scram = {
            key.value: {"iterations": int(values[key])} for key in ScramMechanism if key in values
        }
        return {"kind": "User", "name": record["name"], "scram": scram}

    def renewed(self, item: DesiredUser, managed: Record) -> frozenset[str]:
        """Return the mechanisms whose password has another version than the last applied one."""
        last = last_credentials(managed)
        return frozenset(
            key.value for key, each in item.credentials.items() if is_renewed(each, last.get(key))
        )

    def check(self, item: DesiredUser, requested: Requested) -> None:
        """Add a finding for each password that must be set and has no source."""
        for key, wanted in sorted(requested.items()):
            if wanted is None or item.credentials[ScramMechanism(key)].password.known:
                continue
            self.context.stop(
                item.address,
                Finding(
                    source=item.located.at("spec", "scram"),
                    problem=f"{item.address}: the password for {key} must be set, but it has no "
                    "source",
                    advice="write where it comes from, such as {env: VARIABLE}, in place of "
                    "{unknown: true}",
                ),
            )

    def expected_keys(self, record: Record, requested: Requested, held: Values) -> Iterable[str]:
        """Return all declared mechanisms: who lost one meanwhile could not log in."""
        del held
        return dict.fromkeys((*self.values(record), *requested))

    def requests(self, record: Record, requested: Requested) -> Sequence[Request]:
        """Return a request for each mechanism; those that are set come before those that go."""
        name, scope = record["name"], record.get("virtualCluster")
        declared = credentials_of(record["scram"])
        made = []
        for key in sorted(requested, key=lambda each: (requested[each] is None, each)):
            mechanism = ScramMechanism(key)
            wanted = declared[mechanism] if requested[key] is not None else None
            made.append(
                AlterUserScramCredentialsRequest(
                    user=name,
                    mechanism=mechanism,
                    iterations=wanted.iterations if wanted else None,
                    password=wanted.password if wanted else None,
                    virtual_cluster=scope,
                )
            )
        return made
