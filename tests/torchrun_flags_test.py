# ctest: TIMEOUT 180 LABELS torch
"""The table of docs/reference/torchrun.md against the binary and against PyTorch's own parser, and command lines
taken apart by both."""

import functools
import json
import os
import re
import shlex
import shutil
import subprocess
import unittest

import support

PAGE = support.REPOSITORY / "docs/reference/torchrun.md"
AT_ONCE_S = 20
# Younger than the PyTorch of the tests, or torch.distributed.launch's.
NOT_IN_EVERY_PARSER = {"--log-line-prefix-template", "--print-completion", "--use-env"}
# A value for each flag that takes one: good where the table says `same` or `better`.
VALUES = {
    "--nnodes": "1", "--nproc-per-node": "2", "--rdzv-backend": "c10d",
    "--rdzv-endpoint": "localhost:0", "--rdzv-id": "job", "--rdzv-conf": "join_timeout=30",
    "--max-restarts": "3", "--monitor-interval": "0.5", "--start-method": "fork",
    "--event-log-handler": "console", "--role": "trainer", "--log-dir": "logs",
    "--redirects": "0:3,12:1", "--tee": "3", "--log-line-prefix-template": "${rank}: ",
    "--local-ranks-filter": "0", "--duplicate-stdout-filters": "a,b",
    "--duplicate-stderr-filters": "a", "--node-rank": "0", "--master-addr": "127.0.0.1",
    "--master-port": "0", "--local-addr": "127.0.0.1", "--logs-specs": "mine",
    "--numa-binding": "node", "--signals-to-handle": "SIGTERM,SIGUSR1", "--shutdown-timeout": "5",
    "--print-completion": "bash",
}


class Row:
    """`| flags | variables | verdict |` of the page."""

    def __init__(self, line):
        flags, variables, verdict = [cell.strip() for cell in line.strip().strip("|").split("|")]
        self.spellings = re.findall(r"`(-[^`]+)`", flags)
        self.variables = re.findall(r"`([A-Z_]+)`", variables)
        self.verdict, _, self.reason = verdict.partition(": ")
        self.name = next((word for word in self.spellings if word.startswith("--")), None)


@functools.cache
def table():
    section = PAGE.read_text().partition("## Flag by flag")[2].partition("\n## ")[0]
    lines = [line for line in section.splitlines() if re.match(r"\| `-", line)]
    return [Row(line) for line in lines]


class Torchrun(support.TestCase):
    """A link of that name to the binary, in a folder with a script and a program."""

    def setUp(self):
        self.here = self.folder()
        self.torchrun = self.here / "torchrun"
        self.torchrun.symlink_to(support.binary())
        (self.here / "show").write_text(
            '#!/bin/sh\nprintf "%s\\0" "$0" "$@" >"${0%/*}/shown.$LOCAL_RANK"\n'
            'env >"${0%/*}/variables.$LOCAL_RANK"\n'
            'echo said by $LOCAL_RANK; echo warned by $LOCAL_RANK >&2\n')
        (self.here / "show").chmod(0o755)
        for odd_name in ("-1", "-x y"):
            (self.here / odd_name).touch()

    def call(self, *argv, **env):
        return self.run_to_end(self.torchrun, *argv, cwd=self.here, limit=AT_ONCE_S,
                               env={"PYTHON_EXEC": str(self.here / "show"),
                                    "TMPDIR": str(self.here), **env})


class TheTable(Torchrun):
    def test_says_one_of_three_things_with_a_reason(self):
        for row in table():
            with self.subTest(row.name):
                self.assertIn(row.verdict, ("same", "better", "refused"))
                self.assertEqual(row.reason == "", row.verdict == "same")

    def test_has_the_flags_and_variables_of_the_binary(self):
        text = " ".join(self.call("--help").out.split())
        flags = set(re.findall(r"(?<=\s)(--[a-z-]+)(?=\s)", self.call("--help").out))
        ours = {"--order", "--report", "--log-dir,"}  # named by the help of others
        self.assertEqual(flags - ours, {row.name for row in table()})
        for row in table():
            if row.variables:
                self.assertIn(f"[{', '.join(row.variables)}]", text)
        self.assertEqual(len(re.findall(r"\[(?:PET|TORCH)[A-Z_]+[],]", text)),
                         sum(bool(row.variables) for row in table()))

    def test_every_spelling_does_what_the_row_says(self):
        for row in table():
            for spelling in row.spellings:
                with self.subTest(spelling):
                    value = [VALUES[row.name]] if row.name in VALUES else []
                    finished = self.call(spelling, *value, "./show")
                    self.assertEqual(finished.code, 2 if row.verdict == "refused" else 0, finished)
                    if row.verdict == "refused":
                        self.assert_one_line(finished, f"{row.name} {value[0]}: .*")

    # What the default has too, so that only a bad value shows that the variable is read.
    BAD = ("x", "-1", "99999999999", "\n")

    # Options without which a flag has no effect.
    NEEDS = {"--log-line-prefix-template": ["--tee", "3"],
             "--duplicate-stdout-filters": ["--tee", "3", "--log-dir", "logs"],
             "--duplicate-stderr-filters": ["--tee", "3", "--log-dir", "logs"]}

    def seen(self, *options, **env):
        """What one can see of a run: its exit code and lines, its workers' words and variables, its files."""
        for file in self.here.iterdir():
            if file.name.startswith(("shown.", "variables.")):
                file.unlink()
        shutil.rmtree(self.here / "logs", ignore_errors=True)
        finished = self.call(*options, "./show", **env)
        workers = {}
        for file in self.here.glob("*.*"):
            if file.name.startswith("shown."):
                workers[file.name] = file.read_text()
            elif file.name.startswith("variables."):
                lines = [re.sub(r"/[^/=]+_\w{8}/", "/N/", line) for line in file.read_text().splitlines()
                         if not line.startswith(("_=", "PET_"))]
                workers[file.name] = sorted(re.sub(r"(?<==)(\d{4,}|[0-9a-f-]{32,36})$", "N", line) for line in lines)
        lines = [line for line in finished.err.splitlines() if not re.match(r"toprun: \d{4}-", line)]
        files = sorted({re.sub(r"[^/]+_\w{8}(?=/|$)", "N", str(path.relative_to(self.here)))
                        for path in self.here.rglob("*")})
        return finished, (finished.code, sorted(finished.out.splitlines()), sorted(lines), workers, files)

    def test_every_variable_does_what_the_row_says(self):
        for row in table():
            for variable in row.variables:
                with self.subTest(variable):
                    needed = self.NEEDS.get(row.name, [])
                    _, plain = self.seen(*needed)
                    self.assertEqual(self.seen(*needed)[1], plain, "two runs look the same")
                    finished, good = self.seen(*needed, **{variable: VALUES.get(row.name, "1")})
                    self.assertEqual(finished.code, 2 if row.verdict == "refused" else 0, finished)
                    is_read = good != plain or any(
                        self.seen(*needed, **{variable: bad})[1] != plain for bad in self.BAD)
                    self.assertTrue(is_read, "a run with the variable looks as one without it")

    def test_null_is_the_event_log_handler_that_is_taken(self):
        self.assert_ok(self.call("--event-log-handler", "null", "./show"))
        self.assertTrue((self.here / "shown.0").exists(), "the rank ran")


# What torch.distributed.run makes of command lines: for each its words, an empty list if it refuses
# it, or "help".
THEIRS = """
import contextlib, io, json, logging, sys
from torch.distributed import run
logging.disable(logging.CRITICAL)

def take_apart(argv):
    try:
        with contextlib.redirect_stderr(io.StringIO()), contextlib.redirect_stdout(io.StringIO()):
            config, command, arguments = run.config_from_args(run.parse_args(argv))
    except SystemExit as end:
        return [] if end.code else "help"
    except Exception:
        return []
    return [command if isinstance(command, str) else "run_path", *arguments]

if sys.argv[1] == "options":
    print(json.dumps([a.option_strings for a in run.get_args_parser()._actions]))
else:
    print(json.dumps([take_apart(argv) for argv in json.load(sys.stdin)]))
"""


def theirs(what, lines=None):
    # With the variables of a run that started these tests, it would parse something else.
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PET_")}
    return json.loads(subprocess.run(
        [support.python(), "-c", THEIRS, what], input=json.dumps(lines), text=True, check=True,
        timeout=100, stdout=subprocess.PIPE, env={**environment, "PYTHON_EXEC": "./show"}).stdout)


class BesideTorchrun(Torchrun):
    def test_the_table_has_every_option_of_its_parser(self):
        real = {frozenset(strings) for strings in theirs("options") if strings}
        here = {frozenset(row.spellings) for row in table() if row.name not in NOT_IN_EVERY_PARSER}
        self.assertEqual(real - {frozenset(row.spellings) for row in table()}, set())
        self.assertEqual(here - real, set())

    # Taken or refused by both, and if taken, the same command for the workers.
    AGREE = """
        show
        show a b
        show --nnodes 2 -h
        -- show a
        -- show -- a
        show --
        show -- a
        show -- -- a
        show -- --depth=20
        show a -- b
        -m pkg.train -- --depth=20
        -t3 show -- -t 0
        --rdzv-conf overlap_timeout=600 show
        --rdzv-conf rank=0 show
        --rdzv-id= show
        --event-log-handler console show
        --log-dir /dev/null show
        --nnodes 1 -- show -x
        --nnodes=1 show
        --nnodes 1:1 show
        --nnodes 2:1 show
        --nnodes 0 show
        --nnodes x show
        --nnodes 1:2:3 show
        --nnodes '' show
        --nnodes
        --nnodes --standalone show
        --nno 1 show
        --nn 1 show
        --n 1 show
        --no 1 show
        --no-p ./show a
        --no_python ./show a
        --no-python ./show -m -t 3
        -m pkg.train -m
        -m --no-python show
        --modul pkg a
        -mt3 pkg
        -mt 3 pkg a
        -tm pkg
        -t3 show
        -t=3 show
        -t 3 show
        -r 3 show
        -r3 -t0 show
        -r 0:1,1:2 show
        -r 9 show
        -r 0:4 show
        -r '' show
        --redirects 0:1, show
        --tee=0:3 show
        -x show
        -np 4 show
        --nproc_per_node 2 show
        --nproc_per=2 show
        --nprocs 2 show
        --nproc-per-node x show
        --standalone show
        --standalone=1 show
        --stand show a
        --rdzv x show
        --rdzv-b c10d show
        --rdzv_conf a show
        --rdzv-endpoint= show
        --role=a=b show
        --role '' show
        --role -1 show
        --role -.5 show
        --role - show
        --role -x show
        --role '-x y' show
        --role '--tee=a b' show
        --role -- show
        -1 show
        '-x y' show
        - show
        --max-restarts -1 show
        --max-restarts 3 --max-restarts 0 show
        --max_restarts x show
        --master-port x show
        --master_port 0 --master-addr 127.0.0.1 show
        --node-rank x show
        --monitor-interval 5 show
        --monitor-interval x show
        --start-method fork show
        --start-method thread show
        --log-dir logs show
        --log x show
        --logs x show
        --logs-specs x show
        --local-ranks-filter 0,1 show
        --local-ranks-filter a show
        --local-ranks-filter '' show
        --local-r 0 show
        --local 0 show
        --duplicate-stdout-filters a,,b show
        --numa-binding everything show
        --signals-to-handle SIGTERM show
        --shutdown-timeout 0 show
        --shutdown-timeout 1.5 show
        --shutdown-timeout -1 show
        --start-method '' show
        --unknown show
        --help
        -h
        -hm
        --he
        --nnodes 1 --help --unknown
        --help=1
    """

    # ours, why: where toprun does otherwise on purpose. "taken" by one is refused by the other.
    DIFFER = [
        ("--tee 0:3,12:1 show", "taken", "maps take local ranks above 9"),
        ("--use-env show", "taken", "torch.distributed.launch's"),
        ("--rdzv-backend etcd show", "refused", "no etcd"),
        ("--event-log-handler mine show", "refused", "Python code for the launcher"),
        ("--signals-to-handle SIGNONE show", "refused", "torchrun warns when it is too late"),
        ("--nproc-per-node 0 show", "refused", "no worker at all"),
        ("--master-port 65536 show", "refused", "there is no such port"),
        ("--duplicate-stderr-filters a, show", "refused", "every line holds an empty text"),
        ("--local-ranks-filter -1 show", "refused", "no rank is negative"),
        ("--standalone --nnodes 2 show", "refused", "a contradiction"),
        ("--nproc-per_node 2 show", "taken", "dashes and underscores may be mixed"),
    ]

    def ours(self, argv):
        finished = self.call(*argv, PYTHON_EXEC="./show")
        if finished.code == 2:
            self.assert_one_line(finished, ".+")
            return []
        self.assertEqual(finished.code, 0, finished)
        shown = self.here / "shown.0"
        if not shown.exists():
            return "help"
        words = shown.read_text().split("\0")[:-1]
        shown.unlink()
        return words

    def test_command_lines_mean_the_same(self):
        lines = [line.strip() for line in self.AGREE.strip().splitlines()]
        for line, expected in zip(lines, theirs("lines", [shlex.split(line) for line in lines])):
            with self.subTest(line):
                self.assertEqual(self.ours(shlex.split(line)), expected)

    # An older argparse calls an abbreviation ambiguous that fits two spellings of one flag.
    EITHER_SPELLING = ["--nproc 2 show", "--np 2 show", "--numa node show", "--virtual show",
                       "--log-d logs --shut 5 show"]

    def test_beginnings_of_both_spellings(self):
        argvs = [shlex.split(line) for line in self.EITHER_SPELLING]
        for line, argv, expected in zip(self.EITHER_SPELLING, argvs, theirs("lines", argvs)):
            with self.subTest(line):
                self.assertEqual(self.ours(argv), expected or ["./show", "-u", "show"])

    def test_where_they_differ(self):
        argvs = [shlex.split(line) for line, _, _ in self.DIFFER]
        for (line, verdict, why), argv, expected in zip(self.DIFFER, argvs, theirs("lines", argvs)):
            with self.subTest(line):
                taken = self.ours(argv) != []
                self.assertEqual(taken, verdict == "taken", why)
                self.assertNotEqual(taken, expected != [], "no difference any more")


class ScriptsOfTheOldLauncher(support.TestCase):
    """torch.distributed.launch gave each an argument --local-rank."""

    def setUp(self):
        self.script = self.folder() / "old.py"
        self.script.write_text("import argparse\nparser = argparse.ArgumentParser()\n"
                               "parser.add_argument('--local_rank', type=int, required=True)\n"
                               "print('local rank', parser.parse_args().local_rank)\n")

    def run_it(self, *arguments):
        return self.toprun("--nproc-per-node", 2, self.script, *arguments, env=support.without_torch())

    def test_are_told_what_to_do(self):
        finished = self.run_it()
        self.assertEqual(finished.code, 2, finished)
        self.assertIn("  next        read LOCAL_RANK in the script, or write "
                      "--local_rank='${local_rank}' after the script: ", finished.err)

    def test_run_with_that(self):
        finished = self.run_it("--local_rank=${local_rank}")
        self.assertEqual(sorted(finished.out.splitlines()), ["local rank 0", "local rank 1"], finished)


if __name__ == "__main__":
    unittest.main()
