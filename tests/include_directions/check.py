#!/usr/bin/env python3
"""Checks that every #include follows the directions allowed between folders.

    check.py ROOT

Looks at ROOT/include/aliquot and ROOT/src. A folder may include the public headers
of the folders listed for it; a private header ("<folder>/x.h") only its own folder.
Public headers may not bring in the libraries that only sources should know.
"""
import pathlib
import re
import sys

MAY_INCLUDE = {
    "base": "",
    "core": "base",
    "codec": "base core",
    "vendors": "base core codec",
    "ledger": "base core",
    "plan": "base core ledger",
    "kube": "base",
    "cluster": "base kube",
    "config": "base core",
    "scheduler": "base core codec vendors ledger plan kube cluster",
    "server": "base core codec vendors ledger plan kube cluster scheduler",
    "checks": "base core codec vendors ledger kube scheduler",
    "cli": "base core codec vendors ledger plan kube cluster scheduler server config checks",
    "main": "cli",
}
NOT_IN_PUBLIC_HEADERS = re.compile(r"(nlohmann|spdlog|httplib|CLI|yaml-cpp|curl)(/|\.h)")
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')


def check_file(root, file):
    """Lines about the includes of one file that are not allowed."""
    parts = file.relative_to(root).parts
    public = parts[0] == "include"
    folder = parts[2] if public else parts[1].removesuffix(".cc")
    if folder not in MAY_INCLUDE:
        return [f"{file.relative_to(root)}: unknown folder {folder}"]
    allowed = {folder, *MAY_INCLUDE[folder].split()}
    lines = []
    for number, line in enumerate(file.read_text().splitlines(), 1):
        match = INCLUDE.match(line)
        if not match:
            continue
        place, included = f"{file.relative_to(root)}:{number}", match.group(2)
        first, _, rest = included.partition("/")
        if first == "aliquot":
            target = rest.partition("/")[0]
            if target not in allowed:
                lines.append(f"{place}: {folder} may not include {target} ({included})")
        elif public and NOT_IN_PUBLIC_HEADERS.match(included):
            lines.append(f"{place}: not in a public header: {included}")
        elif match.group(1) == '"' and (public or first != folder):
            lines.append(f"{place}: a private header of another folder: {included}")
    return lines


def check(root):
    """Lines about everything in the tree that is not allowed."""
    files = sorted(f for top in ("include/aliquot", "src") for f in (root / top).rglob("*") if f.suffix in (".h", ".cc"))
    if not files:
        return [f"no sources below {root}"]
    return [line for file in files for line in check_file(root, file)]


def main():
    problems = check(pathlib.Path(sys.argv[1]).resolve())
    print("\n".join(problems))
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
