"""The ownership that completed changes leave in the registry."""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from kgitops.apply.steps.runs import Outcome, StepRecord
from kgitops.apply.steps.steps import Step
from kgitops.cluster.registry import Record, owner_record
from kgitops.model.cluster_state import ClusterState
from kgitops.model.lowered import Lowered
from kgitops.model.resources.addresses import acl_address, quota_address
from kgitops.model.results import RequestResult
from kgitops.plan.document.plan import Change


def owners_of_completed(
    steps: Mapping[str, Step], news: Mapping[str, StepRecord], known: Mapping[str, StepRecord]
) -> Mapping[str, Record]:
    """The ownership records, by address, of the changes that ``news`` completes.

    ``known`` is everything known of all steps, the news included.
    """
    done = [steps[step] for step, record in news.items() if record.outcome is Outcome.DONE]
    changes = {step.address: step.change for step in done}
    owners = {}
    for address, change in changes.items():
        records = [known.get(planned.id) for planned in change.requests]
        remembers = change.owner_before is not None or change.owner_after is not None
        if remembers and all(record and record.outcome is Outcome.DONE for record in records):
            owners[address] = owner_of(change, [record.reply for record in records if record])
    return owners


def owners_of_begun(open_steps: Iterable[Step], state: ClusterState) -> Mapping[str, Record]:
    """The ownership records, by address, of what a run left half made in a virtual cluster.

    Only its owner may remove what is there of it, and nobody sees that it is there.
    """
    lowered = state.lowered or Lowered()
    begun = {
        *map(acl_address, lowered.begun_acls),
        *(quota_address(entity) for entity, _ in lowered.begun_quotas),
    }
    changes = {step.address: step.change for step in open_steps if step.address in begun}
    return {it: owner_of(change) for it, change in changes.items() if change.owner_after}


def owner_of(change: Change, replies: Iterable[RequestResult | None] = ()) -> Record:
    """Who owns the object now; a topic's id is known only once a broker minted it."""
    owner = change.owner_after
    if owner is not None and owner.topic_id is None:
        minted = [reply.topic_id for reply in replies if reply and reply.topic_id]
        owner = replace(owner, topic_id=minted[0] if minted else None)
    return owner_record(change.address, owner)
