#!/usr/bin/env python3
"""What the README shows is what the repository has."""
import pathlib
import re
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text()


class Readme(unittest.TestCase):
    def test_the_configuration_of_kube_scheduler_is_the_one_that_is_tested(self):
        self.assertIn("```yaml\n" + (ROOT / "deploy/kube-scheduler.yaml").read_text() + "```", README)

    def test_links_lead_somewhere(self):
        pages = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").glob("*.md")]
        for page in pages:
            prose = re.sub(r"```.*?```", "", page.read_text(), flags=re.DOTALL)  # code has brackets of its own
            for link in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", prose):
                self.assertTrue((page.parent / link).exists(), f"{page.name}: {link}")


if __name__ == "__main__":
    unittest.main()
