"""Numbers with a unit (contract §15), and what is said of those that can't be read."""

import pytest

from kgitops.manifests.kinds.fields import amount, meant


@pytest.mark.parametrize(
    ("name", "text", "number"),
    [
        ("retention.ms", "7d", 604_800_000),
        ("retention.ms", "7 d", 604_800_000),
        ("segment.ms", "1.5h", 5_400_000),
        ("consumer.session.timeout.ms", "45s", 45_000),
        ("retention.bytes", "10GiB", 10 * 2**30),
        ("retention.bytes", "0.5KiB", 512),
        ("consumer_byte_rate", "10MB", 10_000_000),
        ("retention.ms", "604800000", None),
        ("retention.ms", "-1", None),
        ("retention.ms", "1h30m", None),
        ("retention.ms", "1GiB", None),
        ("retention.ms", "0.0001s", None),
        ("retention.bytes", "7d", None),
        ("retention.bytes", "0.3KiB", None),
        ("retention.bytes", "1gb", None),
        ("min.insync.replicas", "2d", None),
        ("request_percentage", "20MB", None),
        ("cleanup.policy", "7d", None),
        (7, "7d", None),
    ],
)
def test_one_number_and_one_unit_make_an_amount(name: object, text: str, number: int) -> None:
    assert amount(name, text) == number


@pytest.mark.parametrize(
    ("name", "text", "advice"),
    [
        ("retention.ms", "7 days", "write 7d (604800000)"),
        ("retention.ms", "7D", "write 7d (604800000)"),
        ("retention.ms", "1h30m", "write 90m (5400000)"),
        ("retention.ms", "1 hour, 30 Minutes", "write 90m (5400000)"),
        ("retention.ms", "2 weeks", "write 14d (1209600000)"),
        ("retention.ms", "500 msecs", "write 500ms (500)"),
        ("retention.ms", "1 month", "write milliseconds, or a time such as 7d"),
        ("retention.ms", "1GiB", "write milliseconds, or a time such as 7d"),
        ("retention.ms", "about 7d", "write milliseconds, or a time such as 7d"),
        ("retention.bytes", "1gb", "write 1GiB (1073741824) or 1GB (1000000000)"),
        ("retention.bytes", "1.5 gib", "write 1.5GiB (1610612736)"),
        ("retention.bytes", "10k", "write 10KiB (10240) or 10KB (10000)"),
        ("retention.bytes", "512 bytes", "write 512B (512)"),
        ("retention.bytes", "1GB 2MB", "write bytes, or a size such as 1GiB"),
        ("consumer_byte_rate", "10 megabytes", "write bytes, or a size such as 1GiB"),
        ("retention.ms", "-5", None),
        ("retention.ms", "", None),
        ("min.insync.replicas", "2d", None),
    ],
)
def test_the_advice_does_the_sum(name: str, text: str, advice: str | None) -> None:
    assert meant(name, text) == advice
