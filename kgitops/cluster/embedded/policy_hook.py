"""The brokers' policies: they judge requests that are otherwise valid, just before the write."""

import logging
from collections.abc import Callable, Mapping

from kgitops.cluster.embedded.draft import Draft
from kgitops.cluster.embedded.image.image import Image
from kgitops.cluster.embedded.image.state import controller_id, topic_state
from kgitops.cluster.embedded.options import BROKER_PRINCIPAL, Options, without_secrets
from kgitops.cluster.embedded.refusal import Refusal
from kgitops.model import requests as req
from kgitops.model.cluster_state import Broker, ClusterState
from kgitops.model.resources.topics import TopicState
from kgitops.model.results import ErrorCode
from kgitops.policy.evaluate.bundle import RequestRulings
from kgitops.policy.evaluate.protocol import PolicyEvaluator
from kgitops.virtual_clusters.image import VirtualClustersImage


def static_configs(options: Options, broker: Broker) -> dict[str, str]:
    """The configs of the broker's properties file."""
    rack = {} if broker.rack is None else {"broker.rack": broker.rack}
    configs = without_secrets(options.static_configs_of(broker.id))
    return {"node.id": str(broker.id), **rack, **configs}


def node_configs(draft: Draft, node: int | None = None) -> Mapping[str, str]:
    """The configs in effect on a broker, its own above the default of all; None: the controller."""
    brokers = {broker.id: broker for broker in draft.delta.brokers.all()}
    number = controller_id(draft.image) if node is None else node
    if number not in brokers:  # no broker is alive to be the controller
        return without_secrets(draft.options.static_configs)
    dynamic = draft.delta.configs
    return {
        **static_configs(draft.options, brokers[number]),
        **dynamic.of_broker(""),
        **dynamic.of_broker(str(number)),
    }


_log = logging.getLogger(__name__)


class BrokerPolicies:
    """Implements ``draft.PolicyHook``; the evaluator is opened when the first request needs it.

    Giving a whole cluster to the evaluator is expensive. So it is not given again as long as the
    state given before, with the requests accepted since, is the state of the cluster.
    """

    def __init__(
        self, open_evaluator: Callable[[], PolicyEvaluator], show: Callable[[Image], ClusterState]
    ) -> None:
        self._open_evaluator = open_evaluator
        self._show = show
        self._evaluator: PolicyEvaluator | None = None
        self._draft: Draft | None = None  # the one whose requests are judged now
        self._accepted: list[req.Request] = []
        self._held: tuple[Image, str] | None = None  # the evaluator's image and principal
        self._state: tuple[Image, ClusterState] | None = None

    def _open(self) -> PolicyEvaluator:
        """The evaluator.

        Raises:
            FindingsError: a policy can't be loaded.
        """
        if self._evaluator is None:
            self._evaluator = self._open_evaluator()
        return self._evaluator

    def load(self, image: Image) -> None:
        """Load the policies now, instead of when the first request is judged.

        Raises:
            FindingsError: one can't be loaded.
        """
        self._held = None
        self._open().begin(self._show(image), principal=BROKER_PRINCIPAL)

    def judge(self, draft: Draft, request: req.Request, *, node: int | None) -> None:
        """Ask every policy about ``request``, on that broker (P201-40).

        Raises:
            Refusal: one denies (44), or could not say (-1).
        """
        self._ask(draft, request, node_configs(draft, node))

    def judge_start(self, draft: Draft, broker: Broker) -> None:
        """Ask every policy whether ``broker`` may start with its configs (P201-86, P201-88).

        Raises:
            Refusal: as ``judge``.
        """
        configs = static_configs(draft.options, broker)
        self._ask(draft, req.AlterBrokerRequest(broker=broker.id, configs=configs), {})

    def accept(self, request: req.Request) -> None:
        """Let policies see the accepted request when they judge later ones (P201-41)."""
        self._open().accept(request)
        self._accepted.append(request)

    def end(self, image: Image | None) -> None:
        """End the draft; ``image`` is the cluster after it, None if the cluster did not change."""
        draft, self._draft = self._draft, None
        if draft is None:
            return
        accepted, self._accepted = self._accepted, []
        if image is None:
            in_step, image = not accepted, draft.image
        else:
            in_step = _is_in_step(draft.image, accepted, image)
        self._held = (image, draft.authorizer.principal) if in_step else None

    def close(self) -> None:
        """Close the policies (P201-45)."""
        if self._evaluator is not None:
            self._evaluator.close()

    def _ask(self, draft: Draft, request: req.Request, configs: Mapping[str, str]) -> None:
        evaluator = self._open()
        if self._draft is not draft:
            self._begin(evaluator, draft)
        _refuse(evaluator.judge(request, broker_configs=configs))

    def _begin(self, evaluator: PolicyEvaluator, draft: Draft) -> None:
        image, principal = draft.image, draft.authorizer.principal
        if self._held is None or self._held[0] is not image or self._held[1] != principal:
            if self._state is None or self._state[0] is not image:
                self._state = image, self._show(image)
            evaluator.begin(self._state[1], principal=principal)
        self._draft = draft


def _is_in_step(before: Image, accepted: list[req.Request], after: Image) -> bool:
    """Return whether ``after`` is the state that the evaluator expects after ``accepted``."""
    if (before.brokers, before.configs) != (after.brokers, after.configs):
        return False
    if not _are_in_step(before.virtual_clusters, accepted, after.virtual_clusters):
        return False
    expected: dict[str, TopicState | None] = {}
    for request in accepted:
        match request:
            case req.CreateTopicRequest() | req.AlterTopicRequest():
                expected[request.topic] = request.requested_state.as_current()
            case req.DeleteTopicRequest():
                expected[request.topic] = None
            case _:
                pass
    topics = after.topics.by_name
    return all(
        (topic_state(topics[name]) if name in topics else None) == topic
        for name, topic in expected.items()
    )


def _are_in_step(
    before: VirtualClustersImage, accepted: list[req.Request], after: VirtualClustersImage
) -> bool:
    """Return whether only virtual clusters have changed that accepted requests name."""
    if before is after:
        return True
    about: set[str | None] = set()
    for request in accepted:
        match request:
            case req.CreateTopicRequest(local=local) if local is not None:
                about.add(local.virtual_cluster)
            case req.CreateVirtualClusterRequest() | req.DeleteVirtualClusterRequest():
                about.add(request.virtual_cluster)
            case req.AlterVirtualClusterRequest():
                about |= {request.virtual_cluster, request.moved_from}
            case _:
                pass
    names = (before.by_name.keys() | after.by_name.keys()) - about
    return all(before.by_name.get(name) is after.by_name.get(name) for name in names)


def _refuse(judgement: RequestRulings) -> None:
    stopping = [ruling for ruling in judgement if ruling.stops]
    if not stopping:
        return
    denying = [ruling for ruling in stopping if not ruling.crashed]
    if denying:
        messages = "; ".join(ruling.message for ruling in denying if ruling.message)
        raise Refusal(ErrorCode.POLICY_VIOLATION, messages or None)
    # The caller does not see the failure of a policy (P201-67): it is for the policy's author.
    for ruling in stopping:
        _log.error("%s", ruling.message)
    names = ", ".join(dict.fromkeys(ruling.policy for ruling in stopping))
    raise Refusal(
        ErrorCode.UNKNOWN_SERVER_ERROR, f"The policy {names} failed; the brokers' log says why."
    )
