"""Opening the cluster that a URL names; only the adapter that it needs is imported."""

import re
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

from kgitops.cluster.port import Cluster
from kgitops.model.cluster_state import Broker, VirtualClusterSupport
from kgitops.model.errors import KgitopsError, SafetyError, UsageError
from kgitops.model.resources.names import URL_FORMS
from kgitops.model.resources.pinned_cluster import PinnedId

if TYPE_CHECKING:
    from kgitops.cluster.embedded.options import Options
    from kgitops.policy.evaluate.bundle import Bundle

_FEATURE = "virtual.clusters"
_PARAMETERS = (
    "brokers",
    "compat",
    "vendorConfigs",
    "authorizer",
    "superUsers",
    "lockTimeoutMs",
    _FEATURE,
)
_AS_KAFKA = "kraft"
_NATIVE, _NONE, _LOWERED = "1", "0", "lowered"

_SERVER = r"(?:[^\s/,:\[\]]+|\[[0-9A-Fa-f:.]+\]):[0-9]{1,5}"
_HIGHEST_PORT = 65535


def connect(
    url: str,
    *,
    brokers: int | Sequence[Broker] | None = None,
    configs: Mapping[str, str] | None = None,
    base: Path,
    policies: "Bundle | None" = None,
    policy_folder: Path | None = None,
    pin: PinnedId | None = None,
    as_kafka: bool = False,
) -> Cluster:
    """Open a cluster; a file in the URL or in ``configs`` is relative to ``base``.

    One with another id than ``pin`` is refused before anything of it is changed.

    ``kafka://HOST:PORT,HOST:PORT`` is reached with ``configs``, which have librdkafka's names. No
    broker of today's Kafka knows virtual clusters, so kgitops emulates them there (lowering);
    :func:`by_brokers` is for those that do.

    ``embedded:FILE`` and ``embedded:`` (in memory) take options after a ``?``: ``brokers=5``,
    ``compat=seed|kraft``, ``vendorConfigs=true``, ``authorizer=none|acls|disabled``,
    ``superUsers=User:a;User:b``, ``lockTimeoutMs=5000``, ``virtual.clusters=1|0|lowered``
    (the level of KIP-1134's feature; ``lowered`` is level 0 with kgitops emulating it as on Kafka).
    With ``as_kafka``, a URL without ``compat`` is read as one with ``compat=kraft``.
    A cluster that does not exist yet is created. Its brokers are started with ``configs``. They
    enforce ``policies`` and those that their configs name, whose modules are found in
    ``policy_folder``, else in ``base``. Kafka can't be given policies, so there only a plan is
    checked against them.

    Raises:
        KgitopsError: an embedded cluster's policies or configs let no broker start.
        UsageError: the URL is not valid.
        UnreachableError: the cluster can't be reached, or its store can't be used.
        LockedError: another process holds the store.
        OtherClusterError: it is not the pinned cluster.
        SafetyError: a newer kgitops wrote the store, or the pinned cluster's does not exist.
    """
    scheme, colon, rest = url.partition(":")
    if scheme == "embedded" and colon:
        return _embedded(
            url, rest, brokers, configs or {}, base, policies, policy_folder or base, pin, as_kafka
        )
    if scheme == "kafka" and colon:
        return _kafka(url, rest, configs or {}, base, pin)
    raise UsageError(f"{url} is not the URL of a cluster; write {URL_FORMS}")


def by_brokers(cluster: Cluster) -> Cluster:
    """The connected cluster, by KIP-1134's own requests where its brokers announce them (VC-230).

    Only a served embedded cluster does so; any other cluster is returned as it is. So is one whose
    registry has the virtual clusters, which an apply by ``kafka://`` leaves there.

    Raises:
        SafetyError: the registry has virtual clusters, and so have the brokers.
        UnreachableError: the cluster can't be read.
    """
    from kgitops.cluster.lowered.adapter import LoweredCluster

    if not isinstance(cluster, LoweredCluster):
        return cluster
    from kgitops.cluster.kafka.adapter import KafkaCluster

    physical = cluster.physical
    if not isinstance(physical, KafkaCluster):
        return cluster
    from kgitops.cluster.kafka.read.virtual_clusters import read_virtual_clusters
    from kgitops.cluster.kafka.transport.virtual_cluster_requests import knows_virtual_clusters
    from kgitops.cluster.kafka.virtual_clusters import VirtualClusterBrokers

    if not knows_virtual_clusters(physical.wire):
        return cluster
    registered = physical.registry.read_state()
    if registered is None or not registered.virtual_clusters:
        return VirtualClusterBrokers(physical)
    if read_virtual_clusters(physical.wire):
        raise SafetyError(
            "the brokers of this cluster have virtual clusters, and its registry has others, from "
            "an apply by kafka://; apply an empty project by kafka:// to remove those, or change "
            "the brokers' in the store itself, with -c embedded:FILE while it is not served"
        )
    return cluster


def tells_scoped_acls(cluster: Cluster) -> bool:
    """True if ACLs of virtual clusters can be read: Kafka's requests have no field for them."""
    capabilities = cluster.capabilities
    by_wire = capabilities.backend == "kafka"
    return not (by_wire and capabilities.virtual_clusters is VirtualClusterSupport.NATIVE)


def store_path(url: str, base: Path) -> Path | None:
    """The file of an ``embedded:`` URL; None for a cluster in memory."""
    file = url.partition(":")[2].partition("?")[0]
    return base / Path(file).expanduser() if file else None


def stored_cluster_id(store: Path) -> str | None:
    """Return the id of the embedded cluster in a file; None where it holds none, or can't be read.

    Nothing is created or changed.
    """
    from kgitops.cluster.embedded.store.file import open_store, store_exists

    if not store_exists(store):
        return None
    try:
        with closing(open_store(store)) as opened:
            return opened.meta("cluster_id")
    except KgitopsError:
        return None


def is_lowered(url: str) -> bool:
    """True if kgitops emulates virtual clusters on this embedded cluster, as on Kafka."""
    return f"{_FEATURE}={_LOWERED}" in url.partition("?")[2].split("&")


def _kafka(
    url: str, rest: str, configs: Mapping[str, str], base: Path, pin: PinnedId | None
) -> Cluster:
    from kgitops.cluster.kafka.adapter import boot
    from kgitops.cluster.lowered.adapter import LoweredCluster

    servers = rest.removeprefix("//").removesuffix("/")
    if "@" in servers:
        raise UsageError(
            "a kafka:// URL holds no credentials; set sasl.username and sasl.password in the "
            "cluster's configs, from ${env:NAME}"
        )
    if not re.fullmatch(rf"{_SERVER}(,{_SERVER})*", servers):
        raise UsageError(f"{url} is not the URL of a cluster; write kafka://HOST:PORT,HOST:PORT")
    for server in servers.split(","):
        port = server.rpartition(":")[2]
        if not 0 < int(port) <= _HIGHEST_PORT:
            raise UsageError(f"{url}: {port} is not a port; ports go from 1 to {_HIGHEST_PORT}")
    cluster = boot(servers, configs, base)
    try:
        if pin is not None:
            pin.check(cluster.cluster_id)
    except BaseException:
        cluster.close()
        raise
    return LoweredCluster(cluster)


def _embedded(
    url: str,
    rest: str,
    brokers: int | Sequence[Broker] | None,
    configs: Mapping[str, str],
    base: Path,
    policies: "Bundle | None",
    policy_folder: Path,
    pin: PinnedId | None,
    as_kafka: bool,
) -> Cluster:
    from kgitops.cluster.embedded.boot import boot

    parameters = _parameters(url, rest.partition("?")[2])
    if as_kafka:
        parameters.setdefault("compat", _AS_KAFKA)
    broker_count = parameters.pop("brokers", None)
    if broker_count is not None:
        count = _number(url, "brokers", broker_count)
        if brokers is not None and _count(brokers) != count:
            raise UsageError(
                f"{url} says brokers={count}, but {_count(brokers)} are declared for this cluster; "
                "leave one of the two out"
            )
        brokers = count if brokers is None else brokers
    cluster = boot(
        store_path(url, base),
        brokers=brokers,
        options=_options(url, parameters, configs),
        policies=policies,
        policy_folder=policy_folder,
        pin=pin,
    )
    if not is_lowered(url):
        return cluster
    from kgitops.cluster.lowered.adapter import LoweredCluster

    return LoweredCluster(cluster)


def _parameters(url: str, query: str) -> dict[str, str]:
    parameters: dict[str, str] = {}
    for item in query.split("&") if query else ():
        key, equals, value = item.partition("=")
        if not equals or key in parameters or key not in _PARAMETERS:
            raise UsageError(
                f"{url}: {item!r} is not understood, or given twice; "
                f"known are {', '.join(f'{name}=…' for name in _PARAMETERS)}"
            )
        parameters[key] = value
    return parameters


def _options(url: str, parameters: Mapping[str, str], configs: Mapping[str, str]) -> "Options":
    from kgitops.cluster.embedded.options import AuthorizerKind, Compat, Options

    timeout = parameters.get("lockTimeoutMs")
    return Options(
        compat=Compat(_choice(url, parameters, "compat", tuple(Compat))),
        authorizer=AuthorizerKind(_choice(url, parameters, "authorizer", tuple(AuthorizerKind))),
        vendor_configs=_choice(url, parameters, "vendorConfigs", ("false", "true")) == "true",
        virtual_clusters=_choice(url, parameters, _FEATURE, (_NATIVE, _NONE, _LOWERED)) == _NATIVE,
        super_users=frozenset(filter(None, parameters.get("superUsers", "").split(";"))),
        static_configs=dict(configs),
        busy_timeout_ms=_number(url, "lockTimeoutMs", timeout or str(Options().busy_timeout_ms)),
    )


def _choice(url: str, parameters: Mapping[str, str], key: str, choices: tuple[str, ...]) -> str:
    """Return the chosen value; the first choice is the default."""
    value = parameters.get(key, choices[0])
    if value not in choices:
        raise UsageError(f"{url}: {key} must be {' or '.join(choices)}, not {value!r}")
    return value


def _number(url: str, key: str, text: str) -> int:
    if not re.fullmatch("[0-9]{1,6}", text):
        raise UsageError(f"{url}: {key} must be a whole number below a million, not {text!r}")
    return int(text)


def _count(brokers: int | Sequence[Broker]) -> int:
    return brokers if isinstance(brokers, int) else len(brokers)
