"""The cluster that Julie's configuration file names, and how it is logged in to."""

from kgitops.conversion.objects import ConvertedCluster, Loss, SourceObject
from kgitops.conversion.reading.values import TEMPLATE
from kgitops.conversion.tools.julie_naming import Settings
from kgitops.model.source import Source

_NAME = "main"
_LOGIN = {"sasl.username": "${env:KAFKA_USER}", "sasl.password": "${env:KAFKA_PASSWORD}"}
_FILES = {
    "ssl.truststore.location": ("ssl.ca.location", "${env:KAFKA_CA_FILE}"),
    "ssl.keystore.location": ("ssl.keystore.location", "${env:KAFKA_KEYSTORE_FILE}"),
}


def settings_object(settings: Settings) -> SourceObject:
    """The configuration file as an object; passwords in it are told of, and not copied."""
    source = Source(settings.file, 1, 1)
    losses = tuple(
        Loss(
            source=source,
            problem=f"{key} has a secret, which is not copied",
            advice="put it in the environment as kgitops.yaml asks, and out of the file",
        )
        for key, value in settings.properties.items()
        if ("password" in key or key == "sasl.jaas.config") and not TEMPLATE.search(value)
    )
    return SourceObject(
        kind="settings",
        name=source.file,
        source=source,
        settings=f"spec.clusters.{_NAME}, and names of topics and ACLs",
        losses=losses,
    )


def settings_cluster(settings: Settings) -> ConvertedCluster | None:
    """The cluster; None if its address is not written there."""
    servers = settings.text("bootstrap.servers")
    if not servers or TEMPLATE.search(servers):
        return None
    configs = {
        config: settings.text(key)
        for key, config in (
            ("security.protocol", "security.protocol"),
            ("sasl.mechanism", "sasl.mechanism"),
        )
        if settings.text(key) and not TEMPLATE.search(settings.text(key))
    }
    if configs.get("security.protocol", "").startswith("SASL"):
        configs |= _LOGIN
    configs |= {config: value for key, (config, value) in _FILES.items() if settings.text(key)}
    return ConvertedCluster(name=_NAME, bootstrap_servers=servers, configs=configs)
