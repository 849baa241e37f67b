"""Opens the evaluator that product code asks about requests."""

from kgitops.policy.evaluate.bundle import Bundle, Level
from kgitops.policy.evaluate.judge import InProcessEvaluator
from kgitops.policy.evaluate.protocol import PolicyEvaluator


def open_evaluator(bundle: Bundle) -> PolicyEvaluator:
    """Open an evaluator of the bundle's policies; close it at the end.

    It judges in a process of its own, which starts at once. Its first ``begin`` waits until the
    policies are loaded, and raises FindingsError with everything that is wrong with them. Where no
    policy is on there is no process, and every request passes.

    Raises:
        KgitopsError: the process can't be started.
    """
    policies = [policy for policy in bundle.policies if policy.level is not Level.OFF]
    if not policies:
        return InProcessEvaluator(())
    from kgitops.policy.worker.session import WorkerEvaluator  # noqa: PLC0415 (only where it is used)

    waivers = [waiver for waiver in bundle.waivers if waiver.expires >= bundle.today]
    return WorkerEvaluator(policies, waivers, hidden_env=bundle.hidden_env)
