#!/usr/bin/env python3
"""docs/field-cases.md names every case of the group field, and only tests that there are."""
import re
import unittest

from differences_test import CASES, ROOT, tests_there_are

ROWS = [line for line in (ROOT / "docs/field-cases.md").read_text().splitlines() if line.startswith("| P-")]
NAMED = [name for row in ROWS for name in re.findall(r"`([^`]+)`", row.rstrip("| ").rpartition("| ")[2])]


class FieldCases(unittest.TestCase):

    def test_every_case_is_named(self):
        cases = {path.relative_to(CASES).with_suffix("").as_posix() for path in (CASES / "field").rglob("*.json")}
        self.assertEqual(cases - set(NAMED), set())

    def test_every_row_names_tests_that_there_are(self):
        self.assertEqual(set(NAMED) - tests_there_are(), set())
        for row in ROWS:
            self.assertRegex(row, r"`[^`]+` \|$")


if __name__ == "__main__":
    unittest.main()
