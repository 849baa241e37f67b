"""Where product code gets its judge."""

from kgitops.policy.judge import Judge
from kgitops.policy.judging import Judging
from kgitops.policy.loading import load_rules
from kgitops.policy.rules import Bundle


def open_judging(bundle: Bundle) -> Judging:
    """Who judges by ``bundle``; close it at the end.

    Raises:
        FindingsError: a policy can't be loaded.
    """
    waivers = [waiver for waiver in bundle.waivers if waiver.expires >= bundle.today]
    return Judge(load_rules(bundle.policies), waivers)
