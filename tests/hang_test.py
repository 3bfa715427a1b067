# ctest: TIMEOUT 900 LABELS cluster
"""--hang-timeout: many kinds of hang on virtual hosts with real PyTorch and Gloo. The guilty rank is named with
its host and its line before anything is ended."""

import json
import os
import signal
import subprocess
import sys
import unittest

import cluster
import support
from hang_kinds import GUILTY, SCRIPT, line_of

TOPRUN = support.TOPRUN
PORT = "29531"
HOSTS, RANKS = 2, 4
T_S = 4
CROWD = 10  # processes that compute on a rank's CPU


class Hangs(cluster.TestCase):
    UP = ("--hosts", str(HOSTS))

    def start_all(self, kind, *options, arguments=(), limit_s=T_S):
        program = self.folder() / "train.py"
        program.write_text(SCRIPT)
        report = program.with_name("report.json")
        words = [TOPRUN, "--nnodes", str(HOSTS), "--nproc-per-node", str(RANKS // HOSTS), "--rdzv-backend", "c10d",
                 "--rdzv-endpoint", f"n0:{PORT}", "--hang-timeout", str(limit_s), *options]
        env = {"PYTHON_EXEC": support.python(), "OMP_NUM_THREADS": "1", **support.WARM}
        runs = [self.start(f"n{i}", *words, *(["--report", report] if i == 0 else []), program, kind, *arguments,
                           env=env) for i in range(HOSTS)]
        return program, report, runs

    def hang_in(self, report):
        *_, attempt = json.loads(report.read_text())["attempts"]
        return attempt["hang"]

    def assert_named(self, kind, *pattern, mark=None):
        program, report, (root, other) = self.start_all(kind, "--on-hang", "abort")
        root.says(r"no rank has made progress for 4\.0 s: ", limit=90)
        finished = [one.wait(60) for one in (root, other)]
        self.assertEqual([one.code for one in finished], [1, 1], finished)
        self.assertEqual(finished[0].err.count("no rank has made progress for"), 1, finished[0].err)
        self.assertNotIn("--warm is left out", finished[0].err + finished[1].err)
        self.assertRegex(finished[0].err.splitlines()[-1], rf"the job hung: rank {GUILTY} on n1\b.*; exit code 1$")
        hang = self.hang_in(report)
        self.assertEqual(hang["suspects"], [{"rank": GUILTY, "node": "n1"}], hang)
        if mark:
            self.assertIn(f"train.py:{line_of(mark)}", finished[0].err)
        for one in pattern:
            self.assertRegex(finished[0].err, one)
        return report

    def test_a_rank_that_sleeps(self):
        self.assert_named("sleeps", r"rank 3 on n1 sleeps at train\.py:\d+ in sleeps, and 3 ranks wait for it",
                          mark="sleeps")

    def test_another_order_of_collectives(self):
        report = self.assert_named("order", "rank 3 on n1 waits in broadcast", mark="order")
        advice = self.hang_in(report)["next"]
        self.assertTrue(advice.startswith("compare the calls of these ranks"), advice)
        status = self.run_to_end(TOPRUN, "status", report)
        self.assertIn("next " + " ".join(advice.split()), " ".join(status.out.split()))

    def test_a_data_loader(self):
        self.assert_named("loads", r"in __getitem__", mark="in the worker")

    def test_a_lock(self):
        self.assert_named("locks", r"rank 3 on n1 waits for a lock or another thread at train\.py:\d+ in locks, and 3 "
                                   "ranks wait for it", mark="locks")

    def test_a_thread_that_is_joined(self):
        self.assert_named("joins", r"rank 3 on n1 waits for a lock or another thread in join, train\.py:\d+ in joins; its "
                          rf"thread sleeps at train\.py:{line_of('sleeps')} in sleeps, and 3 ranks wait for it", mark="joins")

    def test_a_rank_that_spins(self):
        self.assert_named("spins", "rank 3 on n1 runs", mark="spins")

    def test_a_child(self):
        self.assert_named("child", "its child process 'sleep' sleeps", mark="waits for a child")

    def test_a_rank_that_is_missing_at_init(self):
        self.assert_named("init", mark="init")

    def test_a_monitored_barrier(self):
        self.assert_named("monitored_barrier", mark="sleeps")

    def test_another_size(self):
        """Gloo itself ends the rank that gets more than it expects; its stack is among its last lines."""
        program, report, (root, other) = self.start_all("size", "--on-hang", "abort")
        finished = [one.wait(60) for one in (root, other)]
        self.assertEqual([one.code for one in finished], [134, 134], finished)
        self.assertRegex(finished[0].err, r"ranks made different calls of a collective, as rank \d on n[01] ")
        self.assertIn(f"train.py\", line {line_of('size')} in main", "".join(one.err for one in finished))

    def test_a_mount_that_hangs(self):
        self.assert_named("reads", r"rank 3 on n1 hangs in the kernel \(\w+\)", mark="reads")

    def test_a_rank_that_is_stopped(self):
        program, report, (root, other) = self.start_all("stopped")
        pid = program.with_name(f"{GUILTY}.pid")
        support.wait_until(lambda: pid.exists() and pid.read_text(), 60, "all have met")
        os.kill(int(pid.read_text()), signal.SIGSTOP)
        root.says("rank 3 on n1 is stopped", limit=60)
        support.wait_until(lambda: self.hang_in(report), 10, "the report tells it")
        self.assertIsNone(self.hang_in(report)["over"])
        os.kill(int(pid.read_text()), signal.SIGCONT)
        root.says("toprun: a rank makes progress again", limit=30)
        support.wait_until(lambda: self.hang_in(report)["over"], 10, "the report tells that it is over")
        self.assertRegex(self.on("n0", TOPRUN, "status", report).out,
                         r"(?m)^  hang       rank 3 on n1 is stopped.*, noticed at \S+ \S+; over since \S+ \S+$")
        root.signal(signal.SIGINT)
        self.assertEqual([one.wait(60).code for one in (root, other)], [130, 130])

    def test_work_without_a_word_is_no_hang(self):
        limit_s = T_S // 2  # rank 3 works through four phases, each longer than that, and the others wait
        program, report, runs = self.start_all("works", "--on-hang", "abort", arguments=[str(1.5 * limit_s)],
                                               limit_s=limit_s)
        for one in runs:
            self.assert_ok(one.wait(120))
        self.assertIsNone(self.hang_in(report))

    def test_work_on_a_crowded_cpu_is_no_hang(self):
        """A rank that hardly gets a CPU is at the same line in one sample after another."""
        limit_s = T_S // 2
        program, report, runs = self.start_all("works", "--on-hang", "abort", arguments=[str(1.5 * limit_s)],
                                               limit_s=limit_s)
        pid = program.with_name(f"{GUILTY}.pid")
        support.wait_until(lambda: pid.exists() and pid.read_text(), 60, "all have met")
        cpu = min(os.sched_getaffinity(0))
        os.sched_setaffinity(int(pid.read_text()), {cpu})
        # Each with a session of its own, because the kernel shares a CPU among sessions first (autogroup).
        crowd = [subprocess.Popen([sys.executable, "-c", f"import os; os.sched_setaffinity(0, {{{cpu}}})\nwhile True: pass"],
                                  start_new_session=True) for _ in range(CROWD)]
        try:
            for one in runs:
                self.assert_ok(one.wait(120))
        finally:
            for one in crowd:
                one.kill()
                one.wait()
        self.assertIsNone(self.hang_in(report))

    def test_it_starts_again(self):
        """As after a failure: the job ends when no restart is left."""
        program, report, (root, other) = self.start_all("sleeps", "--on-hang", "restart", "--max-restarts", "1")
        finished = [one.wait(120) for one in (root, other)]
        self.assertEqual([one.code for one in finished], [1, 1], finished)
        attempts = json.loads(report.read_text())["attempts"]
        self.assertEqual([one["cause"]["kind"] for one in attempts], ["hang", "hang"])
        self.assertEqual(finished[0].err.count("rank 3 on n1 sleeps at"), 2, finished[0].err)

    def test_a_rank_that_has_given_up_waiting(self):
        """Its watchdog writes a key to the store before it ends; nobody waits for the time limit then."""
        program, report, (root, other) = self.start_all("gives_up", "--on-hang", "abort", limit_s=600)
        root.says(r"rank 1 wrote exception_dump: rank 3 on n1 sleeps at train\.py:\d+ in sleeps, and 3 ranks wait", 90)
        self.assertEqual([one.wait(60).code for one in (root, other)], [1, 1])
        hang = self.hang_in(report)
        self.assertEqual([hang["alarm"], hang["after_ms"]], [{"key": "exception_dump", "rank": 1}, None])
        self.assertEqual(hang["suspects"], [{"rank": GUILTY, "node": "n1"}], hang)

    def test_it_only_reports(self):
        program, report, (root, other) = self.start_all("sleeps")
        root.says(r"the job goes on \(--on-hang report\)", limit=60)
        asked = self.on("n0", TOPRUN, "stacks", report)
        self.assert_ok(asked)
        self.assertRegex(asked.out, rf"rank 3 on n1: sleeps at train\.py:{line_of('sleeps')} in sleeps")
        where = rf"(?m)^  hang       rank 3 on n1 sleeps at train\.py:{line_of('sleeps')} in sleeps, and 3 ranks wait for it"
        asked = self.on("n0", TOPRUN, "status", report)
        self.assert_ok(asked)
        self.assertRegex(asked.out, where + rf", noticed at \S+ \S+; toprun stacks {report} shows the current stacks$")
        root.signal(signal.SIGINT)
        for one in (root, other):
            self.assertEqual(one.wait(60).code, 130)
        self.assertRegex(self.on("n0", TOPRUN, "status", report).out, where + r", noticed at \S+ \S+$")


class Hanging(cluster.TestCase):
    UP = ("--hosts", str(HOSTS))
    START = {}  # how its ranks start

    def hang_of(self, script, *options):
        """The hang in the report of a job that ends for it."""
        self.program = self.folder() / "train.py"
        self.program.write_text(script)
        report = self.program.with_name("report.json")
        words = [TOPRUN, "--nnodes", str(HOSTS), "--nproc-per-node", str(RANKS // HOSTS), "--rdzv-backend", "c10d",
                 "--rdzv-endpoint", f"n0:{PORT}", "--hang-timeout", str(T_S), "--on-hang", "abort", *options]
        env = {"PYTHON_EXEC": support.python(), "OMP_NUM_THREADS": "1", **self.START}
        runs = [self.start(f"n{i}", *words, *(["--report", report] if i == 0 else []), self.program, env=env)
                for i in range(HOSTS)]
        self.finished = [one.wait(120) for one in runs]
        self.assertEqual([one.code for one in self.finished], [1, 1], self.finished)
        hang = json.loads(report.read_text())["attempts"][0]["hang"]
        self.assertIsNotNone(hang, self.finished)
        return hang


# What a rank with NCCL does, as far as it can be seen from outside: its watchdog makes the named pipe, looks at it
# once a second, and writes the dump of the flight recorder. All wait in the same call by their stacks.
RECORDS = """\
import os, pathlib, pickle, threading, time
import torch, torch.distributed as dist
rank, world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
pipe = os.environ["TORCH_NCCL_DEBUG_INFO_PIPE_FILE"] + str(rank) + ".pipe"
ODD = "CASE"

def dump():
    calls = 4 if rank == 3 else 5
    entries = [{"process_group": ("0", "default_pg"), "collective_seq_id": i, "profiling_name": "nccl:all_reduce",
                "input_sizes": [[4]], "output_sizes": [[4]], "input_dtypes": ["Float"], "output_dtypes": ["Float"],
                "state": "completed" if i < 5 else "scheduled", "retired": i < 5, "is_p2p": False,
                "frames": []} for i in range(1, calls + 1)]
    return {"version": "2.10", "entries": entries,
            "pg_config": {"0": {"name": "0", "desc": "default_pg", "ranks": str(list(range(world)))}},
            "pg_status": {"0": {"last_enqueued_collective": calls, "last_started_collective": 4,
                                "last_completed_collective": 4}}}

def dump_of_groups():
    # All calls in the ranks' own groups have ended; the default group's gather lacks rank 3, and its root alone has
    # outputs. Each process counts its groups for itself, so the groups of both pairs are its second.
    pair, calls = ("3", 9) if rank < 2 else ("4", 7)
    def entry(id, names, sequence, operation, outputs, state):
        return {"record_id": sequence - 1 if id else calls, "pg_id": id, "process_group": names,
                "collective_seq_id": sequence, "p2p_seq_id": 0, "profiling_name": operation, "input_sizes": [[4]], "output_sizes": outputs,
                "input_dtypes": ["Float"], "output_dtypes": ["Float"] * len(outputs), "state": state,
                "retired": state == "completed", "is_p2p": False, "frames": []}
    entries = [entry(1, (pair, "tp"), i, "nccl:all_reduce", [[4]], "completed") for i in range(1, calls + 1)]
    status = {"1": {"last_enqueued_collective": calls, "last_started_collective": calls,
                    "last_completed_collective": calls}}
    if rank != 3:
        entries.append(entry(0, ("0", "default_pg"), 1, "nccl:gather", [] if rank else [[4]] * world, "scheduled"))
        status["0"] = {"last_enqueued_collective": 1, "last_started_collective": -1, "last_completed_collective": -1}
    return {"version": "2.10", "entries": entries, "pg_status": status,
            "pg_config": {"0": {"name": "0", "desc": "default_pg", "ranks": str(list(range(world)))},
                          pair: {"name": pair, "desc": "tp", "ranks": "[0, 1]" if rank < 2 else "[2, 3]"}}}

class Evil:
    def __reduce__(self):
        return pathlib.Path.touch, (pathlib.Path(__file__).with_name("touched"),)

def watches():
    while not os.read(fifo, 128):
        time.sleep(1)
    whole = pickle.dumps(dump_of_groups() if ODD == "groups" else dump(), protocol=2)
    if ODD == "hostile" and rank == 1:
        whole = pickle.dumps(Evil(), protocol=2)
    if ODD == "cut off" and rank == 2:
        whole = whole[:-20]
    pathlib.Path(os.environ["TORCH_FR_DUMP_TEMP_FILE"] + str(rank)).write_bytes(whole)

os.mkfifo(pipe, 0o666)
fifo = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
threading.Thread(target=watches, daemon=True).start()
dist.init_process_group("gloo")
dist.barrier()
dist.recv(torch.ones(1), (rank + 1) % world)
"""


class Recorders(Hanging):
    def hang_of(self, case):
        self.logs = self.folder()
        hang = super().hang_of(RECORDS.replace("CASE", case), "--rdzv-id", "mine", "--log-dir", self.logs)
        self.assertFalse(self.program.with_name("touched").exists())
        return hang

    def test_they_name_whom_the_stacks_do_not(self):
        hang = self.hang_of("none")
        text = "default_pg: rank 3 never came to call 5 (nccl:all_reduce), in which the others wait"
        self.assertEqual(hang["what"], text)
        self.assertEqual(hang["suspects"], [{"rank": 3, "node": "n1"}])
        self.assertEqual(hang["evidence"], [{"source": "flight_recorder", "kind": "behind", "group": "default_pg",
                                             "ranks": "3", "text": text}])
        self.assertIn(f"flight recorder: {text}", self.finished[0].err)
        dumps, = self.logs.glob("*_dumps")
        self.assertEqual(dumps.name, "mine_attempt_0_dumps")
        self.assertEqual(len(list(dumps.iterdir())), RANKS)
        self.assert_ok(self.run_to_end(TOPRUN, "stacks", "--dumps", dumps))

    def test_groups_of_some_ranks_and_a_gather_accuse_none_else(self):
        hang = self.hang_of("groups")
        text = "default_pg: rank 3 never came to call 1 (nccl:gather), in which the others wait"
        self.assertEqual(hang["what"], text)
        self.assertEqual(hang["suspects"], [{"rank": 3, "node": "n1"}])
        self.assertEqual([one["text"] for one in hang["evidence"]], [text])

    def test_dumps_that_are_cut_off_or_hostile(self):
        for case, silent in (("cut off", 2), ("hostile", 1)):
            with self.subTest(case):
                hang = self.hang_of(case)
                self.assertEqual(hang["suspects"], [{"rank": 3, "node": "n1"}])
                self.assertEqual([one["text"] for one in hang["evidence"]][1:], [f"no dump of rank {silent}"])


# What NCCL's RAS thread does on each node, by its source: it answers line by line, and then ends the connection.
RAS = """\
import json, os, socketserver, threading
import torch, torch.distributed as dist
rank, world, CASE = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"]), "ODD"

def told(number, reduces):
    return {"rank": number, "host": "10.0.0.1", "pid": pids[number], "cuda_dev": 0, "nvml_dev": 0,
            "status": {"init_state": 0, "async_error": 0, "finalize_called": False, "destroy_flag": False,
                       "abort_flag": False},
            "collective_counts": {"Broadcast": 1, "AllReduce": reduces}}

class Answers(socketserver.StreamRequestHandler):
    def handle(self):
        for line in self.rfile:
            line = line.decode().strip()
            if line == "VERBOSE STATUS":
                break
            self.wfile.write(b"SERVER PROTOCOL 3\\n" if line.startswith("CLIENT PROTOCOL ") else
                             b"OK\\n" if line == "SET FORMAT json" or line.startswith("TIMEOUT ") else b"ERROR\\n")
        ranks = [told(i, 4 if i == 2 else 5) for i in range(world)]
        if CASE == "another job":
            ranks = [dict(one, pid=1) for one in ranks]
        text = json.dumps({"nccl_version": "2.29.2", "communicators_count": 1, "communicators": [
            {"hash": "0x9e37", "secondary_hash": "0x1:0x2", "size": world, "ranks_count": world,
             "missing_ranks_count": 0, "ranks": ranks, "missing_ranks": []}], "ras": {"timeouts_count": 0}}, indent=2)
        self.wfile.write(text.encode()[:-5 if CASE == "cut off" else None] + b"\\n")

dist.init_process_group("gloo")
pids = [None] * world
dist.all_gather_object(pids, os.getpid())
if rank == 0:
    socketserver.ThreadingTCPServer.allow_reuse_address = True
    server = socketserver.ThreadingTCPServer(("127.0.0.1", 28028), Answers)
    threading.Thread(target=server.serve_forever, daemon=True).start()
dist.barrier()
dist.recv(torch.ones(1), (rank + 1) % world)
"""


class Ras(Hanging):
    START = support.WARM

    def hang_of(self, case):
        return super().hang_of(RAS.replace("ODD", case))

    def test_nccl_names_whom_the_stacks_do_not(self):
        hang = self.hang_of("none")
        text = "communicator 0x9e37 of 4 ranks: rank 2 called AllReduce 4 times, the others 5"
        self.assertEqual([hang["what"], hang["suspects"]], [text, [{"rank": 2, "node": "n1"}]])
        self.assertEqual(hang["evidence"], [{"source": "nccl", "kind": "behind", "group": "0x9e37", "ranks": "2",
                                             "text": text}])

    def test_another_job_s_nccl_and_an_answer_that_is_cut_off(self):
        for case in ("another job", "cut off"):
            with self.subTest(case):
                hang = self.hang_of(case)
                self.assertEqual([hang["suspects"], hang["evidence"]], [[], []])


# Rank 1 cannot be looked at: only a privilege that this run lacks could.
UNREADABLE = """\
import ctypes, os, time
import torch.distributed as dist
if os.environ["RANK"] == "1":
    ctypes.CDLL(None).prctl(4, 0)  # PR_SET_DUMPABLE

def lost():
    time.sleep(600)

dist.init_process_group("gloo")
dist.barrier()
if os.environ["RANK"] == "1":
    lost()
dist.barrier()
"""


class LastAct(support.TestCase):
    def test_a_rank_that_cannot_be_read_prints_its_line(self):
        support.needs_root()
        program = self.folder() / "train.py"
        program.write_text(UNREADABLE)
        report = program.with_name("report.json")
        run = self.begin("setpriv", "--bounding-set=-sys_ptrace", "--inh-caps=-sys_ptrace", TOPRUN, "--nproc-per-node", 2,
                         "--hang-timeout", str(T_S), "--on-hang", "abort", "--report", report, program,
                         env={"PYTHON_EXEC": support.python(), "OMP_NUM_THREADS": "1"}, cwd=program.parent)
        finished = run.wait(120)
        self.assertEqual(finished.code, 1, finished)
        self.assertIn("Fatal Python error: Aborted", finished.err)
        self.assertIn(f'File "{program}", line 7 in lost', finished.err)
        hang = json.loads(report.read_text())["attempts"][0]["hang"]
        self.assertEqual([one["rank"] for one in hang["suspects"]], [1])
        self.assertFalse(list(program.parent.glob("core*")))


class InSlurm(cluster.SlurmCase):
    UP = ("--hosts", "2", "--racks", "1", "--slurm")

    def test_stacks_and_top_from_the_login_host(self):
        """Its runtime folder is not the root agent's, so the verbs go there by a step of the job's."""
        self.assert_ok(self.on("n0", "sh", "-c", "mkdir -p /run/user && mount -t tmpfs none /run/user && "
                                                 "mkdir -m 700 /run/user/0"))
        program = self.folder() / "waits.py"
        program.write_text("import os, pathlib, time\n"
                           "here = pathlib.Path(__file__).parent\n(here / os.environ['RANK']).touch()\n"
                           "while not (here / 'end').exists():\n    time.sleep(1)\n")
        run = self.start("ctl", "srun", "-N2", TOPRUN, "--nproc-per-node", "1", program)
        support.wait_until(lambda: all(program.with_name(rank).exists() for rank in "01"), 60, "the ranks run")
        job = self.login("squeue", "--noheader", "--format", "%i").out.strip()
        asked = self.login(TOPRUN, "stacks", job)
        self.assert_ok(asked)
        self.assertEqual(asked.out, f"ranks 0-1: sleep at waits.py:5 in <module>\n    <module>, {program}:5\n")
        asked = self.login(TOPRUN, "top", job)
        self.assert_ok(asked)
        self.assertIn("2 nodes | 2 ranks: 2 run", asked.out)
        pictures = self.start("ctl", TOPRUN, "top", "--json", job)
        pictures.prints(r"\n[^\n]*\n")  # two of them
        screen = self.start("ctl", "script", "-qfc", f"stty cols 80 rows 24; {TOPRUN} top {job}", "/dev/null",
                            env={"TERM": "xterm"})
        screen.prints("rank 1 .*runs")
        program.with_name("end").touch()
        self.assert_ok(run.wait(60))
        self.assertIn("2 ranks: 2 done", screen.wait(60).out)
        codes = [json.loads(line)["job"]["exit_code"] for line in pictures.wait(60).out.strip().split("\n")]
        self.assertEqual(codes, [None] * (len(codes) - 1) + [0])
        self.assert_one_line(self.login(TOPRUN, "stacks", job), f".*job {job} are: the job is not running: .*; .*")

    def test_a_task_of_an_array_and_what_cannot_be_asked(self):
        folder = self.folder()
        if "tmpfs" not in self.on("n0", "sh", "-c", "grep ' /run/user ' /proc/mounts || true").out:
            self.assert_ok(self.on("n0", "sh", "-c", "mkdir -p /run/user && mount -t tmpfs none /run/user && "
                                                     "mkdir -m 700 /run/user/0"))

        def submitted(*words):
            finished = self.login("sbatch", "--parsable", "-w", "n0", "-o", "/dev/null", *words, cwd=folder)
            self.assert_ok(finished)
            return finished.out.strip()

        array = submitted("-a", "0-1", "--wrap", f"{TOPRUN} --nproc-per-node 1 --no-python sleep 100")
        plain, ended = submitted("--wrap", "sleep 100"), submitted("--wrap", "exit 3")
        cluster.wait_for(lambda: self.login(TOPRUN, "stacks", f"{array}_0").out == "rank 0 on n0: sleeps\n",
                         "the task of the array can be asked", 30)
        for task in f"{array}_0", f"{array}_1":
            shown = self.login(TOPRUN, "top", task).out
            self.assertRegex(shown, rf"^sleep \({task}\) \| running \| .*1 rank: 1 runs")
        for where in "ctl", "n0":  # the last task has the array's number
            for verb, what in (("top", f"look at job {array}"), ("stacks", f"tell where the ranks of job {array} are")):
                finished = self.begin(*self.cluster.on(where, TOPRUN, verb, array)).wait(60)
                self.assertEqual(finished.code, 2, finished)
                self.assert_one_line(finished, f".*cannot {what}: 2 of its tasks run; name one task: {array}_0, {array}_1")
        listed = self.begin(*self.cluster.on("n0", TOPRUN, "top")).wait(60)
        for task in f"{array}_0", f"{array}_1":
            self.assertRegex(listed.err, rf"\d+ of your jobs run on this host: .*\b{task} \(sleep, .*; name one job")
        says = rf"job {plain} does not run toprun, as far as n0 shows: the job has no root agent on that node"
        self.assert_one_line(self.login(TOPRUN, "stacks", plain), rf".*cannot tell where .* job {plain} are: {says}")
        self.assert_one_line(self.login(TOPRUN, "top", plain), f".*{says}")
        cluster.wait_for(lambda: "FAILED" in self.login(TOPRUN, "status", ended).out, "it has ended", 30)
        for verb in "stacks", "top":
            self.assert_one_line(self.login(TOPRUN, verb, ended), rf".*job {ended}( are)?: the job is not running: failed, "
                                                                  rf"exit code 3; toprun status {ended} shows more")
        forgotten = folder / "logs" / "999997"
        forgotten.mkdir(parents=True)
        (forgotten / "report.json").write_text(json.dumps({"schema": "toprun.report/1", "exit_code": 3, "attempts": []}))
        self.assert_one_line(self.login(TOPRUN, "stacks", "999997", cwd=folder),
                             r".*job 999997 are: failed, exit code 3 .*has forgotten it\)")
        self.assertRegex(self.login(TOPRUN, "top", "999997", cwd=folder).out,
                         r"\Ajob 999997 \| ended with 3\nthe job has ended: failed, exit code 3; ")
        self.assert_ok(self.login("scancel", array, plain))


if __name__ == "__main__":
    unittest.main()
