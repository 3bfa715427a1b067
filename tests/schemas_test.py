# ctest: TIMEOUT 300
"""docs/reference/json.md and docs/reference/schemas/config.json beside the program: what it writes, and its keys of toprun.toml."""

import json
import re
import sys
import unittest

import support

sys.path.insert(0, str(support.REPOSITORY / "tools"))
import config_schema  # noqa: E402
import site_hooks  # noqa: E402

REFERENCE = support.REPOSITORY / "docs/reference"
# What needs neither an engine nor a second process: the words, and the members that all runs have.
CALLS = {
    "toprun.config/1": ("config", "show", "--json"),
    "toprun.doctor/1": ("doctor", "--json"),
    "toprun.net_env/1": ("net", "env", "--json"),
    "toprun.net_show/1": ("net", "show", "--json"),
    "toprun.topo_order/1": ("topo", "order", "--hosts", "n0,n1", "--topology", "TOPOLOGY", "--json"),
    "toprun.topo_score/1": ("topo", "score", "--hosts", "n0,n1", "--topology", "TOPOLOGY", "--json"),
    "toprun.topo_show/1": ("topo", "show", "--hosts", "n0,n1", "--topology", "TOPOLOGY", "--json"),
}


def rows():
    """Of the page's table: the members of each schema."""
    found = re.findall(r"(?m)^\| `(toprun\.\w+/\d)` \| .* \| (.*) \|$", (REFERENCE / "json.md").read_text())
    return {schema: re.findall(r"`(\w+)`", members) for schema, members in found}


class Schemas(support.TestCase):
    def test_the_page_has_every_format(self):
        sources = (path for path in (support.REPOSITORY / "src").rglob("*") if re.search(r"(?<!_test)\.(cc|h)$", path.name))
        written = {schema for path in sources for schema in re.findall(r"toprun\.[a-z_]+/\d", path.read_text())}
        self.assertEqual(set(rows()), written)

    def test_the_verbs_that_write_them_exist(self):
        named = set(re.findall(r"`toprun ([a-z]+)", (REFERENCE / "json.md").read_text()))
        self.assertGreater(len(named), 8)
        self.assertEqual(named - set(site_hooks.verbs_of(self.toprun("man").out)), set())

    def test_the_members_are_those_that_it_writes(self):
        folder = self.folder()
        (folder / "topology").write_text("n0 /r0/n0\nn1 /r0/n1\n")
        for schema, words in CALLS.items():
            with self.subTest(schema):
                text = self.toprun(*(folder / "topology" if word == "TOPOLOGY" else word for word in words)).out
                self.assertEqual(set(json.loads(text)) - {"schema"}, set(rows()[schema]))
        self.assert_ok(self.toprun("--report", folder / "r.json", "--no-python", "true"))
        self.assertEqual(set(json.loads((folder / "r.json").read_text())) - {"schema"}, set(rows()["toprun.report/1"]))

    def test_the_keys_of_toprun_toml(self):
        self.assertEqual((REFERENCE / "schemas/config.json").read_text(), config_schema.text_of(support.binary()),
                         "tools/config_schema.py > docs/reference/schemas/config.json makes it again")


if __name__ == "__main__":
    unittest.main()
