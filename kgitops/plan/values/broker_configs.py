"""Plans dynamic configs of brokers."""

from kgitops.model.json.declared import DesiredBrokerConfig, Record
from kgitops.model.resources.config_resources import (
    ALL_BROKERS,
    is_set_by_kafka,
    topic_configs_by_default,
)
from kgitops.model.resources.topics import RATES
from kgitops.model.source import Finding
from kgitops.plan.document import risks
from kgitops.plan.document.risks import Risk, RiskLevel
from kgitops.plan.engine import ConfigsPlanner, Values
from kgitops.plan.topics.configs import config_risk


class BrokerConfigPlanner(ConfigsPlanner[DesiredBrokerConfig]):
    """The configs of single brokers, and of all; throttles belong to moves of replicas."""

    declares, changed = DesiredBrokerConfig, risks.BROKER_CONFIG_SET
    adopted, removed = risks.BROKER_CONFIG_ADOPT, risks.BROKER_CONFIG_REMOVE
    forgotten = risks.BROKER_CONFIG_FORGET

    def fits(self, item: DesiredBrokerConfig) -> bool:
        """Return whether the cluster has the broker; else add a finding."""
        ids = sorted(broker.id for broker in self.current.brokers)
        if item.name == ALL_BROKERS or int(item.name) in ids:
            return True
        finding = Finding(
            source=item.located.at("metadata", "name"),
            problem=f"the cluster has no broker {item.name}, only {', '.join(map(str, ids))}",
            advice="correct the id, or name the clusters that have it under metadata.clusters",
        )
        self.context.stop(item.address, finding)
        return False

    def held(self, record: Record) -> Values:
        """Return the dynamic configs, without throttles."""
        held = super().held(record)
        return {key: value for key, value in held.items() if key not in RATES}

    @classmethod
    def risk(cls, key: str, before: str | None, after: str | None) -> Risk:
        """Return whether topics that don't set the config themselves may lose records.

        What the properties files of brokers say is not known: the worse is assumed.
        """
        topic = topic_configs_by_default().get(key)
        if topic is not None:
            for value in (after,) if after is not None else (None, topic.default):
                harm = config_risk(topic.name, before, value, removed=after is None)
                if harm.level is RiskLevel.DATA_LOSS:
                    return risks.BROKER_CONFIG_DATA
        return super().risk(key, before, after)

    def report_drift(self, address: str, declared: Values, last: Values, held: Values) -> None:
        """Report the values that another client changed; what Kafka sets itself is none."""
        own = {*declared, *last}
        found = {k: v for k, v in held.items() if k in own or not is_set_by_kafka(k, v)}
        super().report_drift(address, declared, last, found)
