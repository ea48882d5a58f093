#!/usr/bin/env python3
"""check.py finds what it is there for, in small trees made for it."""
import pathlib
import tempfile
import unittest

import check


def problems(files):
    """What check says about a tree with these files: {path: text}."""
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        for path, text in files.items():
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_text(text)
        return check.check(root)


class IncludeDirections(unittest.TestCase):

    def test_allowed_includes_pass(self):
        self.assertEqual(problems({
            "include/aliquot/core/model.h": '#include <string>\n#include "aliquot/base/result.h"\n',
            "src/core/model.cc": '#include "aliquot/core/model.h"\n#include "core/detail.h"\n',
            "src/kube/client.cc": "#include <curl/curl.h>\n#include <nlohmann/json.hpp>\n",
            "src/main.cc": '#include "aliquot/cli/cli.h"\n'}), [])

    def test_the_wrong_direction_is_found(self):
        self.assertEqual(
            problems({"src/core/fit.cc": '\n#include "aliquot/ledger/ledger.h"\n'}),
            ["src/core/fit.cc:2: core may not include ledger (aliquot/ledger/ledger.h)"])

    def test_main_may_only_include_cli(self):
        self.assertEqual(len(problems({"src/main.cc": '#include "aliquot/server/server.h"\n'})), 1)

    def test_a_private_header_stays_in_its_folder(self):
        self.assertEqual(len(problems({"src/scheduler/bind.cc": '#include "kube/watch.h"\n'})), 1)
        self.assertEqual(len(problems({"include/aliquot/kube/api.h": '#include "kube/watch.h"\n'})), 1)

    def test_libraries_stay_out_of_public_headers(self):
        for library in ("nlohmann/json.hpp", "spdlog/spdlog.h", "httplib.h", "CLI/CLI.hpp", "yaml-cpp/yaml.h",
                        "curl/curl.h"):
            with self.subTest(library=library):
                self.assertEqual(len(problems({"include/aliquot/kube/api.h": f"#include <{library}>\n"})), 1)

    def test_an_unknown_folder_and_an_empty_tree_are_found(self):
        self.assertEqual(len(problems({"src/misc/x.cc": ""})), 1)
        self.assertEqual(len(problems({"README.md": ""})), 1)


if __name__ == "__main__":
    unittest.main()
