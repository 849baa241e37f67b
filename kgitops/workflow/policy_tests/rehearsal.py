"""Goes through a case's requests without any policy: which can't be made, whatever is said?"""

from collections.abc import Iterator, Sequence

from kgitops.manifests.policies.policy_test_requests import RequestStep
from kgitops.model.cluster_state import ClusterState
from kgitops.model.requests import (
    AlterVirtualClusterRequest,
    CreateTopicRequest,
    CreateVirtualClusterRequest,
    DeleteTopicRequest,
    DeleteVirtualClusterRequest,
    Request,
)
from kgitops.model.resources.virtual_clusters import ChangeType
from kgitops.policy.api.principal import ANONYMOUS
from kgitops.policy.evaluate.policy_input import ask
from kgitops.policy.state.simulated import World
from kgitops.workflow.policy_tests.given import Path, StepError
from kgitops.workflow.policy_tests.steps import request_of

_KINDS = tuple(name for name in RequestStep.__dataclass_fields__ if name != "labels")


def rehearse(
    steps: Sequence[RequestStep], state: ClusterState
) -> Iterator[tuple[Path, str | StepError]]:
    """The path of each step, and the address it is about or why it can't be made.

    Whether a topic or virtual cluster that the case itself creates or deletes is there later
    depends on what the policies say, so nothing is said of requests on it.
    """
    world = World(state)
    touched: set[str] = set()
    for index, step in enumerate(steps):
        kinds = [name for name in _KINDS if getattr(step, name)]
        if len(kinds) != 1:
            yield (index,), _not_one()
            continue
        path = (index, _written(kinds[0]))
        try:
            request = request_of(step, world)
        except StepError as error:
            if error.path != ("name",) or getattr(step, kinds[0]).name not in touched:
                yield path, error
            continue
        yield path, ask(request, ANONYMOUS, world, None).address
        if isinstance(request, CreateTopicRequest | DeleteTopicRequest):
            touched.add(request.topic)
        if isinstance(request, CreateVirtualClusterRequest | DeleteVirtualClusterRequest):
            touched.add(request.virtual_cluster)
        if not _takes_away(request):
            world.accept(request)


def _takes_away(request: Request) -> bool:
    if isinstance(request, AlterVirtualClusterRequest):
        return request.change is ChangeType.REMOVE
    return isinstance(request, DeleteTopicRequest | DeleteVirtualClusterRequest)


def _not_one() -> StepError:
    return StepError(
        (),
        "a request has exactly one key beside labels",
        "write for example createTopic: {…}, each request as an item of the list",
    )


def _written(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(word.title() for word in rest)
