#!/usr/bin/env python3
"""Lists the public interface, with one item, field, variant or method per line, from the generated documentation.

    tests/public_api.py target/mpich/doc/einsum_dist          prints the list
    tests/public_api.py target/mpich/doc/einsum_dist --check  compares the list with tests/public_api.txt
    tests/public_api.py target/mpich/doc/einsum_dist --write  writes the list to tests/public_api.txt

Hidden items are missing, because they are not in the documentation. Methods of implemented traits are omitted.
"""

import difflib
import pathlib
import re
import sys

GOLDEN = pathlib.Path(__file__).with_name("public_api.txt")


def members(page):
    """Returns the sorted fields, variants and methods on an item's page."""
    own = re.split(r'id="(?:trait-implementations|implementors|blanket-implementations|foreign-impls)', page)[0]
    kinds = {"structfield": "field", "variant": "variant", "method": "fn", "tymethod": "fn", "associatedconstant": "const"}
    found = re.findall(r'id="(' + "|".join(kinds) + r')\.(\w+)"', own)
    return sorted({f"{kinds[kind]} {name}" for kind, name in found})


def listing(folder):
    items = re.findall(r'<li><a href="((\w+)\.(\w+)\.html)">', (folder / "all.html").read_text())
    if not items:
        sys.exit(f"{folder}/all.html lists no items: has the format of the documentation changed?")
    for page, kind, name in items:
        yield f"{kind} {name}"
        for member in members((folder / page).read_text()):
            yield f"    {member}"


def main():
    now = [line + "\n" for line in listing(pathlib.Path(sys.argv[1]))]
    action = sys.argv[2] if len(sys.argv) > 2 else ""
    if action == "--write":
        GOLDEN.write_text("".join(now))
    elif action == "--check":
        difference = list(difflib.unified_diff(GOLDEN.read_text().splitlines(True), now, str(GOLDEN), "now"))
        sys.stdout.writelines(difference)
        sys.exit(bool(difference))
    else:
        sys.stdout.writelines(now)


if __name__ == "__main__":
    main()
