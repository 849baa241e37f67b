"""Kroxylicious 0.12 for ``gateway.py``: fetched by Maven, started by a few lines of Java."""

import json
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
from platformdirs import user_cache_path

VERSION = "0.12.0"
TENANT = "tenant"
PHYSICAL = f"{TENANT}-"
"""What its tenant filter puts before the names of topics."""
_POM = f"""\
<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>benchmark</groupId> <artifactId>benchmark</artifactId> <version>1</version>
  <dependencies>
    <dependency>
      <groupId>io.kroxylicious</groupId> <artifactId>kroxylicious-runtime</artifactId>
      <version>{VERSION}</version>
    </dependency>
    <dependency>
      <groupId>io.kroxylicious</groupId> <artifactId>kroxylicious-multitenant</artifactId>
      <version>{VERSION}</version>
    </dependency>
  </dependencies>
</project>
"""
_MAIN = """\
import io.kroxylicious.proxy.KafkaProxy;
import io.kroxylicious.proxy.config.ConfigParser;
import io.kroxylicious.proxy.internal.config.Features;
import java.nio.file.Files;
import java.nio.file.Path;

public class Main {
  public static void main(String[] words) throws Exception {
    var parser = new ConfigParser();
    var configuration = parser.parseConfiguration(Files.readString(Path.of(words[0])));
    var proxy = new KafkaProxy(parser, configuration, Features.defaultFeatures());
    proxy.startup();
    System.out.println("ready");
    proxy.block();
  }
}
"""


def jars() -> Path:
    """The folder of its jars, and of what they need; fetched once on a machine."""
    folder = user_cache_path("kgitops") / f"kroxylicious-{VERSION}"
    if not folder.is_dir():
        part = folder.with_suffix(".part")
        shutil.rmtree(part, ignore_errors=True)
        part.mkdir(parents=True)
        (part / "pom.xml").write_text(_POM)
        words = ["mvn", "-q", "-B", "dependency:copy-dependencies", "-DoutputDirectory=jars"]
        subprocess.run(words, cwd=part, check=True, timeout=600)
        part.rename(folder)
    return folder / "jars"


@contextmanager
def kroxylicious(
    home: Path, port: int, servers: str, *, tenants: bool, certificate: Path | None, authority: Path
) -> Iterator[psutil.Process]:
    """It listens on ``port`` and on one more a broker, while the context is open."""
    home.mkdir()
    (home / "Main.java").write_text(_MAIN)
    settings = _settings(port, servers, tenants, certificate, authority)
    (home / "config.yaml").write_text(json.dumps(settings))
    words = ["java", "-cp", f"{jars()}/*", str(home / "Main.java"), str(home / "config.yaml")]
    with (home / "log").open("w") as log:
        process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=log, text=True)
    try:
        assert process.stdout is not None
        for line in process.stdout:
            if line == "ready\n":
                break
        else:
            raise SystemExit(f"Kroxylicious does not start: {(home / 'log').read_text()[-2000:]}")
        yield psutil.Process(process.pid)
    finally:
        process.kill()
        process.wait()


def _settings(
    port: int, servers: str, tenants: bool, certificate: Path | None, authority: Path
) -> dict[str, object]:
    """Its configuration, as JSON, which is YAML."""
    target: dict[str, object] = {"bootstrapServers": servers}
    gateway: dict[str, object] = {
        "name": "default",
        "portIdentifiesNode": {"bootstrapAddress": f"127.0.0.1:{port}"},
    }
    if certificate is not None:
        file = str(certificate)
        target["tls"] = {"trust": {"storeFile": str(authority), "storeType": "PEM"}}
        gateway["tls"] = {"key": {"privateKeyFile": file, "certificateFile": file}}
    cluster = {
        "name": TENANT,
        "targetCluster": target,
        "gateways": [gateway],
        "filters": ["names"] if tenants else [],
    }
    filters = [{"name": "names", "type": "MultiTenant", "config": {}}] if tenants else []
    return {"filterDefinitions": filters, "virtualClusters": [cluster]}
