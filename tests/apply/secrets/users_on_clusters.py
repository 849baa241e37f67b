"""A project's users on embedded clusters, planned with what the cluster tells of them."""

from apply.plans import Apply
from builders import a_desired, plan_of

from kgitops.cluster.embedded.adapter import EmbeddedCluster
from kgitops.cluster.embedded.controls.scram import scram_keys
from kgitops.cluster.port import Cluster
from kgitops.model.json.declared import DesiredObject
from kgitops.model.resources.users import ScramMechanism
from kgitops.plan.document.plan import Plan
from kgitops.workflow.reading import with_declared_objects


def plan_users_on(cluster: Cluster, *objects: DesiredObject, principal: str = "User:a") -> Plan:
    desired = a_desired(*objects, principal=principal)
    return plan_of(desired, with_declared_objects(cluster, desired, cluster.read_state()))


def apply_users(apply: Apply, *objects: DesiredObject, run_id: str = "run-1") -> Plan:
    plan = plan_users_on(apply.cluster, *objects)
    result = apply.plan(plan, run_id)
    assert result.verdict.exit == 0, result.verdict
    return plan


def can_log_in(cluster: EmbeddedCluster, user: str, mechanism: ScramMechanism, word: bytes) -> bool:
    """Whether the keys that the cluster holds are those of this password."""
    import base64
    import hashlib

    with cluster.controller.consistent_image() as image:
        held = image.scram.users.get(user, {}).get(mechanism.value)
    if held is None:
        return False
    salted = hashlib.pbkdf2_hmac(
        mechanism.hash_name, word, base64.b64decode(held.salt), held.iterations
    )
    stored_key, _ = scram_keys(mechanism, salted)
    return base64.b64decode(held.stored_key) == stored_key
