"""Runs every end-to-end case with a program in toprun's place that does nothing and exits, once with 0 and
once with 1. A case that passes is one that cannot fail, unless `ABOUT_OTHERS` says what else it is about.

    dummies.py [--no-cluster] [--limit SECONDS] [FILE…]     FILE: local for local_test.py
"""

import argparse
import concurrent.futures
import pathlib
import sys
import tempfile

import played
import run
import support

LIMIT_S = 12  # for each case: what waits for the dummy has noticed that it does nothing
CODES = (0, 1)
FILES_AT_ONCE = 3 * played.FILES_AT_ONCE  # nearly all of their time is waiting

# Cases that are about something else than toprun. A file, a class or a case.
ABOUT_OTHERS = {
    "container_recipes: Recipes.test_enroot_3": "a block of Python in docs/guides/recipes/enroot.md, which is only compiled",
    "demo: Page.test_is_what_the_demo_prints": "a page beside tools/demo",
    "dummies": "this program and dropped_options.py",
    "examples: Alone": "the examples themselves",
    "examples: UnderTorchrun": "the examples under torchrun",
    "gpu_check: GpuCheck.test_no_program": "tools/gpu_check without a program",
    "kill_matrix: KillMatrix.test_every_expectation_can_be_looked_up": "kill_matrix.py's own table",
    "language": "tools/language.py and tools/lint",
    "mpi: Horovod.test_without_horovod_the_example_says_so": "the example",
    "net: Machines.test_what_the_recipe_prints_there": "the shell line of docs/guides/fabric.md",
    "pages: Pages.test_links": "the pages beside each other",
    "pages: Pages.test_names": "the pages beside the sources",
    "pages: Pages.test_readme_is_short_and_the_index_and_the_site_have_every_page": "the pages beside their lists",
    "prometheus: Dashboard": "the dashboard's file and the page of metrics",
    "prometheus: Rules": "the rules' file, by promtool",
    "recorder_oracle: Oracle.test_at_least_thirty_shapes": "the table of workloads",
    "recorder_oracle: Oracle.test_pytorchs_own_analyser_agrees_but_where_the_table_says_why": "PyTorch's analyser beside the table",
    "release": "tools/release and packaging/install.sh",
    "runner": "tests/run.py and tests/report.py",
    "site: Hooks.test_a_list_below_a_line": "tools/site_hooks.py",
    "site: Hooks.test_links_that_leave_the_site": "tools/site_hooks.py",
    "site: Hooks.test_what_the_manual_says": "tools/site_hooks.py",
    "submit: Scripts": "the golden files, by bash and shellcheck",
    "topology_forms: Forms.test_there_are_thirty_at_least": "the table of forms",
    "torchrun_flags: BesideTorchrun.test_the_table_has_every_option_of_its_parser": "the page beside torchrun's parser",
    "torchrun_flags: TheTable.test_says_one_of_three_things_with_a_reason": "the page of torchrun's options",
    "torchrun_forms: Forms.test_real_processes_do_as_the_forks": "torchrun, in two ways",
    "torchrun_forms: Forms.test_the_page_lists_every_difference": "the page of differences",
    "torchrun_signals: Told.test_torchrun_says_so_too": "torchrun",
    "vcluster": "tools/vcluster",
    "web: Chromium": "the page, served by tests/web_player.cc",
    "web_server": "the page's server, in tests/web_player.cc",
}


def excuse(outcome):
    """The entry of the list that says why it may pass."""
    of_class = f"{outcome.file}: {outcome.case.split('.')[0]}"
    return next((name for name in (outcome.file, of_class, outcome.name) if name in ABOUT_OTHERS), None)


class Verdicts:
    """What is wrong with the cases that were played."""

    def __init__(self):
        self.counts, self.wrong, self.used = {}, [], set()

    def add(self, code, file, outcomes):
        if outcomes is None:
            self.wrong.append(f"{file}: its cases did not come to an end with exit code {code}")
            return
        for outcome in outcomes:
            self.counts[outcome.became] = self.counts.get(outcome.became, 0) + 1
            if outcome.became == "overran":
                print(f"overran with exit code {code}: {outcome.name}", flush=True)
            if outcome.became in ("passed", "overran") and (reason := excuse(outcome)):
                self.used.add(reason)  # on a busy machine one that passes may take too long
            elif outcome.became == "passed":
                self.wrong.append(f"{outcome.name}: passes with a program that only exits with {code}")

    def tell(self, all_were_played):
        if all_were_played:
            self.wrong += [f"{name}: no case of that name passes; it needs no excuse" for name in
                           ABOUT_OTHERS.keys() - self.used]
        for line in sorted(self.wrong):
            print(line)
        counted = ", ".join(f"{count} {became}" for became, count in sorted(self.counts.items()))
        print(f"{counted}: {len(self.wrong)} wrong")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--no-cluster", action="store_true")
    parser.add_argument("--limit", type=float, default=LIMIT_S)
    parser.add_argument("files", nargs="*")
    asked = parser.parse_args()
    files = [file for file in asked.files or played.test_files()
             if not (asked.no_cluster and "cluster" in played.needs(file))]
    verdicts = Verdicts()
    with (run.folders_in_memory(), tempfile.TemporaryDirectory(prefix="dummies-", dir=support.REPOSITORY / "build") as folder,
          concurrent.futures.ThreadPoolExecutor(len(CODES)) as pool):
        pathlib.Path(folder).chmod(0o755)  # cases run it as other users too

        def play_all(code):
            program = played.stand_in(pathlib.Path(folder, f"exit-{code}"), f"#!/bin/sh\nexit {code}\n")
            return code, list(played.for_each(files, lambda file: played.play(file, program, asked.limit), FILES_AT_ONCE))
        for code, found in pool.map(play_all, CODES):
            for file, outcomes in found:
                verdicts.add(code, file, outcomes)
    verdicts.tell(all_were_played=not asked.files and not asked.no_cluster)
    sys.exit(bool(verdicts.wrong))


if __name__ == "__main__":
    main()
