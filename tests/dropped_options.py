"""Finds options that no end-to-end case would miss. First all cases run with a toprun that keeps a record of
its calls; then, for each option of the table (src/options/*_rows.cc, as the help lists it) and each variable
that stands for one, cases that give it run with a toprun that drops it, the quickest first, until one fails.

    dropped_options.py record [--no-cluster] [FILE…]   into build/dropped/record.json; FILE: local for local_test.py
    dropped_options.py drop [OPTION…]                  OPTION: --hosts, or TOPRUN_HOSTS

What no case notices is a failure, unless UNNOTICED says why.
"""

import argparse
import collections
import concurrent.futures
import contextlib
import dataclasses
import json
import pathlib
import shutil
import sys
import threading

import command_lines
import played
import run
import support

FOLDER = support.REPOSITORY / "build/dropped"
RECORD_LIMIT_S = 240  # for each case; with an option dropped many wait in vain
DROP_LIMIT_S = 30
MOST_CASES = 12  # tried for each option
DROPS_AT_ONCE = played.FILES_AT_ONCE
VARIABLES = r"^(PET|TOPRUN|TORCH|TORCHELASTIC|TORCH_ELASTIC|SBATCH|SALLOC)_"

# Options without which every case ends as with them, and why that is right.
UNNOTICED = {
}

# Stands in toprun's place and leaves signals, descriptors and the environment as they are.
KEEPS_RECORD = r"""#!/usr/bin/perl
if (open(my $now, "<", "FOLDER/outcomes.now")) {
  my $call = "FOLDER/calls/" . <$now> . ".$$." . time . rand();
  if (open(my $out, ">", $call)) {
    print $out "$_\0" for (1 + @ARGV, $0, @ARGV, grep { /VARIABLES/ } keys %ENV);
  }
}
exec { "PROGRAM" } $0, @ARGV;
"""
DROPS_OPTION = r"""#!/usr/bin/perl
open(my $words, "-|", "/usr/bin/python3", "-ISB", "TESTS/command_lines.py", "FOLDER/table", "NUMBER", $0, @ARGV)
  or die "cannot drop an option: $!";
local $/ = "\0";
my @left = map { chomp; $_ } <$words>;
close($words);
@left or die "dropping an option left nothing";
exec { "PROGRAM" } @left;
"""
DROPS_VARIABLE = r"""#!/usr/bin/perl
delete $ENV{"NUMBER"};
exec { "PROGRAM" } $0, @ARGV;
"""


@dataclasses.dataclass
class Used:
    """A case that passes, its calls and the variables that it gives."""
    file: str
    case: str
    seconds: float
    lines: list
    variables: set


@dataclasses.dataclass
class Job:
    """A use of an option, by its number in the table, or a variable; `text` is the program that drops it."""
    title: str
    number: str
    text: str
    using: list  # cases that give it, the quickest first


class Place:
    """A folder for the programs that stand in front, and for the record."""

    def __init__(self, folder):
        self.folder = folder
        self.record = folder / "record.json"

    def in_front(self, name, text, **more):
        """A folder with this program in toprun's place, and one for what it writes."""
        folder = self.folder / name
        words = {"FOLDER": folder, "PROGRAM": pathlib.Path(support.TOPRUN).resolve(), "TESTS": played.TESTS,
                 "VARIABLES": VARIABLES, **more}
        for word, value in words.items():
            text = text.replace(word, str(value))
        played.stand_in(folder, text)
        (folder / "calls").mkdir()
        (folder / "calls").chmod(0o777)  # cases call it as other users too
        return folder

    def table(self):
        folder = self.folder / "names"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        for name in ("toprun", "torchrun"):
            (folder / name).symlink_to(pathlib.Path(support.TOPRUN).resolve())
        return command_lines.table_of(folder / "toprun")


def record(place, files):
    def work(file):
        folder = place.in_front(f"record-{pathlib.Path(file).name}", KEEPS_RECORD)
        outcomes = played.play(file, folder / "toprun", RECORD_LIMIT_S, folder=folder) or []
        calls = collections.defaultdict(list)
        for path in (folder / "calls").iterdir():
            count, *words = path.read_bytes().decode(errors="surrogateescape").split("\0")[:-1] or "0"
            calls[path.name.rsplit(".", 3)[0]].append([words[:int(count)], words[int(count):]])
        shutil.rmtree(folder)
        return [{"file": file, "case": outcome.case, "seconds": outcome.seconds, "became": outcome.became,
                 "why": outcome.why, "calls": calls.get(outcome.case, [])} for outcome in outcomes]

    old = json.loads(place.record.read_text()) if place.record.exists() else []
    for file, found in played.for_each(files, work):
        old = [case for case in old if case["file"] != file] + found
        place.record.write_text(json.dumps(old))
        for case in found:
            if case["became"] != "passed":
                print(f"{case['became']}: {file}: {case['case']}: {case['why'].strip().splitlines()[-1:]}", flush=True)
        print(f"recorded {file}: {len(found)} cases", flush=True)


class Drops:
    """Each option or variable, and the case that notices it."""

    def __init__(self, place):
        self.place, self.table, self.alone = place, place.table(), threading.Lock()
        self.cases = sorted(self.recorded(), key=lambda case: case.seconds)
        self.nothing = place.in_front("drop-nothing", DROPS_VARIABLE, NUMBER="NO_VARIABLE_OF_THIS_NAME")

    def recorded(self):
        for case in json.loads(self.place.record.read_text()):
            if case["became"] == "passed":
                # Under `ulimit -f 0` no call could be written down.
                lines = [command_lines.Line(self.table, words) for words, _ in case["calls"] if words]
                yield Used(case["file"], case["case"], case["seconds"], lines,
                           set().union(*(variables for _, variables in case["calls"])))

    def notices(self, case, folder):
        with self.alone if "SERIAL" in played.needs(case.file) else contextlib.nullcontext():
            outcomes = played.play(case.file, folder / "toprun", max(DROP_LIMIT_S, 3 * case.seconds), [case.case])
        return outcomes is None or any(outcome.became in ("failed", "overran") for outcome in outcomes)

    def tried(self, using):
        """The quickest of each file first: the cases of one file tend to be alike."""
        of_file = collections.Counter()
        order = []
        for case in using:
            order.append((of_file[case.file], case.seconds, case))
            of_file[case.file] += 1
        return [case for _, _, case in sorted(order, key=lambda each: each[:2])][:MOST_CASES]

    def find(self, job):
        """The case that notices, or None, and how many were tried."""
        folder = self.place.in_front(f"drop-{job.number}", job.text, NUMBER=job.number)
        self.table.save(folder / "table")
        try:
            tried = self.tried(job.using)
            for count, case in enumerate(tried, 1):
                # A case that also fails without a drop, on a busy machine, says nothing.
                if self.notices(case, folder) and not self.notices(case, self.nothing):
                    return case, count
            return None, len(tried)
        finally:
            shutil.rmtree(folder)

    def jobs(self, wanted):
        variables = {}
        for number, use in enumerate(self.table.uses):
            variables |= dict.fromkeys(use.option.variables)
            if not wanted or set(wanted) & set(use.option.names):
                yield Job(str(use), str(number), DROPS_OPTION,
                          [case for case in self.cases if any(line.has(use) for line in case.lines)])
        for variable in variables:
            if not wanted or variable in wanted:
                yield Job(variable, variable, DROPS_VARIABLE, [case for case in self.cases if variable in case.variables])


def drop(place, wanted):
    drops = Drops(place)
    noticed, wrong = 0, []
    with concurrent.futures.ThreadPoolExecutor(DROPS_AT_ONCE) as pool:
        jobs = sorted(drops.jobs(wanted), key=lambda job: job.using[0].seconds if job.using else 0)
        begun = {pool.submit(drops.find, job): job for job in jobs}
        for done in concurrent.futures.as_completed(begun):
            job, (case, tried) = begun[done], done.result()
            if case:
                noticed += 1
                print(f"noticed: {job.title}: by {case.file}: {case.case}", flush=True)
                continue
            why = UNNOTICED.get(job.title)
            wrong += [] if why else [job.title]
            print(f"not noticed: {job.title}: {len(job.using)} cases give it, {tried} were tried"
                  f"{f'; {why}' if why else ''}", flush=True)
    print(f"{noticed} noticed, {len(wrong)} not without a reason")
    for title in sorted(wrong):
        print(f"nothing notices {title}")
    sys.exit(bool(wrong))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("what", choices=("record", "drop"))
    parser.add_argument("--no-cluster", action="store_true")
    parser.add_argument("--folder", type=pathlib.Path, default=FOLDER)
    parser.add_argument("names", nargs="*")
    asked, others = parser.parse_known_args()
    place = Place(asked.folder.resolve())
    with run.folders_in_memory():
        if asked.what == "drop":
            drop(place, asked.names + others)
        else:
            record(place, [file for file in asked.names + others or played.test_files()
                           if not (asked.no_cluster and "cluster" in played.needs(file))])


if __name__ == "__main__":
    main()
