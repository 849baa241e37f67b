"""Where product code gets its judge."""

from kgitops.policy.evaluate.bundle import Bundle, Level
from kgitops.policy.evaluate.judge import InProcessEvaluator
from kgitops.policy.evaluate.protocol import PolicyEvaluator


def open_evaluator(bundle: Bundle) -> PolicyEvaluator:
    """Who judges by ``bundle``, in a process of its own that starts at once; close it at the end.

    Its first ``begin`` waits until the policies are loaded, and raises FindingsError with all that
    is wrong with them. Where no policy is on there is no process, and everything passes.

    Raises:
        KgitopsError: the process can't be started.
    """
    policies = [policy for policy in bundle.policies if policy.level is not Level.OFF]
    if not policies:
        return InProcessEvaluator(())
    from kgitops.policy.worker.session import WorkerEvaluator  # noqa: PLC0415 (only where it is used)

    waivers = [waiver for waiver in bundle.waivers if waiver.expires >= bundle.today]
    return WorkerEvaluator(policies, waivers)
