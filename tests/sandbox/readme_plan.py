"""The plan that README shows, and the picture of the pull request comment that it becomes.

uv run --group test python tests/sandbox/readme_plan.py writes the picture; it needs Chromium.
"""

import shutil
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from markdown_it import MarkdownIt

from kgitops.testing import cluster

PICTURE = Path(__file__).parents[2] / "docs" / "images" / "pull-request.png"
PROJECT = """\
apiVersion: kgitops/v1
kind: Project
metadata: {{name: shop, uid: 6b0f5b1e-2d3a-4c55-9a43-0d6f2f6f7a11}}
spec:
  manifests: [manifests]
  clusters:
    prod: {{url: "{url}", clusterId: "{cluster_id}"}}
"""
TOPIC = """\
apiVersion: kgitops/v1
kind: Topic
metadata: {{name: {name}, labels: {{team: shop}}}}
spec: {{partitions: 6, replicationFactor: 3, configs: {{retention.ms: 7d, min.insync.replicas: 2}}}}
"""
TOMBSTONE = """\
apiVersion: kgitops/v1
kind: Tombstone
metadata: {name: drop-orders-v1}
spec: {target: {kind: Topic, name: orders.v1}, reason: replaced by orders}
"""
RECORDS, RECORD_BYTES = 48_200, 100
WIDTH, HEIGHT = 1000, 796
STYLE = """
body { margin: 16px; font: 15px/1.5 'Liberation Sans', sans-serif; color: #1f2328; }
.comment { border: 1px solid #d1d9e0; border-radius: 6px; }
.author { background: #f6f8fa; border-bottom: 1px solid #d1d9e0; padding: 8px 16px; }
.body { padding: 4px 16px 8px; }
h3 { font-size: 19px; }
h4 { font-size: 16px; margin: 16px 0 8px; }
code { font: 13px 'Liberation Mono', monospace; background: #eff1f3; padding: 2px 5px; }
pre { background: #f6f8fa; padding: 12px; white-space: pre-wrap; margin: 8px 0; }
pre code { background: none; padding: 0; }
.minus { background: #ffebe9; color: #82071e; }
.plus { background: #dafbe1; color: #116329; }
.bang { color: #953800; }
.dot { display: inline-block; width: 15px; height: 15px; border-radius: 8px; background: #d1242f; }
"""
_SIGNS = {"-": "minus", "+": "plus", "!": "bang"}


def show_plan(folder: Path, *options: str) -> str:
    """Return what ``kgitops plan`` prints of a pull request that removes a topic too many."""
    from confluent_kafka import Producer
    from confluent_kafka.admin import AdminClient

    with cluster(brokers=3) as kafka:
        admin = AdminClient({"bootstrap.servers": kafka.bootstrap_servers})
        cluster_id = admin.describe_cluster().result(30).cluster_id
        manifests = folder / "manifests"
        manifests.mkdir()
        (folder / "kgitops.yaml").write_text(PROJECT.format(url=kafka.url, cluster_id=cluster_id))
        for name in ("orders.v1", "payments"):
            (manifests / f"{name}.yaml").write_text(TOPIC.format(name=name))
        _kgitops(folder, "apply", "--auto-approve")
        producer = Producer({"bootstrap.servers": kafka.bootstrap_servers, "linger.ms": 50})
        for number in range(RECORDS):
            producer.produce("orders.v1", key=str(number), value=bytes(RECORD_BYTES))
            producer.poll(0)
        assert producer.flush(60) == 0
        for name in ("orders.v1", "payments"):
            (manifests / f"{name}.yaml").unlink()
        (manifests / "gone.yaml").write_text(TOMBSTONE)
        (manifests / "refunds.yaml").write_text(TOPIC.format(name="refunds"))
        return _kgitops(folder, "plan", *options, exits=5)


def _kgitops(folder: Path, *words: str, exits: int = 0) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "kgitops", *words],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == exits, done.stdout + done.stderr
    return done.stdout


def as_page(markdown: str) -> str:
    """Return the comment as GitHub shows it, more or less."""
    html = MarkdownIt("gfm-like", {"html": True, "linkify": False}).render(markdown)
    lines = [
        f'<span class="{_SIGNS[line[0]]}">{line}</span>' if line[:1] in _SIGNS else line
        for line in html.replace('<pre><code class="language-diff">', "<pre><code>\n").split("\n")
    ]
    body = "\n".join(lines).replace("<pre><code>\n", "<pre><code>")
    body = body.replace("\N{LARGE RED CIRCLE}", "<span class=dot></span>")  # few fonts have it
    author = "<b>github-actions</b> commented on a pull request"
    return (
        f"<!doctype html><meta charset=utf-8><style>{STYLE}</style><div class=comment>"
        f"<div class=author>{author}</div><div class=body>{body}</div></div>"
    )


def main() -> None:
    with TemporaryDirectory() as folder:
        page = Path(folder) / "comment.html"
        (project := Path(folder) / "shop").mkdir()
        page.write_text(as_page(show_plan(project, "--format", "markdown")), encoding="utf-8")
        browser = shutil.which("chromium") or "google-chrome"
        subprocess.run(
            [
                *(browser, "--headless", "--no-sandbox", "--hide-scrollbars"),
                *(f"--window-size={WIDTH},{HEIGHT}", f"--screenshot={PICTURE}", page.as_uri()),
            ],
            check=True,
            timeout=120,
        )


if __name__ == "__main__":
    main()
