"""What docs/start/demo.md shows of `make demo` is what the demo's own code makes of the figures there."""

import re
import sys
import unittest

import support

sys.path.insert(0, str(support.REPOSITORY / "tools"))
from demo_lib import stages, story, tables
from vcluster_lib import plan

HOSTS = plan.make_plan(stages.HOSTS, stages.RACKS, None)
FIGURE = re.compile(r"\d[\d.]*")
UNITS = {"ms": 1e-3, "MiB": 1 << 20}
ROUNDING = 0.02


def block():
    page = (support.REPOSITORY / "docs/start/demo.md").read_text()
    return re.search(r"<!-- demo: begin -->\n```text\n(.*)```\n<!-- demo: end -->", page, re.S)[1].rstrip("\n")


def figures(text, label):
    """Both launchers' in the row of this label, in seconds or bytes."""
    row = re.search(rf"(?m)^{re.escape(label)} +([\d.]+) (\S+) +([\d.]+) (\S+)", text)
    return [float(row[at]) * UNITS.get(row[at + 1], 1) for at in (1, 3)]


def table(text, title):
    return re.search(rf"(?ms)^{re.escape(title)}\n.*?(?=\n\n)", text)[0]


class Page(support.TestCase):
    def setUp(self):
        self.shown = block()

    def runs(self):
        """The demo's, as their figures are in README: the rounds are only counted."""
        found = []
        rounds = int(re.search(r"median of (\d+)\s+rounds", self.shown)[1])
        for which, title in enumerate(("Standard (torchrun)", "Sorted by topology (toprun)")):
            run = tables.Run(table(self.shown, title))
            run.reduce_rounds_s = rounds * [figures(self.shown, f"all-reduce of {story.REDUCE_MIB} MiB")[which]]
            run.launch_s = figures(self.shown, "launch of 4 × `true`")[which]
            run.memory_bytes = figures(self.shown, "launcher's memory")[which]
            found.append(run)
        return found

    def test_is_what_the_demo_prints(self):
        launchers = stages.Launchers(str(story.ROOT / "build/venv/bin/python"), "build/release/toprun")
        printed = story.report(stages.SlurmStage(launchers, "demo"), *self.runs(), launchers, []).strip("\n")
        said, shown = ([FIGURE.sub("N", " ".join(line.split())) for line in text.splitlines()]
                       for text in (printed, self.shown))
        self.assertEqual(said, shown)
        for of_printed, of_shown in zip(FIGURE.findall(printed), FIGURE.findall(self.shown), strict=True):
            self.assertAlmostEqual(float(of_printed), float(of_shown), delta=ROUNDING * float(of_shown))

    def test_one_start_each_is_not_told_as_several(self):
        self.assertIn("All-reduce: median of 5 rounds of one start each, with Gloo.", story.method(5, 1))
        self.assertIn("All-reduce: median of 10 rounds each, with Gloo, in turn.", story.method(10, 2))

    def test_the_orders_are_ours_and_the_one_of_names(self):
        places = self.folder() / "places"
        places.write_text(plan.locations(HOSTS))
        where = dict(line.split() for line in places.read_text().splitlines())

        def rows(hosts):
            return [f"{stages.RANKS_PER_HOST * node} {host} {where[host]}" for node, host in enumerate(hosts)]

        sorted_hosts = self.toprun("topo", "order", "--topology", places, "--hosts", f"n[0-{stages.HOSTS - 1}]",
                                   "--format", "hosts").out.split()
        for title, hosts in (("Standard (torchrun)", sorted(where)), ("Sorted by topology (toprun)", sorted_hosts)):
            with self.subTest(title):
                _, heading, *shown = [" ".join(line.split()) for line in table(self.shown, title).splitlines()]
                self.assertEqual(heading, "rank hostname physical_host")
                self.assertEqual(shown, rows(hosts))


if __name__ == "__main__":
    unittest.main()
