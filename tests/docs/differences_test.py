#!/usr/bin/env python3
"""docs/differences.md names every conformance case that says `differs`, and only tests that there are."""
import functools
import json
import pathlib
import re
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
CASES = ROOT / "tests/conformance/cases"
METRICS = ROOT / "tests/conformance/metrics"
PAGE = (ROOT / "docs/differences.md").read_text()


@functools.cache
def differing_cases():
    """Names of the cases whose right answer is not HAMi's."""
    return {path.relative_to(CASES).with_suffix("").as_posix() for path in CASES.rglob("*.json")
            if json.loads(path.read_text()).get("differs")}


@functools.cache
def tests_there_are():
    """Names of all tests as the page writes them: `folder/case`, `metrics/case`, `Suite.Test`, `e2e:scenario`, `chart:check`."""
    cases = {path.relative_to(CASES).with_suffix("").as_posix() for path in CASES.rglob("*.json")}
    scrapes = {f"metrics/{path.stem}" for path in METRICS.glob("*.json")}
    unit = {".".join(names) for path in (ROOT / "tests/unit").rglob("*.cc")
            for names in re.findall(r"^TEST(?:_F|_P)?\((\w+),\s*(\w+)\)", path.read_text(), re.MULTILINE)}
    scenarios = {name for file in ("run", "faults.py")
                 for name in re.findall(r"^def (\w+)\(stage\):", (ROOT / "tests/e2e" / file).read_text(), re.MULTILINE)}
    checks = re.search(r"^CHECKS = \((.*?)\)", (ROOT / "tests/chart/run").read_text(), re.MULTILINE | re.DOTALL)
    return (cases | scrapes | unit | {f"e2e:{name}" for name in scenarios}
            | {f"chart:{name}" for name in checks[1].replace(",", " ").split()})


def problems(page):
    """What is wrong with the page, one text each."""
    there = tests_there_are()
    named, found = set(), []
    for number, line in enumerate(page.splitlines(), 1):
        if not line.startswith("| "):
            continue
        cell = line.rstrip("| ").rpartition("| ")[2]
        names = re.findall(r"`([^`]+)`", cell)
        named.update(names)
        if cell not in ("held up by", "-", ", ".join(f"`{name}`" for name in names)):
            found.append(f"line {number}: the last column is no list of tests: {cell}")
        found += [f"line {number}: there is no {name}" for name in names if name not in there]
    return found + [f"not named: {name}" for name in sorted(differing_cases() - named)]


def problems_without(name):
    """The same about our page without that name."""
    return problems(PAGE.replace(f"`{name}`, ", "").replace(f", `{name}`", "").replace(f"`{name}`", "-"))


class Differences(unittest.TestCase):

    def test_the_page_is_complete(self):
        self.assertEqual(problems(PAGE), [])

    def test_each_differing_case_would_be_missed(self):
        names = differing_cases()
        self.assertGreater(len(names), 100)
        for name in names:
            self.assertEqual(problems_without(name), [f"not named: {name}"])

    def test_names_of_nothing_are_found(self):
        row = "| a | b | c | {} |"
        for name in ("bind/no-such-case", "BindTest.NoSuchTest", "e2e:nothing"):
            self.assertEqual(problems(PAGE + row.format(f"`{name}`"))[0].partition(": ")[2], f"there is no {name}")

    def test_a_row_without_tests_is_found(self):
        self.assertEqual(len(problems(PAGE + "| a | b | as above |")), 1)


if __name__ == "__main__":
    unittest.main()
