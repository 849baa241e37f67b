"""``examples/gateway`` and the guide: what others' tools say of them, and that they are true."""

import configparser
import re
import shlex
from pathlib import Path
from typing import Any

import pytest
import yaml

from kgitops.cli.gateway.options import EntranceOptions, LimitOptions, WatchOptions
from kgitops.cli.gateway.settings import settings_of
from kgitops.gateway.connections.refusals import RefusalReason
from kgitops.gateway.settings import GatewayOptions
from kgitops.gateway.watching.catalogue import METRICS

ROOT = Path(__file__).parents[3]
EXAMPLE = ROOT / "examples" / "gateway"
GUIDE = (ROOT / "docs" / "guides" / "gateway.md").read_text()
SERVICE = EXAMPLE / "systemd" / "kgitops-gateway.service"


def documents() -> list[dict[str, Any]]:
    text = (EXAMPLE / "kubernetes" / "deployment.yaml").read_text()
    return list(yaml.safe_load_all(text))


def container() -> dict[str, Any]:
    (deployment,) = [item for item in documents() if item["kind"] == "Deployment"]
    (found,) = deployment["spec"]["template"]["spec"]["containers"]
    assert isinstance(found, dict)
    return found


def settings_in(words: list[str]) -> GatewayOptions:
    """The settings that a command line of a document asks for; its options are given by ``=``."""
    options = dict(word.removeprefix("--").split("=", 1) for word in words if word.startswith("--"))
    groups = []
    for group in (EntranceOptions, LimitOptions, WatchOptions):
        taken = {}
        for name in group.__struct_fields__:
            text = options.pop(name.replace("_", "-"), None)
            if text is not None:
                taken[name] = int(text) if name == "workers" else text
        groups.append(group(**taken))
    assert set(options) <= {"cluster"}
    entrance, limits, watch = groups
    return settings_of(entrance, limits, watch.access_log)


@pytest.mark.lint
def test_kubernetes_takes_the_manifests() -> None:
    import kubernetes_validate

    for document in documents():
        kubernetes_validate.validate(document, kubernetes_validate.latest_version(), strict=True)


def test_the_pods_command_line_is_one_of_this_gateway() -> None:
    words = [word.replace("$$", "$") for word in container()["args"]]
    settings = settings_in(words[2:])
    assert (settings.workers, settings.limits.drain_s) == (2, 45)
    (entrance,) = settings.entrances
    assert entrance.sni == "broker-$(id).kafka.example.com"


def test_the_pod_is_restricted_and_given_time_to_drain() -> None:
    (deployment,) = [item for item in documents() if item["kind"] == "Deployment"]
    pod = deployment["spec"]["template"]["spec"]
    assert pod["automountServiceAccountToken"] is False
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert pod["terminationGracePeriodSeconds"] > 45
    assert container()["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    probes = {name: container()[name]["httpGet"]["path"] for name in container() if "Probe" in name}
    assert probes == {
        "startupProbe": "/readyz",
        "livenessProbe": "/healthz",
        "readinessProbe": "/readyz",
    }


def test_the_services_command_line_is_one_of_this_gateway() -> None:
    unit = configparser.ConfigParser(strict=False, interpolation=None)
    unit.optionxform = str  # type: ignore[assignment, method-assign]
    unit.read_string(SERVICE.read_text().replace("\\\n", " "))
    words = shlex.split(unit["Service"]["ExecStart"])
    assert words[1:3] == ["gateway", "/etc/kgitops/project"]
    settings = settings_in(words[3:])
    assert (settings.workers, settings.entrances[0].advertised_host) == (4, "kafka.example.com")
    assert int(unit["Service"]["TimeoutStopSec"]) > settings.limits.drain_s


def test_the_guide_lists_each_metric_and_each_reason() -> None:
    told = set(re.findall(r"`(kgitops_gateway_[a-z_]+)`", GUIDE))
    assert told == {metric.name for metric in METRICS}
    table = GUIDE.partition("| reason | |")[2].partition("\n\n")[0]
    reasons = set(re.findall(r"`([a-z-]+)`", table))
    assert reasons >= {str(reason) for reason in RefusalReason}
