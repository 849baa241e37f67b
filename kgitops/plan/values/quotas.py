"""Plans client quotas, by entity."""

from collections.abc import Iterable, Sequence

from kgitops.model.json.declared import DesiredQuota, Record
from kgitops.model.registry import Json
from kgitops.model.requests import AlterClientQuotaRequest, Request
from kgitops.model.resources.addresses import quota_address
from kgitops.model.resources.quotas import VIRTUAL_CLUSTER, make_entity, quota_text
from kgitops.plan.document import risks
from kgitops.plan.document.plan import Basis
from kgitops.plan.document.risks import Risk
from kgitops.plan.engine import NO_VALUES, Requested, Values, ValuesPlanner


class QuotaPlanner(ValuesPlanner[DesiredQuota]):
    """The quotas of all entities; other keys of an entity stay."""

    declares, field = DesiredQuota, "quotas"
    adopted, removed, forgotten = risks.QUOTA_ADOPT, risks.QUOTA_REMOVE, risks.QUOTA_FORGET

    def existing(self) -> Iterable[str]:
        """Return the addresses of all entities that have quotas."""
        return map(quota_address, self.current.quotas)

    def fits(self, item: DesiredQuota) -> bool:
        """Return whether the virtual cluster of the quota exists, or is created by this plan."""
        name = dict(item.entity).get(VIRTUAL_CLUSTER)
        if name is None:
            return True
        source = item.located.at("spec", "entity", "virtualCluster")
        return self.context.has_virtual_cluster(name, source, item.address)

    def held(self, record: Record) -> Values:
        """Return the quotas of the entity."""
        state = self.current.quotas.get(make_entity(record["entity"]))
        return {key: quota_text(each) for key, each in state.quotas.items()} if state else NO_VALUES

    @classmethod
    def view(cls, record: Record, values: Values) -> dict[str, Json]:
        """Return the entity with its quotas."""
        return {
            "kind": "ClientQuota",
            "entity": dict(make_entity(record["entity"])),
            "quotas": dict(sorted(values.items())),
        }

    @classmethod
    def risk(cls, key: str, before: str | None, after: str | None) -> Risk:
        """Return whether the limit comes, goes, rises or falls."""
        del key
        if after is None:
            return risks.QUOTA_REMOVE
        if before is None:
            return risks.QUOTA_CREATE
        return risks.QUOTA_LOWER if float(after) < float(before) else risks.QUOTA_RAISE

    def requests(self, record: Record, requested: Requested) -> Sequence[Request]:
        """Return the request that sets and removes all."""
        quotas = {key: None if text is None else float(text) for key, text in requested.items()}
        return [AlterClientQuotaRequest(entity=make_entity(record["entity"]), quotas=quotas)]

    def owned(self, record: Record, held: Values) -> Sequence[str]:
        """Return the keys last applied; a partial quota still counts for its virtual cluster."""
        entity, partial = make_entity(record["entity"]), self.current.partial_quotas
        return [
            key for key in sorted(self.values(record)) if key in held or (entity, key) in partial
        ]

    def basis_of_rest(self, record: Record, owned: Sequence[str]) -> Basis:
        """Return whether a part of the quotas stays without being shown."""
        entity, partial = make_entity(record["entity"]), self.current.partial_quotas
        return Basis(in_part=any((entity, key) in partial for key in owned))
