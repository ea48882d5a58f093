#!/usr/bin/env python3
"""docs/operations.md names every metric that the sources write, with its type, and no other."""
import pathlib
import re
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
PAGE = (ROOT / "docs/operations.md").read_text()

# What begins a metric: a call of Begin, or a row of the table of the cards' metrics, which are gauges.
BEGIN = re.compile(r'\.Begin\(\s*"(\w+)",\s*(?:MetricsText::)?Type::k(\w+)')
CARD = re.compile(r'\{"(\w+)", "(\w+)", Extra::k')


def written(sources):
    """name -> type, of the metrics that the sources write."""
    metrics = {name: kind.lower() for name, kind in BEGIN.findall(sources)}
    return metrics | {name: "gauge" for pair in CARD.findall(sources) for name in pair}


def named(page):
    """name -> type, of the metrics that the page's tables have."""
    return dict(re.findall(r"^\| `(\w+)` \| (\w+) \|", page, re.MULTILINE))


def sources():
    """The text of all our C++ files."""
    return "\n".join(path.read_text() for path in sorted((ROOT / "src").rglob("*.cc")))


class Operations(unittest.TestCase):

    def test_the_page_is_complete(self):
        self.assertEqual(named(PAGE), written(sources()))

    def test_every_kind_of_metric_is_found(self):
        metrics = written(sources())
        self.assertEqual(metrics["hami_gpu_memory_limit_bytes"], "gauge")
        self.assertEqual(metrics["GPUDeviceMemoryLimit"], "gauge")
        self.assertEqual(metrics["aliquot_api_calls_total"], "counter")
        self.assertEqual(metrics["aliquot_request_duration_seconds"], "histogram")

    def test_every_begun_metric_is_seen(self):
        calls = len(re.findall(r"\.Begin\(", sources()))
        seen = len(BEGIN.findall(sources()))
        self.assertEqual(calls - seen, 2)  # the two loops over the cards' metrics


if __name__ == "__main__":
    unittest.main()
