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
                ("[hangs.md](hangs.md#x)", "[Hangs](hangs.md#x)", "[Hangs](hangs.md#x)"),
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

    def test_options_and_schemas_do_not_break(self):
        for html, meant in (("<code>-N</code>", "<code><{nb}>-N</span></code>"),
                            ("<code>x [--json] --a-b=c</code>", "<code>x <{nb}>[--json</span>] <{nb}>--a-b</span>=c</code>"),
                            ("<code>--</code>", "<code><{nb}>--</span></code>"),
                            ("<code>toprun.live/1</code>", "<code><{nb}>toprun.live/1</span></code>"),
                            ("<code>a-b</code> --x", "<code>a-b</code> --x"),
                            ("<pre><span></span><code>--x\n</code></pre>", "<pre><span></span><code>--x\n</code></pre>")):
            with self.subTest(html):
                self.assertEqual(site_hooks.in_one_piece(html), meant.replace("{nb}", 'span class="nb"'))

    def test_decisions_and_verbs_are_linked(self):
        self.assertEqual(site_hooks.with_linked_decisions("| 7 | A thing | [base](decisions/base.md#files) |\n\n**7. A thing.** So.\n"),
                         '| 7 | A thing | [base](decisions/base.md#d7) |\n\n<a id="d7"></a>**7. A thing.** So.\n')
        self.assertEqual(site_hooks.with_linked_verbs("| `run SCRIPT` | `jobs` |\n| `man`, `no` | x |\n", ["run", "man", "jobs"]),
                         "| [`run SCRIPT`](#a-launch) | `jobs` |\n| [`man`](#man), `no` | x |\n")

    def test_the_site_does_not_say_how_it_is_made(self):
        self.assertEqual(site_hooks.without_the_build("a\n\nOn the site (`make docs`)\nmore.\n\nb\n"), "a\n\nb\n")

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
