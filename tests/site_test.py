# ctest: TIMEOUT 60
"""What tools/site_hooks.py makes of the pages for the site. `make docs` itself checks the links."""

import sys
import unittest

import support

sys.path.insert(0, str(support.REPOSITORY / "tools"))
import site_hooks  # noqa: E402

MANUAL = """.TH TOPRUN 1
.SH ENVIRONMENT
.PP
An option goes before.
.TP
.B PET_NNODES
\\-\\-nnodes
.TP
.B TOPRUN_X
one
two\\(aqs
.SH FILES
.TP
.B toprun.toml
a | b
.SH VERBS
.TP
.B toprun topo
show it
.TP
.B toprun topo show
show it all
.SH SEE ALSO
"""


class Hooks(support.TestCase):
    def test_links_that_leave_the_site(self):
        for link, here, elsewhere in (
                ("[a](slurm.md#x)", "[a](slurm.md#x)", "[a](slurm.md#x)"),
                ("[a](#x)", "[a](#x)", "[a](#x)"),
                ("[a](https://x.example/)", "[a](https://x.example/)", "[a](https://x.example/)"),
                ("![a](ring.svg)", "![a](ring.svg)", "![a](ring.svg)"),
                ("[s](../reference/schemas/bench.json)", "[s](../reference/schemas/bench.json)", "[s](../reference/schemas/bench.json)"),
                ("[pi.py](../../examples/pi.py)", "`examples/pi.py`", "[pi.py](https://x.example/r/blob/main/examples/pi.py)"),
                ("[how](../../SECURITY.md#a)", "how (`SECURITY.md`)", "[how](https://x.example/r/blob/main/SECURITY.md)")):
            with self.subTest(link):
                self.assertEqual(site_hooks.within_the_site("guides/a.md", link), here)
                self.assertEqual(site_hooks.within_the_site("guides/a.md", link, "https://x.example/r/"), elsewhere)
        block = "```sh\n[a](../../x)\n```\n"
        self.assertEqual(site_hooks.within_the_site("guides/a.md", block), block)

    def test_a_list_below_a_line(self):
        self.assertEqual(site_hooks.with_room_for_lists("Text:\n- a\n- b\n\n```\nx\n- a\n```\n"),
                         "Text:\n\n- a\n- b\n\n```\nx\n- a\n```\n")

    def test_a_table_without_headings_has_no_row_for_them(self):
        empty = "<table>\n<thead>\n<tr>\n<th></th>\n<th style=\"text-align: right;\"></th>\n</tr>\n</thead>\n<tbody>\n<tr>"
        self.assertEqual(site_hooks.on_page_content(empty), "<table>\n<tbody>\n<tr>")
        some = empty.replace("<th></th>", "<th>code</th>")
        self.assertEqual(site_hooks.on_page_content(some), some)

    def test_what_the_manual_says(self):
        self.assertEqual(site_hooks.verbs_of(MANUAL), ["topo", "topo show"])
        self.assertEqual(list(site_hooks.rows_of(MANUAL, "ENVIRONMENT")), [("PET_NNODES", "--nnodes"), ("TOPRUN_X", "one two's")])
        self.assertIn("| `toprun.toml` | a \\| b |", site_hooks.table("Files", site_hooks.rows_of(MANUAL, "FILES")))

    def test_the_page_has_every_verb_and_variable(self):
        page = site_hooks.commands(lambda *words: self.toprun(*words).out)
        for piece in ("## submit\n", "## topo order\n", "usage: toprun topo order", "| `PET_NNODES` |", "| `TOPRUN_HOSTS` |", "toprun.toml"):
            self.assertIn(piece, page)


if __name__ == "__main__":
    unittest.main()
