"""What happens when something breaks: toprun beside torchrun, in one run, on two virtual hosts.

    make bench-failures   or: python3 bench/failures.py [--full] [--only CASE,…] [--json FILE]

Two hosts, two ranks each unless a case says otherwise. TOPRUN names the binary (build/release/toprun),
PYTHON a Python with torch (build/venv). Cases of torchrun that take minutes are cut short at a cap
(30 s, with --full 120 s) and shown as `> 30 s`. The last three are the kill matrices, toprun alone: 200
cases with one strike (tests/kill_matrix.py), 200 with two (tests/kill_twice.py) and 200 signals that come
twice (tests/kill_signals.py). Exit code 1 if
toprun misses a bound or a case of a matrix.
"""

import argparse
import dataclasses
import itertools
import json
import math
import os
import pathlib
import random
import statistics
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "tests"))

import cluster
import kill_matrix
import kill_scene
import kill_signals
import kill_twice
from failures_lib import cases, jobs, output, restart

CAP_S, FULL_CAP_S = 30, 120
RESTARTS, FULL_RESTARTS = 5, 20           # tries of toprun
PEER_RESTARTS, FULL_PEER_RESTARTS = 2, 5  # tries of torchrun, either way
MATRIX_AT_ONCE = 3

# torchrun's only mode in which a restart in place works.
OWN_STORE = ("TORCH_DISABLE_SHARE_RDZV_TCP_STORE", "1")


@dataclasses.dataclass(frozen=True)
class Figure:
    key: str
    name: str
    # What toprun's median must be: at most a number of seconds, or exactly a word or count.
    at_most: float | None = None
    exactly: object = None
    share: float | None = None  # at most this share of torchrun's


@dataclasses.dataclass(frozen=True)
class Case:
    key: str
    name: str
    play: object  # (hosts, launcher, cap) -> {figure: value}
    figures: tuple
    times: int = 5      # how often toprun plays it; torchrun once
    up: tuple = ("--hosts", "2")  # of vcluster; empty: no virtual host


CASES = (
    Case("fail", "rank 3 exits 7", cases.rank_fails, (
        Figure("gone", "last worker of the other node gone after", at_most=0.100),
        Figure("codes", "exit codes of both launchers", exactly="7, 7"),
        Figure("named", "rank, host and code named on", exactly="n0, n1"))),
    Case("kill", "launcher of n1 killed with SIGKILL", cases.launcher_is_killed, (
        Figure("own", "its workers gone after", at_most=0.100),
        Figure("others", "the other node's told and gone after", at_most=0.100))),
    Case("cut", "link of n1 down", cases.node_is_cut_off, (
        Figure("n0", "workers of n0 gone after", at_most=15.0),
        Figure("n1", "workers of n1 gone after", at_most=15.0),
        Figure("named", "n0 names n1", exactly="yes")), times=1),
    Case("restart", "restart in place, Gloo, 2 nodes", restart.two_nodes, (
        Figure("worked", "worked", exactly=True),
        Figure("exec", "failure to the last new worker's exec", at_most=0.200),
        Figure("reduced", "failure to the last first all_reduce", share=0.8)), times=RESTARTS),
    Case("restart1", "restart in place, Gloo, 1 node, 2 ranks", restart.one_node, (
        Figure("worked", "worked", exactly=True),
        Figure("exec", "failure to the last new worker's exec", at_most=0.200),
        Figure("reduced", "failure to the last first all_reduce", share=0.8)), times=RESTARTS),
    Case("sigterm", "SIGTERM, workers ignore it, grace 2 s", cases.sigterm_is_ignored, (
        Figure("n0", "workers of n0 gone after", at_most=2.2),
        Figure("n1", "workers of n1 gone after", at_most=2.2),
        Figure("left", "processes left", exactly=0)), times=3),
    Case("name", "endpoint does not resolve, join_timeout 5 s", cases.name_does_not_resolve, (
        Figure("said", "it is said after", at_most=1.0),
        Figure("ended", "ended after", at_most=6.0),
        Figure("lines", "lines of output"),
        Figure("code", "exit code", exactly="1")), times=1),
    Case("port", "silent listener on the port, join_timeout 5 s", cases.port_is_silent, (
        Figure("said", "it is said after", at_most=3.0),
        Figure("ended", "ended after", at_most=6.0),
        Figure("lines", "lines of output"),
        Figure("code", "exit code", exactly="1")), times=1),
    Case("script", "missing script, 1 node, 4 ranks", cases.script_is_missing, (
        Figure("ended", "ended after", at_most=0.020),
        Figure("lines", "lines of output", exactly=1),
        Figure("code", "exit code", exactly="2")), times=20, up=()),
    Case("own-name", "own host name does not resolve", cases.own_name_is_unknown, (
        Figure("started", "all workers started after", at_most=1.0),
        Figure("codes", "exit codes", exactly="started")), times=3,
        up=("--hosts", "2", "--own-name", "none")),
    Case("output", "4 × 100,000 lines of 100 bytes, --tee 3 --log-dir", output.whole_lines, (
        Figure("cpu", "launcher's CPU", at_most=0.3),
        Figure("lost", "lines lost", exactly=0),
        Figure("torn", "lines torn", exactly=0)), times=3, up=()),
    Case("halves", "4 × 1,000 lines in two writes each", output.lines_in_halves, (
        Figure("lost", "lines lost", exactly=0),
        Figure("torn", "lines torn", exactly=0)), times=3, up=()),
    Case("folders", "temporary folders", cases.folders_left, (
        Figure("left", "left behind per start", exactly=0),), times=1, up=()),
)
MATRIX, TWICE, SIGNALS = "matrix", "twice", "signals"
MATRICES = {
    MATRIX: ("kill matrix", kill_matrix.all_cases, kill_scene.play_all),
    TWICE: ("kill matrix, two strikes", kill_twice.all_pairs, kill_twice.play_all),
    SIGNALS: ("kill matrix, double signals", kill_signals.all_doubles, kill_signals.play_all),
}


def say(text):
    print(text, file=sys.stderr, flush=True)


def launchers(case, full):
    """(launcher, how often) that play a case."""
    toprun, torchrun = jobs.toprun(), jobs.torchrun()
    if case.play not in (restart.two_nodes, restart.one_node):
        return [(toprun, case.times), (torchrun, 1)]
    peers = FULL_PEER_RESTARTS if full else PEER_RESTARTS
    own_store = dataclasses.replace(torchrun, name="torchrun*", environment=(OWN_STORE,))
    return [(toprun, FULL_RESTARTS if full else case.times), (torchrun, peers), (own_store, peers)]


def in_turns(shares):
    """Each launcher as often as it shall, all in turns, so that they see the same weather."""
    rounds = [[launcher] * times for launcher, times in shares]
    return [launcher for turn in itertools.zip_longest(*rounds) for launcher in turn if launcher]


def play(case, cap, full):
    """{launcher's name: [{figure: value} of each time]}."""
    hosts = jobs.Hosts(*case.up) if case.up else None
    found = {}
    if hosts:
        hosts.up()
    try:
        for launcher in in_turns(launchers(case, full)):
            found.setdefault(launcher.name, []).append(case.play(hosts, launcher, cap))
            say(f"{case.name}: {launcher.name}: {shown(found[launcher.name][-1])}")
    finally:
        if hosts:
            hosts.down()
    return found


def shown(values):
    return ", ".join(f"{key} {value:.3f}" if isinstance(value, float) else f"{key} {value}"
                     for key, value in values.items() if key != "text")


def samples(rows, key):
    return [row[key] for row in rows if key in row]


def in_words(values, cap):
    """Several times' values in one cell: the median and the largest of seconds."""
    if not values:
        return ""
    if isinstance(values[0], bool):
        return f"{sum(values)} of {len(values)}"
    if not isinstance(values[0], float):
        return " / ".join(dict.fromkeys(str(value) for value in values))
    came = [value for value in values if value < math.inf]  # not nan either
    if not came:
        return f"> {cap} s" if math.inf in values else "never"
    most = f" (max {duration(max(came))})" if len(came) > 1 else ""
    missing = f", {len(values) - len(came)} never" if len(came) < len(values) else ""
    return duration(statistics.median(came)) + most + missing


def duration(seconds):
    return f"{seconds * 1e3:.0f} ms" if seconds < 1 else f"{seconds:.2f} s"


def verdict(figure, values, peers):
    """(the bound in words, whether it is met; None where there is none)."""
    if figure.exactly is not None:
        bound = "all" if figure.exactly is True else str(figure.exactly)
        return bound, bool(values) and all(value == figure.exactly for value in values)
    limit, words = figure.at_most, ""
    if figure.share is not None:
        finite = [value for value in peers if value < math.inf]
        limit = figure.share * statistics.median(finite) if finite else None
        words = f"{figure.share:g} of torchrun*'s: "
    if limit is None:
        return words and f"{words}no figure", None
    return f"{words}<= {duration(limit)}", (bool(values) and not any(map(math.isnan, values)) and
                                          statistics.median(values) <= limit)


def rows_of(case, found, cap):
    """(case, figure, torchrun, toprun, bound, verdict) of each figure."""
    rows = []
    for figure in case.figures:
        ours = samples(found["toprun"], figure.key)
        star = samples(found.get("torchrun*", []), figure.key)
        peer = in_words(samples(found["torchrun"], figure.key), cap)
        if star:
            peer += f"; * {in_words(star, cap)}"
        bound, met = verdict(figure, ours, star)
        rows.append([case.name if figure is case.figures[0] else "", figure.name, peer,
                     in_words(ours, cap), bound, "" if met is None else "met" if met else "MISSED"])
    return rows


def play_matrix(key, seed):
    """The 200 cases; (row of the table, deviations)."""
    name, cases_of, play_all = MATRICES[key]
    done = []

    def tell(result):
        done.append(result)
        say(f"{name} {len(done)}: {result.case.name}: {result.problem or 'as expected'} "
            f"({result.seconds:.2f} s)")
        if result.problem:
            say(result.log)

    results = play_all(cases_of(seed), MATRIX_AT_ONCE, tell)
    deviations = [result for result in results if result.problem]
    row = [f"{name}, TOPRUN_SEED={seed}", "cases as expected", "",
           f"{len(results) - len(deviations)} of {len(results)}", "all",
           "MISSED" if deviations else "met"]
    return row, deviations


def print_table(rows):
    header = ["case", "figure", "torchrun", "toprun", "bound", ""]
    widths = [max(len(row[column]) for row in [header, *rows]) for column in range(len(header))]
    for row in [header, *rows]:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip())


def options():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--full", action="store_true", help="longer caps, 20 restarts")
    parser.add_argument("--only", metavar="CASE,…", help="these cases instead of all")
    parser.add_argument("--json", metavar="FILE")
    args = parser.parse_args()
    known = [*(case.key for case in CASES), *MATRICES]
    args.only = args.only.split(",") if args.only else known
    if unknown := [key for key in args.only if key not in known]:
        parser.error(f"--only: no case {', '.join(unknown)}; there are {', '.join(known)}")
    return args


def main():
    args = options()
    if reason := cluster.reason_not_possible(with_slurm=False):
        sys.exit(f"no virtual cluster: {reason}")
    cap = FULL_CAP_S if args.full else CAP_S
    seed = int(os.environ.get("TOPRUN_SEED") or random.SystemRandom().randrange(10_000))
    load = f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} CPUs before"
    rows, found, deviations = [], {}, []
    for case in CASES:
        if case.key in args.only:
            found[case.key] = play(case, cap, args.full)
            rows += rows_of(case, found[case.key], cap)
    for key in MATRICES:
        if key in args.only:
            row, found_here = play_matrix(key, seed)
            rows.append(row)
            deviations += found_here
    print(f"{load}, {os.getloadavg()[0]:.1f} after; * with {'='.join(OWN_STORE)}")
    print_table(rows)
    for result in deviations:
        print(f"not as expected: {result.case.name}: {result.problem}")
    for key, what in kill_matrix.REPLACED.items() if MATRIX in args.only else ():
        print(f"in the kill matrix, {' × '.join(key)}: {what}")
    if args.json:
        pathlib.Path(args.json).write_text(json.dumps(
            {"schema": "toprun.bench_failures/1", "seed": seed, "load": load, "cases": found,
             "rows": rows}, indent=2))
    return any(row[-1] == "MISSED" for row in rows)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except unittest.SkipTest as reason:
        sys.exit(str(reason))
