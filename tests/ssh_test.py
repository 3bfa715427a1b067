# ctest: TIMEOUT 300 LABELS cluster
"""toprun --hosts over a real sshd on each of four virtual hosts in two racks; the launcher is on a
fifth, ctl, unless a case says otherwise."""

import json
import os
import pathlib
import re
import shlex
import shutil
import signal
import time
import unittest

import cluster
import support
from cluster import column, shown, shows
from ssh_cases import SshCase

TOPRUN = support.TOPRUN
HOSTS = ["n0", "n1", "n2", "n3"]
CONNECTS = "exec 3<>/dev/tcp/$MASTER_ADDR/$MASTER_PORT && echo connected"
NAMED_WITHIN_S = 10.0  # a dead host
JOB_PORT = 29500

ALL_REDUCE = """\
import os, torch, torch.distributed as dist
dist.init_process_group("gloo")
value = torch.tensor([float(dist.get_rank() + 1)])
dist.all_reduce(value)
print(f"rank {dist.get_rank()} of {dist.get_world_size()}: {value.item():g}")
dist.destroy_process_group()
"""


class Ssh(SshCase):
    UP = ("--hosts", "4", "--racks", "2")
    HOSTS = HOSTS

    def environment(self, **more):
        return {"TOPRUN_SSH": self.daemons.ssh(), **more}

    def launch(self, *words, host="ctl", env=None, **options):
        """Runs toprun on a host to its end; nothing may be left on any."""
        return self.on(host, TOPRUN, *words, env=self.environment(**(env or {})), **options)

    def launching(self, *words, host="ctl"):
        return self.start(host, TOPRUN, *words, env=self.environment())

    def running(self, folder, count, *words):
        """A job whose `count` workers all run."""
        run = self.launching(*words, *shows("RANK", then=f"touch {folder}/$RANK; {support.OBEDIENT}"))
        self.wait_for_files(folder, count)
        return run

    def launcher(self, run):
        return next(pid for pid, line in run.processes().items()
                    if line.startswith(f"{TOPRUN} --hosts"))

    def assert_failed(self, finished, code, *texts):
        self.assertEqual(finished.code, code, finished)
        for text in texts:
            self.assertIn(text, finished.err)

    def host_file(self, text):
        path = self.folder() / "hosts"
        path.write_text(text)
        return path

    # What a job gets.

    def test_the_launchers_terminal_shows_colours(self):
        support.needs_program("script")
        line = shlex.join([TOPRUN, "--hosts", "n0", "--no-python", "sh", "-c", "env | grep COLOURS; exit 7"])
        for more, words in (({"TERM": "xterm"}, "\x1b[1;31mtoprun: rank 0 on n0 ended with exit code 7\x1b[0m"),
                            ({"TERM": "xterm", "NO_COLOR": "1"}, "toprun: rank 0 on n0 ended with exit code 7\r\n")):
            with self.subTest(more):
                finished = self.on("ctl", "script", "-qec", line, "/dev/null", env=self.environment(**more))
                self.assertIn(words, finished.out)
                self.assertNotIn("COLOURS", finished.out)  # it is no rank's
        self.assertNotIn("\x1b", self.launch("--hosts", "n0", "--no-python", "false").err)

    def test_one_agent_per_host(self):
        finished = self.launch("--hosts", "n0:2,n[1-2]", *shows(
            "RANK", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "WORLD_SIZE", "TOPRUN_NODE_NAME", "ON_HOST",
            "MASTER_ADDR", "TOPRUN_SECRET", "TOPRUN_STEP", "TOPRUN_LOGIN_NODES", then=CONNECTS))
        self.assert_ok(finished)
        rows = shown(finished.out)
        self.assertEqual(column(rows, "RANK"), ["0", "1", "2", "3"])
        self.assertEqual(column(rows, "TOPRUN_NODE_NAME"), ["n0", "n0", "n1", "n2"])
        self.assertEqual(column(rows, "ON_HOST"), ["n0", "n0", "n1", "n2"])
        self.assertEqual(column(rows, "LOCAL_WORLD_SIZE"), ["2", "2", "1", "1"])
        same = {"WORLD_SIZE": "4", "MASTER_ADDR": "10.77.0.1", "TOPRUN_SECRET": "unset",
                "TOPRUN_STEP": "unset", "TOPRUN_LOGIN_NODES": "unset"}
        for row in rows:
            self.assertEqual({name: row[name] for name in same}, same)
        self.assertEqual(finished.out.count("connected"), 4)
        self.assertRegex(finished.err, r"4 ranks on 3 nodes, all ended with 0\n\Z")

    def test_a_bench_started_elsewhere(self):
        """The program of its backend comes along, and what rank 0 writes is named with its host."""
        folder = self.folder()
        words = ["bench", "all_reduce", "-b", "1M", "-n", "2", "--hosts", "n[0-1]", "-J", folder / "res.json",
                 "--plot", folder / "res.svg", "--history"]
        has_gloo = os.access(pathlib.Path(TOPRUN).with_name("toprun-bench-gloo"), os.X_OK)
        # From n1, the root agent is there, and rank 0 is not.
        for backend, host in (("gloo" if has_gloo else "tcp", "n1"), ("gloo" if has_gloo else "tcp", "ctl"),
                              ("tcp", "n0")):
            with self.subTest(backend, host=host):
                line = shlex.join(map(str, [TOPRUN, *words, "--backend", backend]))
                # The virtual hosts share this machine's name.
                own_name = ["unshare", "--uts", "sh", "-c", f"hostname {host}; exec {line}"]
                here = ["sh", "-c", f"exec {line}"]
                finished = self.on(host, *(here if host == "n0" else own_name), env=self.environment())
                self.assert_ok(finished)
                where = "" if host == "n0" else " on n0"
                for line in (f"wrote {folder}/res.json{where}", f"wrote {folder}/res.svg{where}",
                             f"jsonl{where}"):
                    self.assertRegex(finished.err, rf"(?m){re.escape(line)}$")
                result = json.loads((folder / "res.json").read_text())["results"][0]
                self.assertEqual((result["backend"], result["order"]), (backend, "given"))

    def test_a_program_that_is_too_large_to_be_sent(self):
        folder = self.folder()
        toprun, program = folder / "toprun", folder / "toprun-bench-gloo"
        shutil.copy(TOPRUN, toprun)
        program.write_bytes(bytes(9 << 20))
        program.chmod(0o755)
        line = shlex.join(map(str, [toprun, "bench", "all_reduce", "--hosts", "n[0-1]", "--backend", "gloo"]))
        finished = self.on("ctl", "unshare", "--uts", "sh", "-c", f"hostname ctl; exec {line}", env=self.environment())
        # Hosts to which another case has sent the program still have it.
        self.assertIn(f"warning: cannot read {program}: the file is larger than 8388608 bytes; other hosts do not get "
                      "it (if it is larger than 8 MiB, strip it)\n", finished.err)

    def test_host_files_and_orders(self):
        racks = self.folder() / "racks"
        racks.write_text("n0 /c/a/x\nn1 /c/b/x\nn2 /c/a/y\n")
        listed = self.host_file("# two forms\nn2 slots=2 max_slots=4\nroot@n0\n\nn1:1 rack=7\n")
        for order, expected in [([], ["n2", "n2", "n0", "n1"]),
                                (["--order", "name"], ["n0", "n1", "n2", "n2"]),
                                (["--topology", racks], ["n0", "n2", "n2", "n1"])]:
            with self.subTest(order):
                finished = self.launch("--hostfile", listed, *order,
                                       *shows("RANK", "TOPRUN_NODE_NAME", then=CONNECTS))
                self.assert_ok(finished)
                self.assertEqual(column(shown(finished.out), "TOPRUN_NODE_NAME"), expected)
                self.assertEqual(finished.out.count("connected"), 4)
                self.assertIn(f'{listed}:5: "rack=7" is ignored', finished.err)

    def test_an_all_reduce_of_pytorch(self):
        script = self.folder() / "train.py"
        script.write_text(ALL_REDUCE)
        finished = self.launch("--hosts", "n[0-2]", script, limit=120,
                               env={"PYTHON_EXEC": support.python()})
        self.assert_ok(finished)
        self.assertEqual(sorted(finished.out.split("\n")[:3]),
                         [f"rank {rank} of 3: 6" for rank in range(3)])

    def test_variables_of_options_and_of_the_user_reach_the_hosts(self):
        finished = self.launch("--hosts", "n[0-1]", "-e", "MINE", "-e", "YOURS=y z",
                               *shows("RANK", "MINE", then='echo "[$YOURS]"'),
                               env={"MINE": "1", "PET_NPROC_PER_NODE": "2"})
        self.assert_ok(finished)
        self.assertEqual(column(shown(finished.out), "RANK"), ["0", "1", "2", "3"])
        self.assertEqual(set(column(shown(finished.out), "MINE")), {"1"})
        self.assertEqual(finished.out.count("[y z]"), 4)

    def test_a_running_job_is_asked_by_ssh(self):
        self.assert_ok(self.on("n0", "sh", "-c", "mkdir -p /run/user && mount -t tmpfs none /run/user && "
                                                 "mkdir -m 700 /run/user/0"))
        report = self.folder() / "report.json"
        run = self.running(self.folder(), 2, "--hosts", "n[0-1]", "--report", report)
        cluster.wait_for(lambda: report.exists() and '"nodes":[{' in report.read_text().replace(" ", "").replace("\n", ""),
                         "a report of the ranks")
        # Both sleep, once each has come to it.
        cluster.wait_for(lambda: "ranks 0-1" in self.launch_verb("stacks", report).out, "one line for both ranks")
        asked = self.launch_verb("top", report)
        self.assert_ok(asked)
        self.assertIn("2 nodes | 2 ranks: 2 run", asked.out)
        run.signal(signal.SIGINT)
        self.assertEqual(run.wait(60).code, 130)
        self.assert_one_line(self.launch_verb("stacks", report), "cannot ask the job of .*: the job has ended; toprun status .* shows how")
        self.assertRegex(self.launch_verb("top", report).out, r"\nthe job has ended: interrupted by SIGINT, exit code 130; this is its last state")

    def launch_verb(self, *words):
        return self.on("ctl", TOPRUN, *words, env=self.environment())

    def test_what_agents_get_of_the_launchers_environment(self):
        finished = self.launch("--hosts", "n0", *shows("RANK", "NCCL_DEBUG", "http_proxy", "MINE"),
                               env={"NCCL_DEBUG": "INFO", "http_proxy": "http://p:3", "MINE": "1"})
        self.assert_ok(finished)
        self.assertEqual(shown(finished.out), [{"RANK": "0", "NCCL_DEBUG": "INFO",
                                                "http_proxy": "http://p:3", "MINE": "unset"}])

    def test_nothing_but_ssh_is_needed_on_the_launching_host(self):
        """/media on the hosts holds the program, the launcher has none."""
        for host in HOSTS[:2]:
            made = self.begin(*self.cluster.on(
                host, "sh", "-c", "mount -t tmpfs tmpfs /media && cp /bin/echo /media/program"))
            self.assert_ok(made.wait(20))
        finished = self.launch("--hosts", "n[0-1]", "--no-python", "/media/program", "hello")
        self.assert_ok(finished)
        self.assertEqual(finished.out, "hello\n" * 2)
        finished = self.launch("--hosts", "n[0-2]", "--no-python", "/media/program", "hello")
        self.assert_failed(finished, 2, "n2: program /media/program: No such file or directory")
        self.assertEqual(finished.out, "")

    def test_a_working_directory_that_a_host_lacks(self):
        done = self.begin(*self.cluster.on("ctl", "sh", "-c", "mount -t tmpfs tmpfs /srv && "
                                           f"mkdir /srv/mine && cd /srv/mine && {TOPRUN} --hosts "
                                           "n0 --no-python true"), env=self.environment()).wait(60)
        self.assert_failed(done, 1, "working directory /srv/mine on host n0")

    def test_a_script_that_one_host_lacks(self):
        script = self.folder() / "t.py"
        script.write_text("#!/bin/sh\nsleep 30\n")
        script.chmod(0o755)
        self.assert_ok(self.on("n1", "mount", "-t", "tmpfs", "tmpfs", script.parent))
        self.addCleanup(self.on, "n1", "umount", script.parent)
        for words in ([script], ["--no-python", script]):
            with self.subTest(words):
                finished = self.launch("--hosts", "n[0-2]", *words)
                self.assert_failed(finished, 2)
                self.assertRegex(finished.err, rf"no rank started: (n1: )?\w+ {script}.*No such file or directory, exit code 2\n\Z")
        script.write_text("")
        elastic = self.launch("--hosts", "n[0-2]", "--nnodes", "1:3", script, env={"PYTHON_EXEC": "/bin/true"})
        self.assert_ok(elastic)
        self.assertIn("No such file or directory; check the path; the job goes on without it", elastic.err)
        self.assertRegex(elastic.err, r"2 ranks on 2 nodes, all ended with 0")

    def test_this_host_needs_no_ssh(self):
        finished = self.launch("-v", "--hosts", "n1,n0,n2", *shows(
            "RANK", "TOPRUN_NODE_NAME", "ON_HOST", then=CONNECTS), host="n0")
        self.assert_ok(finished)
        rows = shown(finished.out)
        self.assertEqual(column(rows, "TOPRUN_NODE_NAME"), ["n1", "n0", "n2"])
        self.assertEqual(column(rows, "ON_HOST"), ["n1", "unset", "n2"])
        self.assertEqual(finished.out.count("connected"), 3)
        self.assertIn("n0 is this host: its agent starts without ssh", finished.err)

    def logging_ssh(self):
        """An ssh that writes its words to a file, one JSON list a line, and to another each what
        comes on its standard input."""
        folder = self.folder()
        program = folder / "ssh"
        program.write_text(f"""#!/usr/bin/env python3
import json, os, sys
with open('{folder}/log', 'a') as log:
    log.write(json.dumps(sys.argv) + '\\n')
os.execvp('bash', ['bash', '-c', 'exec ssh "$@" < <(exec tee {folder}/input.$$)', 'ssh',
                   '-F', '{self.daemons.config}'] + sys.argv[1:])
""")
        program.chmod(0o755)
        return program, folder / "log"

    def orders_in(self, text):
        """The orders that an agent got, maybe behind the program, and the lines behind them."""
        size, rest = re.search(rb"orders (\d+)\n(\{.*)", text, re.S).groups()
        return json.loads(rest[:int(size)]), rest[int(size):].decode().splitlines()

    def test_verbose_lines_agree_and_name_their_host(self):
        finished = self.launch("-v", "--hosts", "n[0-1]", "--no-python", "true", host="n0")
        self.assert_ok(finished)
        self.assertIn("toprun: n0 is this host: its agent starts without ssh\n", finished.err)
        self.assertIn("toprun: logging in to 1 host by ssh\n", finished.err)
        self.assertNotIn("started by ssh", finished.err)
        settings = [line for line in finished.err.splitlines() if " not changed: " in line]
        for host in ("n0", "n1"):
            self.assertTrue(any(line.startswith(f"toprun: {host}: NCCL_") for line in settings), finished)
        for line in settings:
            self.assertRegex(line, r"\Atoprun: n[01]: ")
        self.assertEqual(finished.err.count("agents trust each other"), 1, finished)

    def test_the_dry_run_is_short(self):
        dry = self.on("n0", TOPRUN, "--dry-run", "--hosts", "n[0-1]", "--no-python", "true")
        self.assert_ok(dry)
        self.assertRegex(dry.out, r"(?m)^agents +ssh .* -- n1 SCRIPT <<< ORDERS$")
        self.assertRegex(dry.out, r"(?m)^SCRIPT +a shell script of \d+ bytes, .*; -v shows the script$")
        self.assertLess(max(map(len, dry.out.splitlines())), 1_000)

    def test_the_dry_run_is_what_is_run(self):
        program, log = self.logging_ssh()
        env = {"TOPRUN_SSH": str(program), "WANDB_API_KEY": "hidden"}
        words = ["-v", "--hosts", "n[0-1],root@n2", "--no-python", "true"]
        dry = self.on("ctl", TOPRUN, "--dry-run", *words, env=env)
        self.assert_ok(dry)
        self.assertFalse(log.exists())
        self.assertIn("secret <secret>", dry.out)
        self.assertNotIn("hidden", dry.out)
        promised = [shlex.split(line.split(maxsplit=1)[1].removesuffix(" <<< ORDERS"))
                    for line in dry.out.splitlines() if line.startswith("agents")]
        written = re.search(r"(?m)^ORDERS +(.*) secret <secret>$", dry.out)[1]
        promised_orders = json.loads(written)
        self.assertEqual(promised_orders["argv"].count("--dry-run"), 0)
        for _ in range(2):  # with the program in the caches and without: the same line
            log.unlink(missing_ok=True)
            self.assert_ok(self.on("ctl", TOPRUN, *words, env=env))
            done = [json.loads(line) for line in log.read_text().splitlines()]
            self.assertEqual(sorted(done), sorted(promised))  # one login per host, no more
            self.assertNotIn("secret ", log.read_text())
            inputs = list(log.parent.glob("input.*"))
            self.assertEqual(len(inputs), 3)
            for path in inputs:
                orders, lines = self.orders_in(path.read_bytes())
                path.unlink()
                self.assert_as_promised(orders, promised_orders)
                self.assertRegex(lines[0], r"\Asecret [0-9a-f]{64}\Z")
                self.assertEqual(set(lines[1:]), {"beat"})

    def test_the_dry_run_says_how_many_processes(self):
        for words, said in [
            (["n0,n1"], "one per GPU of the node, or one if the node has no GPU"),
            (["n0,n1", "--nproc-per-node", "4"], "4 per node (--nproc-per-node)"),
            (["n0,n1", "--nproc-per-node", "gpu"], "--nproc-per-node gpu, counted on each node"),
            (["n0:2,n1:2,n2:3"], "2 on n[0-1], 3 on n2 (the list of hosts)"),
            (["n0:2,n1"], "2 on n0 (the list of hosts), else one per GPU of the node, or one if the node has no GPU"),
        ]:
            with self.subTest(words):
                dry = self.on("ctl", TOPRUN, "--dry-run", "--hosts", *words, "--no-python", "true")
                self.assert_ok(dry)
                self.assertEqual(re.search(r"(?m)^processes +(.*)$", dry.out)[1], said)

    def assert_as_promised(self, orders, promised):
        """Equal, but for what the dry run hides and what only the logins tell."""
        self.assertEqual((orders["argv"], orders["directory"]),
                         (promised["argv"], promised["directory"]))
        self.assertEqual(sorted(orders["variables"]), sorted(promised["variables"]))
        for name, value in promised["variables"].items():
            if value == "…":
                self.assertRegex(name, r"\ATOPRUN_LOGIN_(JOB|NODES|NODE|ROOT|ROOT_ADDRESS|ENGINE)\Z")
            elif value == "<secret>":
                self.assertEqual((name, orders["variables"][name]), ("WANDB_API_KEY", "hidden"))
            else:
                self.assertEqual(orders["variables"][name], value)

    def test_another_user_s_program_plays_the_root(self):
        pretender = self.folder() / "pretender.py"
        pretender.write_text(cluster.PRETENDER)
        for answer in cluster.PRETENDED:
            with self.subTest(answer):
                listening = self.folder()
                pretenders = [self.start(host, "python3", pretender, JOB_PORT, listening, answer)
                              for host in HOSTS]
                self.wait_for_files(listening, len(HOSTS))
                finished = self.launch("--hosts", "n[0-3]", *shows("RANK", "MASTER_PORT"))
                for one in pretenders:
                    one.kill_all()
                self.assert_ok(finished)
                rows = shown(finished.out)
                self.assertEqual(column(rows, "RANK"), list("0123"))
                self.assertEqual(rows[0]["MASTER_PORT"], str(JOB_PORT + 1))

    # Ends.

    def test_exit_codes_and_the_report(self):
        for ending, code, said in [("exit 7", 7, "ended with exit code 7"),
                                   ("exit 255", 255, "ended with exit code 255"),
                                   ("kill -KILL $$", 137, "SIGKILL")]:
            with self.subTest(ending):
                finished = self.launch("--hosts", "n[0-2]", *shows(
                    "RANK", then=f"if test $RANK = 1; then echo a last word >&2; {ending}; fi; "
                                 "exec sleep 50"))
                self.assert_failed(finished, code, "rank 1 on n1", said, "a last word")
                self.assertLess(finished.seconds, 30)
                self.assertNotIn("lost the connection", finished.err)
                self.assertNotIn("toprun-login", finished.err + finished.out)

    def test_the_launcher_is_told_to_end(self):
        for number, code in [(signal.SIGINT, 130), (signal.SIGTERM, 143)]:
            with self.subTest(number):
                run = self.running(self.folder(), 3, "--hosts", "n[0-2]")
                os.kill(self.launcher(run), number)
                finished = run.wait(40)
                self.assertEqual(finished.code, code, finished)
                self.assert_nothing_left(run)

    def test_ctrl_z_stops_the_workers_on_all_hosts(self):
        run = self.running(self.folder(), 2, "--hosts", "n[0-1]")
        launcher = self.launcher(run)
        shells = lambda: [pid for pid, line in run.processes().items() if line.startswith("bash -c echo")]
        workers = []
        # A shell that is about to become `sleep` looks like another worker.
        cluster.wait_for(lambda: workers.extend(shells()) or len(workers) == 2 or workers.clear(),
                         "two workers")
        stopped = lambda: [support.state_of(pid) == "T" for pid in workers]
        os.kill(launcher, signal.SIGTSTP)
        cluster.wait_for(lambda: all(stopped()), "the workers stop", 10)
        cluster.wait_for(lambda: support.state_of(launcher) == "T", "the launcher stops", 10)
        os.kill(launcher, signal.SIGCONT)
        cluster.wait_for(lambda: not any(stopped()), "the workers go on", 10)
        os.kill(launcher, signal.SIGINT)
        self.assertEqual(run.wait(40).code, 130)
        self.assert_nothing_left(run)

    def test_the_third_signal_breaks_the_connections(self):
        folder = self.folder()
        run = self.launching("--hosts", "n[0-1]", *shows(
            "RANK", then=f"trap '' INT TERM; touch {folder}/$RANK; {support.OBEDIENT}"))
        self.wait_for_files(folder, 2)
        launcher = self.launcher(run)
        for _ in range(3):
            os.kill(launcher, signal.SIGINT)
            time.sleep(1.1)  # less is another delivery of the same
        self.assertNotEqual(run.wait(20).code, 0)
        self.assert_nothing_left(run)

    def test_the_launcher_is_killed(self):
        run = self.running(self.folder(), 3, "--hosts", "n[0-2]")
        os.kill(self.launcher(run), signal.SIGKILL)
        self.assert_nothing_left(run)

    def test_a_connection_is_cut(self):
        """By the end of the session's sshd, on a member's host and on the root's."""
        for host in ("n1", "n0"):
            with self.subTest(host):
                run = self.running(self.folder(), 3, "--hosts", "n[0-2]")
                for session in self.daemons.sessions(host):
                    os.kill(session, signal.SIGKILL)
                finished = run.wait(40)
                self.assert_failed(finished, 1, f"lost the connection to {host}")
                self.assert_nothing_left(run)

    def test_an_elastic_job_goes_on_without_a_host_that_is_lost(self):
        folder = self.folder()
        run = self.launching("--hosts", "n[0-2]", "--nnodes", "2:3", *shows(
            "RANK", then=f"touch {folder}/$TOPRUN_ATTEMPT.$RANK-of-$WORLD_SIZE; "
                         f"until [ -e {folder}/end ]; do sleep 0.1; done"))
        self.wait_for_files(folder, 3)
        for session in self.daemons.sessions("n1"):
            os.kill(session, signal.SIGKILL)
        cluster.wait_for(lambda: len(list(folder.glob("1.*-of-2"))) == 2, "two workers", 20)
        (folder / "end").touch()
        finished = run.wait(40)
        self.assert_ok(finished)
        self.assertIn("lost the connection to n1", finished.err)
        self.assertIn("2 ranks on 2 nodes, all ended with 0", finished.err)
        self.assert_nothing_left(run)

    def test_a_host_beyond_nnodes_takes_a_lost_one_s_turn(self):
        folder = self.folder()
        run = self.launching("--hosts", "n[0-2]", "--nnodes", "2", "--max-restarts", "1", *shows(
            "TOPRUN_NODE_NAME", then=f"touch {folder}/$TOPRUN_ATTEMPT.$RANK-of-$WORLD_SIZE-on-$TOPRUN_NODE_NAME; "
                                     f"until [ -e {folder}/end ]; do sleep 0.1; done"))
        self.wait_for_files(folder, 2)
        for session in self.daemons.sessions("n1"):
            os.kill(session, signal.SIGKILL)
        second = cluster.wait_for(lambda: len(found := sorted(folder.glob("1.*-of-2-*"))) == 2 and found, "two workers", 20)
        self.assertEqual([file.name for file in second], ["1.0-of-2-on-n0", "1.1-of-2-on-n2"])
        (folder / "end").touch()
        finished = run.wait(40)
        self.assert_ok(finished)
        self.assertIn("2 ranks on 2 nodes, all ended with 0 after 1 new attempt (n1 was lost)", finished.err)
        self.assert_nothing_left(run)

    def test_no_host_is_waited_for_that_cannot_come(self):
        """Each host has one login, which has ended: without a spare the job ends, or goes on with fewer, at once."""
        for options, end, advice in [
            (["--nnodes", "3", "--max-restarts", "1"], "without n2, 2 of the 3 nodes that the job needs are left",
             "--nnodes 2:3 lets the job go on with fewer hosts. One more host in --hosts or --hostfile with --nnodes "
             "3 keeps a spare host, which replaces a lost one"),
            (["--nnodes", "3:3", "--max-restarts", "1"], "without n2, 2 of the 3 nodes that the job needs are left",
             "--nnodes 2:3 lets the job go on with fewer hosts. One more host in --hosts or --hostfile with --nnodes "
             "3 keeps a spare host, which replaces a lost one"),
            (["--nnodes", "2:3"], "without n1, 1 of the 2 nodes that the job needs at least is left",
             "a smaller MIN than 2 in --nnodes lets the job go on with fewer hosts"),
        ]:
            with self.subTest(options):
                folder = self.folder()
                run = self.launching("--hosts", "n[0-2]", *options, *shows(
                    "RANK", then=f"touch {folder}/$TOPRUN_ATTEMPT.$RANK; exec sleep 120"))
                self.wait_for_files(folder, 3)
                began = time.monotonic()
                self.cut_session("n2")
                if options == ["--nnodes", "2:3"]:
                    self.wait_for_files(folder, 5)  # without a last call, which would take 30 s
                    self.assertLess(time.monotonic() - began, 15)
                    self.cut_session("n1")
                finished = run.wait(40)
                self.assert_failed(finished, 1, f"not restarted: {end}, and no other node can join", f"  next        {advice}\n")
                self.assertLess(time.monotonic() - began, 30)
                self.assert_nothing_left(run)

    def test_a_rank_fails_while_another_host_is_cut_off(self):
        """The job cannot go on for want of the host that is gone, not of the one where the rank failed."""
        for gone, code, told in (
                ("n1", 5, ("toprun: n1 was lost in the meantime: ",
                           "toprun: not restarted: without n1, 2 of the 3 nodes that the job needs are left, and no other node can join\n",
                           "toprun: rank 2 on n2 ended with exit code 5\n", ", rank 2 on n2 ended with exit code 5\n")),
                ("n0", 1, ("toprun: lost the connection to n0, where the job's root was\n", "the ranks on n[1-2] are ended too"))):
            with self.subTest(gone):
                folder = self.folder()
                run = self.launching("--hosts", "n[0-2]", "--max-restarts", "2", "--rdzv-conf",
                                     "keep_alive_interval=1,keep_alive_max_attempt=3", *shows(
                    "RANK", "TOPRUN_NODE_NAME",
                    then=f"touch {folder}/$RANK; until test -e {folder}/fail; do sleep 0.05; done; "
                         "test $TOPRUN_NODE_NAME != n2 || exit 5; exec sleep 100"))
                self.wait_for_files(folder, 3)
                self.cluster.cut(gone)
                try:
                    (folder / "fail").touch()
                    finished = run.wait(80)
                    self.assert_failed(finished, code, *told)
                    self.assertNotRegex(finished.err, r"without n2|restart \d of 2")
                    self.assert_nothing_left(run)
                finally:
                    self.cluster.join(gone)

    def cut_session(self, host):
        for session in self.daemons.sessions(host):
            os.kill(session, signal.SIGKILL)

    def test_a_host_is_cut_off_the_network(self):
        run = self.running(self.folder(), 3, "--hosts", "n[0-2]")
        self.cluster.cut("n2")
        try:
            finished = run.wait(60)
            self.assert_failed(finished, 1, "n2")
            self.assertRegex(finished.err.splitlines()[-1], r"^toprun: .* → .*, exit code 1$")  # not ssh's
            cluster.wait_for(lambda: not run.processes(), "the workers on n2 end", 20)
        finally:
            self.cluster.join("n2")

    def test_the_roots_host_dies(self):
        """The launcher closes the story that only the root could: which host, what of the others, a last line."""
        report = self.folder() / "report.json"
        run = self.running(self.folder(), 3, "--hosts", "n[0-2]", "--report", report)
        root = json.loads(report.read_text())["root"]["pid"]
        keeper = int(pathlib.Path(f"/proc/{root}/stat").read_text().rpartition(")")[2].split()[1])
        self.cluster.cut("n0")
        try:
            for pid in (keeper, root):
                os.kill(pid, signal.SIGKILL)
            finished = run.wait(60)
            self.assert_failed(finished, 1, "n1: lost the root agent at n0 (10.77.0.1): ",
                               "toprun: lost the connection to n0, where the job's root was\n",
                               "  others      the ranks on n[1-2] are ended too", "  next        ssh n0 true ")
            self.assertRegex(finished.err.splitlines()[-1],
                             r"^toprun: .* → .*: 3 hosts, lost the connection to n0, .*, exit code 1$")
            asked = self.launch_verb("status", report).out
            self.assertRegex(asked, r"was running when last reported at \S+ \S+; 3 ranks on 3 nodes\n")
            self.assertRegex(asked, r"\n  root       n0 cannot be asked: .*timed out")
        finally:
            self.cluster.join("n0")
        self.assertRegex(self.launch_verb("status", report).out,
                         rf"\n  root       process {root} of n0 does not run any more: ")

    def test_hosts_of_another_kind(self):
        """They get the program of their kind that lies beside the launcher's; without one, it is said which."""
        kind = "x86_64" if os.uname().machine == "aarch64" else "aarch64"
        folder, tools = self.folder(), self.folder()
        shutil.copy(support.binary(), folder / "toprun")
        (tools / "uname").write_text(f'#!/bin/sh\ntest "$*" = -m && echo {kind} || exec /usr/bin/uname "$@"\n')
        (tools / "uname").chmod(0o755)
        login_script = self.daemons.folder / "home/n1/.bashrc"
        login_script.write_text(f"PATH={tools}:$PATH\n")
        self.addCleanup(login_script.unlink)
        line = [folder / "toprun", "--hosts", "n[0-1]", "--no-python", "sh", "-c", "echo rank $RANK"]
        refused = self.on("ctl", *line, env=self.environment())
        self.assert_failed(refused, 1, f"no agent on n1: the host is a machine of the kind {kind}, and toprun has no program "
                           f"for it; put the toprun of {kind} beside this one, as {folder}/toprun-{kind}")
        shutil.copy(support.binary(), folder / f"toprun-{kind}")
        done = self.on("ctl", *line, env=self.environment())
        self.assert_ok(done)
        self.assertEqual(sorted(done.out.split("\n")), ["", "rank 0", "rank 1"])

    # Logins that fail.

    def test_a_dead_host(self):
        self.cluster.cut("n3")
        try:
            refused = self.launching("--hosts", "n[0-3]", *shows("RANK"))
            shrunk = self.launching("--hosts", "n[0-3]", "--nnodes", "2:4", *shows(
                "RANK", "WORLD_SIZE", "TOPRUN_NODE_NAME"))
            finished = refused.wait(40)
            self.assert_failed(finished, 1, "no agent on n3: ", "timed out",
                               "3 of 4 hosts answered: the job needs all nodes")
            self.assertEqual(shown(finished.out), [])
            self.assertLess(finished.seconds, NAMED_WITHIN_S)
            self.assert_nothing_left(refused)
            finished = shrunk.wait(40)
            self.assert_ok(finished)
            self.assertIn("no agent on n3: ", finished.err)
            self.assertEqual(column(shown(finished.out), "TOPRUN_NODE_NAME"), ["n0", "n1", "n2"])
            self.assert_nothing_left(shrunk)
        finally:
            self.cluster.join("n3")

    def test_logins_that_are_refused(self):
        for hosts, words in [
            ("n0,nokey", ["no agent on nokey: permission denied (publickey,password)",
                          "no password is asked for here: set up a key (ssh-copy-id nokey)"]),
            ("bob@nokey", ["(ssh-copy-id bob@nokey)", "0 of 1 host answered: the job needs all nodes\n"]),
            ("n0,noport", ["no agent on noport: connection refused"]),
            ("n0,nowhere", ["no agent on nowhere: no such name"]),
            ("n0,unknown", ["no agent on unknown: its host key is not known", "ssh unknown"]),
            ("nowhere1,n0,nowhere[2-3]", ["no agent on nowhere[1-3]: no such name"]),
        ]:
            with self.subTest(hosts):
                finished = self.launch("--hosts", hosts, "--no-python", "echo", "started")
                self.assert_failed(finished, 1, *words, "answered")
                self.assertEqual(finished.out, "")
                self.assertEqual(finished.err.count("\n"), 2, finished.err)

    def test_a_host_key_that_has_changed(self):
        known = self.daemons.known
        before = known.read_text()
        lines = dict(line.split(" ", 1) for line in before.splitlines())
        lines["n1"] = lines["n2"]
        known.write_text("".join(f"{host} {key}\n" for host, key in lines.items()))
        try:
            finished = self.launch("--hosts", "n[0-1]", "--no-python", "echo", "started")
            self.assert_failed(finished, 1, "no agent on n1: its host key has changed",
                               "ssh-keygen -R n1")
            self.assertEqual(finished.out, "")
        finally:
            known.write_text(before)

    def test_no_place_for_the_program(self):
        """On n3: a cache without space, /var/tmp mounted noexec, the rest neither."""
        cache = self.daemons.folder / "cache/n3"
        made = self.begin(*self.cluster.on("n3", "sh", "-c", f"""
            mount --rbind /tmp /tmp && mount -o remount,bind,noexec /tmp
            mount -t tmpfs -o size=64k,mode=777 tmpfs {cache}
            mount -t tmpfs -o noexec,mode=1777 tmpfs /var/tmp
            mount -t tmpfs -o size=64k,mode=1777 tmpfs /dev/shm""")).wait(20)
        self.assert_ok(made)
        finished = self.launch("--hosts", "n0,n3", "--no-python", "echo", "started")
        self.assert_failed(finished, 1, "no agent on n3: no space for toprun's program",
                           f"{cache}/toprun: No space left on device",
                           "/var/tmp/toprun-root: mounted noexec",
                           "/dev/shm/toprun-root: No space left on device")
        self.assertEqual(finished.out, "")
        self.assert_ok(self.begin(*self.cluster.on(
            "n3", "mount", "-o", "remount,exec", "/var/tmp")).wait(20))
        finished = self.launch("--hosts", "n0,n3", "--no-python", "echo", "started")
        self.assert_ok(finished)
        self.assertEqual(finished.out, "started\n" * 2)

    # What is refused before anybody is asked.

    def test_usage(self):
        twice = self.host_file("n0\nn1 slots=2\nn0\n")
        for words, said in [
            (["--hostfile", twice], f"{twice}:3: host n0 is listed twice: the host is already listed at {twice}:1"),
            (["--hosts", "n0,n[0-1]"], "--hosts, item 2: host n0 is listed twice"),
            (["--hosts", "n0", "--hostfile", twice], "--hosts and --hostfile: both name"),
            (["--hostfile", "/nonexistent"], "cannot read /nonexistent"),
            (["--hosts", "n[0-1]", "--nnodes", "3"], "--nnodes 3: --hosts names 2 hosts"),
            (["--hosts", "n0", "--node-rank", "0"], "--node-rank with --hosts"),
            (["--hosts", "n0", "--standalone"], "--standalone with --hosts"),
            (["--hosts", "n[0-1]", "--rdzv-endpoint", "n0:29500"], "--rdzv-endpoint with --hosts"),
        ]:
            with self.subTest(words):
                finished = self.launch(*words, "--no-python", "echo", "started")
                self.assert_failed(finished, 2, said)
                self.assert_one_line(finished, ".*")
                self.assertEqual(finished.out, "")

    def test_a_machine_that_has_two_names(self):
        for host, names in (("n0", "n0,localhost"), ("n0", "n0,10.77.0.1"), ("ctl", "n0,alias")):
            with self.subTest(names):
                finished = self.launch("--hosts", names, "--no-python", "echo", "started", host=host)
                first, second = names.split(",")
                self.assert_failed(finished, 2, f"--hosts: {first} and {second} are one machine: each name")
                self.assertEqual(finished.out, "")
        for names in ("n0,localhost", "n0,localhost,n97"):
            with self.subTest("doctor", names=names):
                finished = self.on("n0", TOPRUN, "doctor", "--hosts", names, env=self.environment())
                self.assert_failed(finished, 2, "--hosts: n0 and localhost are one machine: each name would count as a host")
                self.assertIn("no host was examined; see the message above", finished.err)
                self.assertNotIn("slots=", finished.err)
                self.assertEqual(finished.out, "")

    def test_fewer_nodes_than_hosts(self):
        finished = self.launch("--hosts", "n[0-3]", "--nnodes", "1", *shows(
            "RANK", "WORLD_SIZE", "TOPRUN_NODE_NAME"))
        self.assert_ok(finished)
        self.assertEqual(shown(finished.out),
                         [{"RANK": "0", "WORLD_SIZE": "1", "TOPRUN_NODE_NAME": "n0"}])


if __name__ == "__main__":
    unittest.main()
