"""The kill matrix with a second strike 0 to 2 s after the first, so into the midst of what comes of it.

What has to come of two strikes: all is gone within the time that both together may take; every launcher
that was not struck ends with a code that one of the two explains; and the first attempt ended by what
was done first, unless that shows only after a while. Which of the two a job ends of is left open.
"""

import contextlib
import dataclasses
import os
import random
import signal
import threading
import time

import kill_matrix
import kill_scene
from kill_matrix import CUTS, DONE, EXIT, FENCE_S, GRACE_S, JOIN_S, LAST_CALL_S, SILENCE_S, STRUCK

LATEST_S = 2.0     # after the first strike
TOGETHER_S = 0.3   # nearer than this either may be noticed first
SETTLED_S = SILENCE_S + FENCE_S + LAST_CALL_S + 1  # after which a job goes on or ends
SECONDS = (("keeper", "SIGKILL"), ("agent", "SIGKILL"), ("agent", "SIGSTOP"), ("agent", "SIGTERM"),
           ("keeper", "SIGTERM"), ("worker", "SIGKILL"), ("worker", "SIGTERM"),
           ("agent", "link down"), ("worker", "link down"), ("grandchild", "link down"))
# What shows after a while, by a limit.
SLOW = (*CUTS, "frozen", "nothing", "worker stopped")
UNDONE = ("nothing", "worker stopped")  # it is continued in the end


@dataclasses.dataclass(frozen=True)
class Pair:
    first: kill_matrix.Case
    second: kill_matrix.Case
    delay: float

    @property
    def name(self):
        return (f"{self.first.name}; {self.delay:.2f} s later {self.second.kind}, "
                f"{self.second.strike}, on n{self.second.node}")


def all_pairs(seed):
    """200: each case of the matrix as the first; the seed chooses the second and when it strikes."""
    return [pair(first, random.Random(f"{seed} twice {first.name}"))
            for first in kill_matrix.all_cases(seed)]


def pair(first, chance):
    kind, strike = chance.choice(SECONDS)
    node = chance.randrange(2)
    if kind == "agent" and node == 0:
        kind = "root agent"
    second = dataclasses.replace(first, kind=kind, strike=strike, node=node, phase="running")
    return Pair(first, second, chance.uniform(0, LATEST_S))


def some_pairs(seed, count):
    pairs = all_pairs(seed)
    random.Random(seed).shuffle(pairs)
    return pairs[:count]


def finds_nobody(pair):
    """Whether the second strike is at a worker of the node whose workers ended before the first (Scene.ending)."""
    first, second = pair.first, pair.second
    at_worker = first.victim == "worker" and first.strike != "link down"
    last = first.node if at_worker else 1 - first.node
    return (first.phase == "ending" and second.victim == "worker" and second.strike != "link down"
            and second.node != last)


def codes(pair, node):
    """What the launcher of this node may end with."""
    comes_to_nothing = pair.second.effect in UNDONE or finds_nobody(pair)
    right = {0} if pair.first.effect in UNDONE and comes_to_nothing else set()
    for case in (pair.first, pair.second):
        for outcome in kill_matrix.expected(case).outcomes:
            right |= outcome.codes[node]
        if case.node == node:
            right |= STRUCK.get(case.effect, set())
    if pair.first.phase in ("joining", "restarting") or pair.first.elastic:
        right.add(1)  # nobody comes in the place of a node that is lost
    if pair.first.phase == "restarting":
        right.add(7)
    return right


def causes(case):
    return {cause for outcome in kill_matrix.expected(case).outcomes
            for cause in outcome.causes or () if cause != DONE}


def report_problem(pair, reported):
    """Of the causes of the attempts. None of them is read where the root may not have written."""
    if reported is None or any(case.node == 0 and case.effect not in ("nothing", "worker stopped")
                               and case.victim in ("agent", "keeper")
                               or case.effect in CUTS for case in (pair.first, pair.second)):
        return ""
    known = causes(pair.first) | causes(pair.second) | {DONE, "join_timeout"}
    if pair.first.phase == "restarting":
        known.add(EXIT)
    # A launcher that is told to end by one strike may be killed by the other before it has left.
    for case in (pair.first, pair.second):
        known |= {f"agent_lost n{case.node}", f"node_lost n{case.node}"}
    if unknown := set(reported) - known:
        return f"causes {reported}, of which nobody has caused {unknown}; known: {sorted(known)}"
    first = causes(pair.first) - causes(pair.second)
    at_once = pair.first.effect not in SLOW and pair.delay > TOGETHER_S
    only_second = causes(pair.second) - causes(pair.first)
    if at_once and first and reported and reported[0] in only_second and (
            pair.first.phase in ("running", "spawning")):
        return f"causes {reported}, although {sorted(first)} was {pair.delay:.2f} s before"
    return ""


class Scene(kill_scene.Scene):
    """A pair, played once."""

    def __init__(self, hosts, pair):
        super().__init__(hosts, pair.first)
        self.pair = pair
        self.second_at = 0.0
        self.stopped = []

    def play(self):
        return dataclasses.replace(super().play(), case=self.pair)

    def strike(self):
        super().strike()
        self.stopped = [self.pid] if self.case.strike == "SIGSTOP" else []
        self.second = threading.Timer(self.pair.delay, self.strike_again)
        self.second.start()

    def strike_again(self):
        self.second_at = time.monotonic()
        case = self.pair.second
        if case.strike == "link down":
            if case.effect == "cut and back" and self.back is None:
                return self.strike_link(case)
            return self.hosts.unplug(f"n{case.node}")
        # Whatever is to be struck may be gone by now, or not be there yet.
        with contextlib.suppress(ProcessLookupError, FileNotFoundError, IndexError, KeyError,
                                 AssertionError):
            pid = self.victim(case)
            os.kill(pid, getattr(signal, case.strike))
            if case.strike == "SIGSTOP":
                self.stopped.append(pid)

    def struck_nodes(self):
        return {self.pair.first.node, self.pair.second.node}

    def see_how_it_goes_on(self):
        self.second.join()
        settled = self.second_at + SETTLED_S
        while time.monotonic() < settled and not self.all_ended():
            time.sleep(0.02)
        for pid in self.stopped:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)
        (self.root / "end").touch()
        within = sum(kill_matrix.expected(case).within for case in (self.pair.first, self.pair.second))
        self.end_limit = time.monotonic() + within + JOIN_S + GRACE_S

    def await_end(self):
        self.until(lambda: not self.left(), "all is gone", self.end_limit - time.monotonic())
        self.seconds = time.monotonic() - self.second_at

    def until(self, condition, what, limit=kill_scene.SET_UP_S):
        try:
            return super().until(condition, what, limit)
        except kill_scene.Deviation as late:
            raise kill_scene.Deviation(f"{late}; there are: {self.left()}") from None

    def check_outcome(self):
        for node in (0, 1):
            code = self.runs[node].process.poll()
            if code not in (right := codes(self.pair, node)):
                raise kill_scene.Deviation(f"n{node} ended with {code}, not {sorted(right)}; "
                                           f"causes {self.causes()}")
        if problem := report_problem(self.pair, self.causes()):
            raise kill_scene.Deviation(problem)


def play_all(pairs, at_once, tell=lambda result: None):
    return kill_scene.play_all(pairs, at_once, tell, Scene)
