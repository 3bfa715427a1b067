# ctest: TIMEOUT 400 LABELS cluster
"""toprun in a real Slurm of four hosts in two racks whose names interleave: r0 has n0 and n2, r1 has
n1 and n3. The order of the network is n0 n2 n1 n3."""

import json
import os
import pathlib
import re
import shlex
import signal
import unittest

import cluster
import support
from cluster import column, shown, shows

TOPRUN = support.TOPRUN
BY_TOPOLOGY = ["n0", "n2", "n1", "n3"]
CONNECTS = "exec 3<>/dev/tcp/$MASTER_ADDR/$MASTER_PORT && echo connected"
FIRST_PORT, PORTS = 61000, 4536

STRANGER = """\
import pathlib, socket, sys, time
port = 61000 + (int(sys.argv[1]) * 7 + int(sys.argv[2])) % 4536
listener = socket.create_server(("", port))
pathlib.Path(sys.argv[3], socket.gethostname()).touch()
held = []
while True:
    held.append(listener.accept()[0])
    if sys.argv[4] == "closes":
        held.pop().close()
"""

MUNGE_TTL_S = 1
MUNGE_SOCKET = "/run/munge/munge.socket.2"  # where libmunge looks


def twice(nodes):
    return [node for node in nodes for _ in range(2)]


def port(job, step):
    return str(FIRST_PORT + (int(job) * 7 + step) % PORTS)


class Slurm(cluster.SlurmCase):
    UP = ("--hosts", "4", "--racks", "2", "--slurm")

    def assert_failed(self, finished, code, *texts):
        self.assertEqual(finished.code, code, finished)
        for text in texts:
            self.assertIn(text, finished.err)

    # As agents: one task per node.

    def test_one_agent_per_node(self):
        finished = self.srun("-N4", TOPRUN, "--nproc-per-node", "2", *shows(
            "RANK", "LOCAL_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", "GROUP_RANK",
            "GROUP_WORLD_SIZE", "TOPRUN_NODE_NAME", "TOPRUN_LOCATION", "MASTER_ADDR",
            "MASTER_PORT", "SLURM_JOB_ID", "TORCHELASTIC_RUN_ID", then=CONNECTS))
        self.assert_ok(finished)
        rows = shown(finished.out)
        self.assertEqual(column(rows, "RANK"), [str(rank) for rank in range(8)])
        self.assertEqual(column(rows, "LOCAL_RANK"), ["0", "1"] * 4)
        self.assertEqual(column(rows, "GROUP_RANK"), twice("0123"))
        self.assertEqual(column(rows, "TOPRUN_NODE_NAME"), twice(BY_TOPOLOGY))
        self.assertEqual(column(rows, "TOPRUN_LOCATION"), twice(
            ["/core/r0/n0", "/core/r0/n2", "/core/r1/n1", "/core/r1/n3"]))
        same = {"WORLD_SIZE": "8", "LOCAL_WORLD_SIZE": "2", "GROUP_WORLD_SIZE": "4",
                "MASTER_ADDR": "10.77.0.1", "MASTER_PORT": port(rows[0]["SLURM_JOB_ID"], 0)}
        for row in rows:
            self.assertEqual({name: row[name] for name in same}, same)
        self.assertEqual(finished.out.count("connected"), 8)
        self.assertRegex(finished.err.splitlines()[-1], r"8 ranks on 4 nodes, all ended with 0$")

    def test_a_wrong_command_line_is_told_once(self):
        for words, told in ((["--nosuch"], "--nosuch"), (["--nnodes", "x", "train.py"], "--nnodes"), (["doctor", "--nosuch"], "--nosuch")):
            with self.subTest(words):
                finished = self.srun("-N4", TOPRUN, *words)
                self.assert_failed(finished, 2, told)
                self.assertEqual(finished.err.count("toprun: "), 1, finished.err)
        # Where it is one task's own, that task tells.
        self.assertEqual(self.srun("-N4", "sh", "-c", f"[ $SLURM_PROCID != 2 ] || {TOPRUN} --nosuch").err.count("toprun: "), 1)
        several = self.folder() / "several"
        several.write_text(f"0-2 true\n3 {TOPRUN} --nosuch\n")
        self.assertIn("srun: error: n3: task 3: Exited with exit code 2", self.srun("-N4", "--multi-prog", several).err)

    def test_orders(self):
        listed = self.folder() / "order"
        listed.write_text("n3\nn1\nn2\nn0\n")
        for order, expected in [
            ("topology", BY_TOPOLOGY),
            ("name", ["n0", "n1", "n2", "n3"]),
            (f"file:{listed}", ["n3", "n1", "n2", "n0"]),
        ]:
            with self.subTest(order):
                finished = self.srun("-N4", TOPRUN, "--order", order, *shows(
                    "RANK", "TOPRUN_NODE_NAME", "MASTER_ADDR", then=CONNECTS))
                self.assert_ok(finished)
                rows = shown(finished.out)
                self.assertEqual(column(rows, "TOPRUN_NODE_NAME"), expected)
                first = f"10.77.0.{int(expected[0][1:]) + 1}"
                self.assertEqual(column(rows, "MASTER_ADDR"), [first] * 4)
                self.assertEqual(finished.out.count("connected"), 4)

    def test_the_order_as_a_login_node_tells_it(self):
        finished = self.on("ctl", TOPRUN, "topo", "order")
        self.assert_ok(finished)
        self.assertIn("leaf: 4 of 4 neighbours in another leaf as given, 2 as ordered (minimum 2)", finished.err)

    def test_order_of_the_scheduler(self):
        for order in ("scheduler", "given"):
            with self.subTest(order):
                finished = self.srun("-N4", TOPRUN, "--order", order,
                                     *shows("RANK", "SLURM_NODEID", "TOPRUN_NODE_NAME"))
                self.assert_ok(finished)
                rows = shown(finished.out)
                self.assertEqual(column(rows, "SLURM_NODEID"), ["0", "1", "2", "3"])
                self.assertEqual(column(rows, "TOPRUN_NODE_NAME"), ["n0", "n1", "n2", "n3"])

    def test_a_topology_file_overrides_slurm(self):
        path = self.folder() / "racks"
        for text, first in [("n3 /c/a/1\nn2 /c/b/2\nn1 /c/a/3\nn0 /c/b/4\n", "/c/a/3"),
                            ('[domains.c]\na = "n[1,3]"\nb = "n[0,2]"\n', "/c/a/n1")]:
            with self.subTest(text):
                path.write_text(text)
                finished = self.srun("-N4", TOPRUN, "--topology", path,
                                     *shows("RANK", "TOPRUN_NODE_NAME", "TOPRUN_LOCATION"))
                self.assert_ok(finished)
                rows = shown(finished.out)
                self.assertEqual(column(rows, "TOPRUN_NODE_NAME"), ["n1", "n3", "n0", "n2"])
                self.assertEqual(rows[0]["TOPRUN_LOCATION"], first)

    def test_evidence_that_cannot_be_used(self):
        path = self.folder() / "racks"
        for text, options, code, words in [
            ("n0 /c/a/x\nn1 /c/b/x\nn2 /c/a/y\n", ["--topology-required"], 1, ["n3"]),
            ("n0 /c/a/x\nn1 /c/b/x\nn0 /c/b/z\n", [], 2, [f"{path}:3:1", "n0", f"{path}:1"]),
        ]:
            with self.subTest(text):
                path.write_text(text)
                finished = self.srun("-N4", TOPRUN, "--topology", path, *options, *shows("RANK"))
                self.assert_failed(finished, code, *words)
                self.assertEqual(shown(finished.out), [])

    def test_a_node_that_the_file_lacks_comes_last(self):
        path = self.folder() / "racks"
        path.write_text("n3 /c/a/x\nn1 /c/b/x\nn2 /c/a/y\n")
        finished = self.srun("-N4", TOPRUN, "--topology", path, *shows("RANK", "TOPRUN_NODE_NAME"))
        self.assert_ok(finished)
        self.assertEqual(column(shown(finished.out), "TOPRUN_NODE_NAME"), ["n2", "n3", "n1", "n0"])
        self.assertRegex(finished.err, r"(?m)^toprun: .*\bn0\b")

    def test_members_that_contradict_each_other(self):
        finished = self.srun("-N4", "sh", "-c", 'test $SLURM_NODEID = 1 && SLURM_TOPOLOGY_ADDR='
                             f'elsewhere.r0.n1; exec {TOPRUN} --no-python echo started')
        self.assert_failed(finished, 1, "elsewhere.r0.n1", "core.r0.n0")
        self.assertNotIn("started", finished.out)

    def test_wrong_number_of_nodes(self):
        finished = self.srun("-N4", TOPRUN, "--nnodes", "3", *shows("RANK"))
        self.assert_failed(finished, 2, "--nnodes 3: this Slurm step has 4 tasks on 4 nodes; "
                           "drop --nnodes or start the step with srun -N 3")
        self.assertEqual(shown(finished.out), [])

    def test_hosts_in_a_step_of_several_tasks_are_refused(self):
        for words in (["--hosts", "n0,n1"], ["--via", "mpirun", "--hosts", "n0,n1"]):
            finished = self.on("ctl", "srun", "-N2", TOPRUN, *words, "--no-python", "echo", "started")
            self.assertNotEqual(finished.code, 0)
            self.assertNotIn("started", finished.out)
            self.assertRegex(finished.err, "would start the whole job on these hosts|Slurm has started one toprun per node already")

    def test_exit_codes_and_the_report(self):
        report = self.folder() / "report.json"
        for ending, code, said in [("exit 7", 7, "ended with exit code 7"),
                                   ("kill -KILL $$", 137, "SIGKILL")]:
            with self.subTest(ending):
                report.unlink(missing_ok=True)
                started = self.folder()  # a node that is stopped before it has started verifies nothing
                finished = self.srun(
                    "-N4", TOPRUN, "--nproc-per-node", "2", "--report", report,
                    *shows("RANK", then=f"touch {started}/$RANK; if test $RANK = 5; then "
                                        f"until test $(ls {started} | wc -l) = 8; do sleep .1; done; "
                                        f"echo a last word >&2; {ending}; fi; exec sleep 50"))
                self.assert_failed(finished, code, "rank 5 on n1", said, "a last word")
                self.assertLess(finished.seconds, 30)
                written = json.loads(report.read_text())
                self.assertEqual(written["exit_code"], code)
                attempt = written["attempts"][0]
                self.assertEqual([node["name"] for node in attempt["nodes"]], BY_TOPOLOGY)
                self.assertEqual([node["first_rank"] for node in attempt["nodes"]], [0, 2, 4, 6])
                self.assertEqual((attempt["cause"]["rank"], attempt["cause"]["node"]), (5, "n1"))
                order = attempt["order"]
                self.assertEqual((order["name"], order["source"], order["verified"]),
                                 ("topology", "slurm", True))
                self.assertEqual(order["ring"], [
                    {"level": "spine", "given": 0, "ordered": 0, "minimum": 0},
                    {"level": "leaf", "given": 4, "ordered": 2, "minimum": 2}])

    def test_a_stranger_holds_the_port_on_every_host(self):
        program = self.folder() / "stranger.py"
        program.write_text(STRANGER)
        for habit in ("closes", "keeps silent"):
            with self.subTest(habit):
                listening = self.folder()
                finished = self.on("ctl", "salloc", "-N4", "bash", "-c", f"""
                    srun --overlap -N4 python3 {program} $SLURM_JOB_ID 1 {listening} "{habit}" &
                    until test $(ls {listening} | wc -l) = 4; do sleep 0.05; done
                    srun --overlap -N4 {TOPRUN} "$@"
                    code=$?
                    scancel $SLURM_JOB_ID.0
                    wait
                    exit $code""", "-", *shows(
                    "RANK", "SLURM_JOB_ID", "SLURM_STEP_ID", "MASTER_PORT", then=CONNECTS))
                self.assert_ok(finished)
                rows = shown(finished.out)
                self.assertEqual(len(rows), 4)
                self.assertEqual(rows[0]["SLURM_STEP_ID"], "1")
                for row in rows:
                    self.assertEqual(row["MASTER_PORT"], port(row["SLURM_JOB_ID"], 2))

    def test_another_user_s_program_plays_the_root(self):
        """On the job's port of every host: what it says keeps no member from the root."""
        pretender = self.folder() / "pretender.py"
        pretender.write_text(cluster.PRETENDER)
        for answer in cluster.PRETENDED:
            with self.subTest(answer):
                listening = self.folder()
                finished = self.on("ctl", "salloc", "-N4", "bash", "-c", f"""
                    port=$((61000 + ($SLURM_JOB_ID * 7 + 1) % 4536))
                    srun --overlap -N4 python3 {pretender} $port {listening} "{answer}" &
                    until test $(ls {listening} | wc -l) = 4; do sleep 0.05; done
                    srun --overlap -N4 {TOPRUN} "$@"
                    code=$?
                    scancel $SLURM_JOB_ID.0
                    wait
                    exit $code""", "-", *shows("RANK", "SLURM_JOB_ID", "MASTER_PORT"))
                self.assert_ok(finished)
                rows = shown(finished.out)
                self.assertEqual(column(rows, "RANK"), list("0123"))
                self.assertEqual(rows[0]["MASTER_PORT"], port(rows[0]["SLURM_JOB_ID"], 2))

    def test_a_member_that_joins_when_the_root_s_credential_has_expired(self):
        folder = self.folder()
        folder.chmod(0o755)
        key = folder / "key"
        key.write_bytes(os.urandom(1024))
        key.chmod(0o400)
        munged = self.begin(*self.cluster.on(
            "ctl", "munged", "--foreground", "--force", f"--max-ttl={MUNGE_TTL_S}",
            f"--key-file={key}", *(f"--{what}={folder}/{what}" for what in
                                   ("socket", "pid-file", "log-file", "seed-file"))))
        cluster.wait_for((folder / "socket").exists, "munged listens")
        finished = self.srun(
            "-N2", "unshare", "--mount", "sh", "-c", f"mount --bind {folder}/socket {MUNGE_SOCKET}; "
            f'test $SLURM_NODEID = 0 || sleep {MUNGE_TTL_S + 2}; exec "$@"', "-",
            TOPRUN, "-v", *shows("RANK"), env={"MUNGE_SOCKET": str(folder / "socket")})
        socket = f"--socket={folder}/socket"
        late = self.on("ctl", "sh", "-c",
                       f"munge -n {socket} | {{ sleep {MUNGE_TTL_S + 2}; unmunge {socket}; }}")
        self.assertIn("Expired credential", late.out + late.err, late)
        munged.signal(signal.SIGTERM)
        munged.wait(20)
        self.assert_ok(finished)
        self.assertIn("agents trust each other by munge", finished.err)
        self.assertEqual(column(shown(finished.out), "RANK"), ["0", "1"])

    def test_toprun_grow_takes_in_a_late_node(self):
        folder = self.folder()
        logs = self.folder()
        worker = ('echo $SLURM_JOB_ID >"$0/$TOPRUN_ATTEMPT.$RANK-of-$WORLD_SIZE"; '
                  'until test -e "$0/end"; do sleep 0.05; done')
        run = self.start(
            "ctl", "srun", "-N2", "sh", "-c", f"test $SLURM_NODEID = 0 || until test -e {folder}/come; "
            'do sleep 0.05; done; exec "$@"', "-", TOPRUN, "--nnodes", "1:2", "--grow", "on-signal",
            "--rdzv-conf", "last_call_timeout=1", "--node-log", logs, "--no-python", "sh", "-c",
            worker, folder)
        alone = folder / "0.0-of-1"
        cluster.wait_for(lambda: alone.exists() and alone.read_text(), "a rank alone")
        job = alone.read_text().strip()
        (folder / "come").touch()
        cluster.wait_for(lambda: f"the job can grow by 1: toprun grow {job}" in
                         (logs / "n0.out").read_text(), "the late node waits")
        self.assert_ok(self.login(TOPRUN, "grow", job))
        for rank in (0, 1):
            cluster.wait_for((folder / f"1.{rank}-of-2").exists, f"rank {rank} of two")
        (folder / "end").touch()
        self.assert_ok(run.wait(60))

    def test_one_node_keeps_to_itself(self):
        words = shows("RANK", "MASTER_ADDR", "MASTER_PORT", "SLURM_JOB_ID", then=CONNECTS)
        for name, finished, ports_are_slurms in (
                ("an agent", self.srun("-N1", TOPRUN, "--nproc-per-node", "2", *words), False),
                ("ranks in place", self.srun("-N1", "-n2", TOPRUN, *words), True),
                ("a starter", self.on("ctl", "salloc", "-N1", "-n2", TOPRUN, *words), False)):
            with self.subTest(name):
                self.assert_ok(finished)
                rows = shown(finished.out)
                self.assertEqual(column(rows, "RANK"), ["0", "1"])
                self.assertEqual(column(rows, "MASTER_ADDR"), ["127.0.0.1"] * 2)
                self.assertEqual(finished.out.count("connected"), 2)
                self.assertEqual(rows[0]["MASTER_PORT"] == port(rows[0]["SLURM_JOB_ID"], 0),
                                 ports_are_slurms)

    # The starter, in a batch script and in the shell of salloc.

    def test_a_batch_script_that_says_only_toprun(self):
        code, out = self.sbatch(
            "--nodes=4 --ntasks-per-node=2 --cpus-per-task=2",
            f"{TOPRUN} --dry-run --no-python true",
            shlex.join([TOPRUN, *shows("RANK", "LOCAL_WORLD_SIZE", "TOPRUN_NODE_NAME",
                                       "SLURM_STEP_ID", "SLURM_STEP_TASKS_PER_NODE",
                                       "SLURM_CPUS_ON_NODE", "SLURM_NTASKS")]))
        self.assertEqual(code, 0, out)
        rows = shown(out)
        self.assertEqual(column(rows, "RANK"), [str(rank) for rank in range(8)])
        self.assertEqual(column(rows, "TOPRUN_NODE_NAME"), twice(BY_TOPOLOGY))
        # Step 0: the dry run started none. One agent per node, and all CPUs that the job has there.
        same = {"LOCAL_WORLD_SIZE": "2", "SLURM_STEP_ID": "0", "SLURM_CPUS_ON_NODE": "4",
                "SLURM_STEP_TASKS_PER_NODE": "1(x4)", "SLURM_NTASKS": "4"}
        for row in rows:
            self.assertEqual({name: row[name] for name in same}, same)
        self.assertIn("srun --overlap -N 4 -n 4 --ntasks-per-node=1 -c 4 --kill-on-bad-exit=0 "
                      "--wait=0 --mpi=none --export=ALL", out)
        self.assertIn("the secret goes to its standard input", out)

    def test_in_the_shell_of_salloc(self):
        # Without the order by topology it is Slurm that chooses: by name, in 26.05 by switch.
        for options, choices in [((), [BY_TOPOLOGY]), (("--nnodes", "2"), [["n0", "n2"]]),
                                 (("--nnodes", "2", "--order", "name"),
                                  [["n0", "n1"], ["n0", "n2"]])]:
            with self.subTest(options):
                finished = self.on("ctl", "salloc", "-N4", TOPRUN, *options, *shows(
                    "RANK", "WORLD_SIZE", "TOPRUN_NODE_NAME", "TOPRUN_SECRET", then=CONNECTS))
                self.assert_ok(finished)
                rows = shown(finished.out)
                nodes = column(rows, "TOPRUN_NODE_NAME")
                self.assertIn(nodes, choices)
                self.assertEqual(column(rows, "WORLD_SIZE"), [str(len(nodes))] * len(nodes))
                self.assertEqual(column(rows, "TOPRUN_SECRET"), ["unset"] * len(nodes))
                self.assertEqual(finished.out.count("connected"), len(nodes))

    def test_the_nodes_that_are_not_needed_are_those_that_sit_apart(self):
        path = self.folder() / "racks"
        path.write_text("n[0,2-3] /c/a/x\nn1 /c/b/x\n")
        for options in ([], ["--dry-run"]):
            finished = self.on("ctl", "salloc", "-N4", TOPRUN, "--nnodes", "3", "--topology", path,
                               *options, *shows("RANK", "TOPRUN_NODE_NAME", then=CONNECTS))
            self.assert_ok(finished)
            self.assertIn("this job uses 3 of 4 nodes and leaves out n1, which would spread the job further", finished.err)
            if options:
                self.assertIn("--nodelist=n[0,2-3]", finished.out)
            else:
                self.assertEqual(column(shown(finished.out), "TOPRUN_NODE_NAME"),
                                 ["n0", "n2", "n3"])

    def test_the_nodes_that_are_not_needed_are_spares_of_a_job_with_restarts(self):
        """However the step was started: those that sit apart wait, and take the place of an agent that dies."""
        path = self.folder() / "racks"
        path.write_text("n[0,2-3] /c/a/x\nn1 /c/b/x\n")
        for words in (["salloc", "-N4"], ["srun", "-N4", "--kill-on-bad-exit=0"]):
            with self.subTest(words[0]):
                folder = self.folder()
                run = self.start("ctl", *words, TOPRUN, "--nnodes", "3", "--max-restarts", "1", "--topology", path,
                                 *shows("RANK", "TOPRUN_ATTEMPT", "TOPRUN_NODE_NAME", then=(
                                     f"touch {folder}/$TOPRUN_ATTEMPT.$TOPRUN_NODE_NAME; "
                                     "test $TOPRUN_ATTEMPT = 1 || { echo $PPID >" f"{folder}/pid.$TOPRUN_NODE_NAME; "
                                     "exec sleep 60; }")))
                self.wait_for_files(folder, 6)
                self.assertEqual({each.name for each in folder.glob("0.*")}, {"0.n0", "0.n2", "0.n3"})
                os.kill(int((folder / "pid.n2").read_text()), signal.SIGKILL)
                finished = run.wait(60)
                self.assertEqual({each.name for each in folder.glob("1.*")}, {"1.n0", "1.n1", "1.n3"}, finished.err)
                self.assertIn("n1 waits as a spare", finished.err)
                self.assertRegex(finished.err, "starting again without it")

    def test_the_loss_of_a_node_names_those_that_could_have_taken_its_place(self):
        folder = self.folder()
        for options, advised in ([], True), (["--nnodes", "4"], False):
            with self.subTest(advised):
                run = self.start("ctl", "salloc", "-N4", TOPRUN, *(options or ["--nnodes", "3"]),
                                 *shows("RANK", then=f"echo $PPID > {folder}/pid.$RANK; exec sleep 60"))
                self.wait_for_files(folder, 4 - advised)
                os.kill(int((folder / "pid.2").read_text()), signal.SIGKILL)
                finished = run.wait(60)
                self.assertEqual(finished.code, 1, finished)
                advice = (r"\n  next        n\d of the Slurm job has no ranks: with --max-restarts N such nodes wait as "
                          r"spares, and replace a lost node\n")
                (self.assertRegex if advised else self.assertNotRegex)(finished.err, advice)
                if not advised:
                    self.assertIn("-N 5 with --nnodes 4 and --max-restarts 1 keeps a spare node, which replaces a lost one\n", finished.err)
                for path in folder.iterdir():
                    path.unlink()

    def test_the_order_as_v_shows_it(self):
        finished = self.srun("-N4", TOPRUN, "-v", "--segment", "2", *shows("RANK"))
        self.assert_ok(finished)
        for line in ("order: topology (evidence from slurm)", "  ranks  node  place",
                     "  0      n0    /core/r0/n0", "  1      n2    /core/r0/n2",
                     "  2      n1    /core/r1/n1", "  3      n3    /core/r1/n3",
                     "leaf: 4 of 4 neighbours in another leaf as given, 2 as ordered (minimum 2)",
                     "the ranks of all 4 nodes are placed according to the order"):
            self.assertEqual(finished.err.count(f"toprun: {line}\n"), 1, (line, finished.err))

    def test_one_node_by_wish_starts_no_step(self):
        for options in (["--nnodes", "1"], ["--standalone"]):
            with self.subTest(options):
                finished = self.on("ctl", "salloc", "-N4", TOPRUN, *options, *shows(
                    "RANK", "WORLD_SIZE", "SLURM_STEP_ID", "HOSTNAME"))
                self.assert_ok(finished)
                self.assertEqual(shown(finished.out), [
                    {"RANK": "0", "WORLD_SIZE": "1", "SLURM_STEP_ID": "unset", "HOSTNAME": "ctl"}])

    def test_more_nodes_than_the_job_has(self):
        finished = self.on("ctl", "salloc", "-N2", TOPRUN, "--nnodes", "3", *shows("RANK"))
        self.assert_failed(finished, 2, "--nnodes 3", "2 nodes")

    def test_exit_code_through_the_starter(self):
        finished = self.on("ctl", "salloc", "-N4", TOPRUN, *shows(
            "RANK", then="test $RANK = 2 && exit 9; exec sleep 50"))
        self.assert_failed(finished, 9, "rank 2 on n1 ended with exit code 9")
        self.assertEqual(finished.err.count("toprun: rank 2"), 1)

    def test_variables_of_options_reach_the_agents_of_our_own_step(self):
        code, out = self.sbatch(
            "--nodes=2 --ntasks-per-node=1",
            "export PET_NPROC_PER_NODE=2 PET_NODE_RANK=0",
            f"{TOPRUN} " + shlex.join(shows("RANK", "PET_NPROC_PER_NODE")))
        self.assertEqual(code, 0, out)
        rows = shown(out)
        self.assertEqual(sorted(column(rows, "RANK")), ["0", "1", "2", "3"])
        self.assertEqual(set(column(rows, "PET_NPROC_PER_NODE")), {"unset"})

    def test_torchrun_habits_of_the_recipes(self):
        """The launch lines of two published recipes, with toprun for torchrun."""
        words = shows("RANK", "TOPRUN_NODE_NAME", "MASTER_PORT")
        program = f"--no-python {self.script(words[3])}"
        code, out = self.sbatch(
            "--nodes=4 --ntasks-per-node=1 --cpus-per-task=2",
            "MASTER_ADDR=$(scontrol show hostnames $SLURM_JOB_NODELIST | head -n 1)",
            "MASTER_PORT=6000",
            f"""LAUNCHER="{TOPRUN} --nproc_per_node 2 --nnodes $SLURM_NNODES """
            """--node_rank \\$SLURM_PROCID --rdzv_endpoint $MASTER_ADDR:$MASTER_PORT """
            f"""--rdzv_backend c10d --tee 3 {program}" """,
            """srun --cpus-per-task $SLURM_CPUS_PER_TASK bash -c "$LAUNCHER" """)
        self.assertEqual(code, 0, out)
        rows = shown(re.sub(r"(?m)^\[[^]]*\]:", "", out))
        self.assertEqual(column(rows, "TOPRUN_NODE_NAME"), twice(["n0", "n1", "n2", "n3"]))
        self.assertEqual(set(column(rows, "MASTER_PORT")), {"6000"})

        code, out = self.sbatch(
            "--nodes=4 --ntasks-per-node=2",
            "export MASTER_ADDR=$(scontrol show hostnames $SLURM_JOB_NODELIST | head -n 1)",
            "export MASTER_PORT=6000",
            """srun --ntasks-per-node=1 --nodes "${SLURM_NNODES}" """
            f"""{TOPRUN} --nproc_per_node 2 --rdzv_endpoint "${{MASTER_ADDR}}":"${{MASTER_PORT}}" """
            f"""--rdzv_backend c10d --nnodes "${{SLURM_NNODES}}" {program}""")
        self.assertEqual(code, 0, out)
        rows = shown(out)
        self.assertEqual(column(rows, "TOPRUN_NODE_NAME"), twice(BY_TOPOLOGY))
        self.assertEqual(set(column(rows, "MASTER_PORT")), {"6000"})

    # Endpoints of recipes that the other nodes, or none of them, can reach.

    def meets(self, finished, node="n0", endpoint_line=None):
        """All four ranks meet at the root on `node`, and the root alone says what it thought of the endpoint."""
        self.assert_ok(finished)
        rows = shown(finished.out)
        self.assertEqual(sorted(column(rows, "RANK")), list("0123"), finished)
        self.assertEqual(set(column(rows, "WORLD_SIZE")), {"4"})
        self.assertEqual(finished.out.count("connected"), 4, finished)
        said = [line for line in finished.err.splitlines() if "endpoint" in line or "master-addr" in line
                or "not an address" in line]
        self.assertEqual(len(said), 0 if endpoint_line is None else 1, finished.err)
        if said:
            self.assertIn(endpoint_line, said[0])
            self.assertIn(node, said[0])

    def test_torchtitan_s_script_where_the_head_node_is_127_0_1_1(self):
        """`hostname --ip-address` of a Debian host is the address that its installer wrote to /etc/hosts."""
        words = shows("RANK", "WORLD_SIZE", "TOPRUN_NODE_NAME", "MASTER_ADDR", then=CONNECTS)
        code, out = self.sbatch(
            "--nodes=4 --ntasks=4",
            "nodes=( $( scontrol show hostnames $SLURM_JOB_NODELIST ) )",
            "head_node=${nodes[0]}",
            """head_node_ip=$(srun --nodes=1 --ntasks=1 -w "$head_node" bash -c '"""
            """echo "127.0.1.1 $HOSTNAME" | cut -d" " -f1')""",
            f"srun {TOPRUN} --nnodes 4 --nproc_per_node 1 --rdzv_id 101 --rdzv_backend c10d "
            f'--rdzv_endpoint "$head_node_ip:29500" --rdzv-conf join_timeout=20 '
            f"--no-python {self.script(words[3])} 2>&1")
        self.assertEqual(code, 0, out)
        rows = shown(out)
        self.assertEqual(column(rows, "RANK"), list("0123"))
        self.assertEqual(set(column(rows, "MASTER_ADDR")), {"10.77.0.1"})
        self.assertEqual(out.count("connected"), 4)
        self.assertEqual(out.count("127.0.1.1"), 1, out)
        self.assertIn("toprun: --rdzv-endpoint 127.0.1.1 is a local address on every host, so no other "
                      "node can reach the root there: the root is at n0 instead", out)

    def test_endpoints_of_each_host_s_own(self):
        said = "is a local address on every host"
        worker = shows("RANK", "WORLD_SIZE", "MASTER_ADDR", then=CONNECTS)
        limit = ["--rdzv-conf", "join_timeout=20"]
        c10d = ["--nnodes", "4", "--rdzv-backend", "c10d", *limit]
        for words in (["-N4", TOPRUN, *c10d, "--rdzv-endpoint", "localhost:29500"],
                      ["-N4", TOPRUN, *c10d, "--rdzv-endpoint", "[::1]:29500"],
                      ["-N4", TOPRUN, *c10d, "--rdzv-endpoint", "0.0.0.0"],
                      ["-N4", TOPRUN, *limit, "--master-addr", "127.0.0.1"],
                      # Each task counts as a node, two of them on each host.
                      ["-N2", "-n4", "-w", "n0,n1", TOPRUN, *c10d, "--rdzv-endpoint", "localhost:29500"],
                      # Ranks in place.
                      ["-N2", "-n4", "-w", "n0,n1", TOPRUN, *limit, "--rdzv-endpoint", "localhost:29500"]):
            with self.subTest(words):
                self.meets(self.srun(*words, *worker), endpoint_line=said)
        with self.subTest("by node rank, and against the engine's order"):
            finished = self.srun("-N4", "bash", "-c", 'exec "$0" --nnodes 4 --node-rank $((3 - SLURM_NODEID)) '
                                 '--master-addr localhost "$@"', TOPRUN, *limit, *worker)
            self.meets(finished, endpoint_line=said)

    def test_localhost_is_meant_where_all_tasks_are_on_one_host(self):
        finished = self.srun("-N1", "-n4", TOPRUN, "--nnodes", "4", "--rdzv-backend", "c10d", "--rdzv-endpoint",
                             "localhost:29500", *shows("RANK", "WORLD_SIZE", then=CONNECTS))
        self.meets(finished)

    def test_an_endpoint_of_no_node_and_one_of_another_node(self):
        limit = "--rdzv-conf join_timeout=20"
        worker = shows("RANK", "WORLD_SIZE", then=CONNECTS)
        for address, line in (("$SLURM_LAUNCH_NODE_IPADDR", "is not an address of n0"),
                              ("10.77.0.3", "10.77.0.3 is not an address of n0"),
                              ("no-such-host", "no-such-host is not an address of n0"),
                              ("10.77.0.1", None), ("n2", None)):
            with self.subTest(address):
                finished = self.srun("-N4", "bash", "-c", f'exec "$0" --nnodes 4 --rdzv-backend c10d {limit} '
                                     f'--rdzv-endpoint {address}:29500 "$@"', TOPRUN, *worker)
                self.meets(finished, endpoint_line=line)
        with self.subTest("by node rank"):
            finished = self.srun("-N4", "bash", "-c", f'exec "$0" --nnodes 4 --node-rank $SLURM_NODEID {limit} '
                                 '--master-addr $SLURM_LAUNCH_NODE_IPADDR "$@"', TOPRUN, *worker)
            self.meets(finished, endpoint_line="is not an address of n0")

    def test_the_scheduler_s_order_is_that_of_the_tasks(self):
        """A list of hosts lays tasks out by hand; Slurm's own numbers of the nodes do not tell of it."""
        hosts = self.folder() / "hosts"
        numbers = shows("RANK", "SLURM_PROCID", "TOPRUN_NODE_NAME")
        for listed, options in [(["n3", "n3", "n1", "n1"], []), (["n3", "n1", "n2", "n0"], []),
                                (["n3", "n1", "n2", "n0"], ["--nnodes", "4", "--rdzv-backend", "c10d",
                                                            "--rdzv-endpoint", "n3:29500"])]:
            with self.subTest((listed, options)):
                hosts.write_text("\n".join(listed) + "\n")
                finished = self.on("ctl", "env", f"SLURM_HOSTFILE={hosts}", "srun", "-n4", "--distribution=arbitrary",
                                   TOPRUN, "--order", "scheduler", *options, *numbers)
                self.assert_ok(finished)
                rows = shown(finished.out)
                self.assertEqual(column(rows, "RANK"), list("0123"))
                self.assertEqual(column(rows, "SLURM_PROCID"), list("0123"), finished)
                self.assertEqual(column(rows, "TOPRUN_NODE_NAME"), listed)
        with self.subTest("cyclic: a node's ranks follow each other, and that is said"):
            finished = self.srun("-N2", "-n4", "--distribution=cyclic", TOPRUN, "--order", "scheduler", *numbers)
            self.assert_ok(finished)
            self.assertRegex(finished.err, r"toprun: --order scheduler: \d of 4 ranks have another number than")

    def script(self, text):
        path = self.folder() / "worker.sh"
        path.write_text(f"#!/bin/bash\n{text}\n")
        path.chmod(0o755)
        return path

    # Ranks in place: more tasks than nodes.

    def test_ranks_in_place(self):
        listed = self.folder() / "order"
        listed.write_text("n3\nn1\nn2\nn0\n")
        for options, nodes in [([], BY_TOPOLOGY),
                               (["--order", f"file:{listed}"], ["n3", "n1", "n2", "n0"])]:
            with self.subTest(options):
                finished = self.srun("-N4", "--ntasks-per-node=2", TOPRUN, *options, *shows(
                    "RANK", "LOCAL_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", "SLURM_LOCALID",
                    "TOPRUN_NODE_NAME", then=CONNECTS))
                self.assert_ok(finished)
                rows = shown(finished.out)
                self.assertEqual(column(rows, "RANK"), [str(rank) for rank in range(8)])
                self.assertEqual(column(rows, "TOPRUN_NODE_NAME"), twice(nodes))
                self.assertEqual(column(rows, "LOCAL_RANK"), column(rows, "SLURM_LOCALID"))
                self.assertEqual(column(rows, "LOCAL_RANK"), ["0", "1"] * 4)
                self.assertEqual(set(column(rows, "LOCAL_WORLD_SIZE")), {"2"})
                self.assertEqual(finished.out.count("connected"), 8)

    def test_ranks_in_place_on_unequal_nodes(self):
        finished = self.srun("-N4", "-n6", "--distribution=block", TOPRUN, *shows(
            "RANK", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "SLURM_LOCALID", "TOPRUN_NODE_NAME"))
        self.assert_ok(finished)
        rows = shown(finished.out)
        self.assertEqual(column(rows, "RANK"), [str(rank) for rank in range(6)])
        self.assertEqual(column(rows, "LOCAL_RANK"), column(rows, "SLURM_LOCALID"))
        names = column(rows, "TOPRUN_NODE_NAME")
        self.assertEqual(list(dict.fromkeys(names)), BY_TOPOLOGY)
        for row in rows:
            self.assertEqual(int(row["LOCAL_WORLD_SIZE"]), names.count(row["TOPRUN_NODE_NAME"]))

    def test_in_place_by_wish(self):
        finished = self.srun("-N4", TOPRUN, "--ranks-in-place", *shows(
            "RANK", "WORLD_SIZE", "TOPRUN_NODE_NAME"))
        self.assert_ok(finished)
        rows = shown(finished.out)
        self.assertEqual(column(rows, "TOPRUN_NODE_NAME"), BY_TOPOLOGY)
        self.assertEqual(set(column(rows, "WORLD_SIZE")), {"4"})

    def test_a_shell_of_several_tasks_is_refused(self):
        support.needs_program("script")
        command = shlex.join(self.cluster.on(
            "ctl", "srun", "-N2", "-n2", "--pty", "sh", "-c", "test $SLURM_PROCID = 0 || exit 0; "
            f"{TOPRUN} --no-python echo started; echo code $?"))
        finished = self.run_to_end("script", "--quiet", "--command", command, "/dev/null")
        self.assertIn("code 1", finished.out)
        self.assertIn("one of 2 tasks of an interactive step (srun --pty)", finished.out)
        self.assertIn("srun -N 2 --ntasks-per-node=1 toprun", finished.out)
        self.assertNotIn("started", finished.out)

    # The end from outside.

    def running(self, folder, *command):
        """A job of eight workers on four nodes, started by `command`, all of them alive."""
        run = self.start("ctl", *command, *shows(
            "RANK", then=f"touch {folder}/$RANK; {support.OBEDIENT}"))
        self.wait_for_files(folder, 8)
        return run

    def agent_of_node(self, run, index):
        return next(pid for pid in cluster.agents(run) if f"SLURM_NODEID={index}\0" in
                    pathlib.Path(f"/proc/{pid}/environ").read_text())

    def test_scancel(self):
        for tasks in (["--nproc-per-node", "2"], []):
            with self.subTest(tasks):
                in_place = [] if tasks else ["--ntasks-per-node=2"]
                run = self.running(self.folder(), "srun", "-N4", *in_place, TOPRUN, *tasks)
                self.assert_ok(self.login("scancel", "--user=root"))
                finished = run.wait(40)
                self.assertEqual(finished.code, 143, finished)
                self.assert_nothing_left(run)

    def test_preemption_and_requeue_are_told_from_other_ends(self):
        def urgent_job(_):
            self.assert_ok(self.login("sbatch", "-p", "urgent", "-N4", "--exclusive", "-o",
                                      "/dev/null", "--wrap", "sleep 1"))
        def requeue(job):
            self.assert_ok(self.login("scontrol", "requeue", job))
        for take_away, kind, words in [(urgent_job, "preempted", "Slurm preempted the job at 20"),
                                       (requeue, "requeued", "Slurm requeued the job")]:
            with self.subTest(words):
                folder = self.folder()
                script, report = folder / "job.sh", folder / "report.json"
                program = shlex.join([TOPRUN, "--nproc-per-node", "1", "--report", str(report),
                                      "--no-python", "sh", "-c",
                                      f">{folder}/started.$RANK; exec sleep 50"])
                script.write_text("#!/bin/bash\n#SBATCH -N4 --exclusive --requeue\n"
                                  f"[ -z $SLURM_RESTART_COUNT ] || exit\n{program}\n")
                submitted = self.login("sbatch", "--parsable", "-o", folder / "out", script)
                self.assert_ok(submitted)
                cluster.wait_for(lambda: len(list(folder.glob("started.*"))) == 4, "4 workers")
                take_away(submitted.out.strip())
                # A requeue ends srun, and with it what the agents print; the report is a file.
                cluster.wait_for(lambda: report.exists() and report.read_text().endswith("}\n")
                                 and json.loads(report.read_text())["exit_code"] is not None,
                                 "the end of the run")
                written = json.loads(report.read_text())
                self.assertEqual(written["exit_code"], 75, written)
                cause = written["attempts"][-1]["cause"]
                self.assertEqual(cause["kind"], kind)
                self.assertIn(words, cause["message"])
                self.login("scancel", submitted.out.strip())

    def test_a_node_lost_by_an_elastic_job(self):
        # srun ends with the highest code of its tasks; our starter with the run's.
        for launcher, whole, code in ((["srun", "-N4"], False, 1), (["salloc", "-N4"], False, 0),
                                      (["salloc", "-N4"], True, 0)):
            with self.subTest(launcher, whole=whole):
                folder = self.folder()
                worker = (f"echo $TOPRUN_NODE_NAME >{folder}/$TOPRUN_ATTEMPT.$RANK-of-$WORLD_SIZE; "
                          f"until [ -e {folder}/end ]; do sleep 0.1; done")
                run = self.start("ctl", *launcher, TOPRUN, "--nnodes", "2:4", "--nproc-per-node",
                                 "1", "--stable", "--rdzv-conf", "last_call_timeout=1", "--no-python", "sh",
                                 "-c", worker)
                cluster.wait_for(lambda: len(list(folder.glob("0.*-of-4"))) == 4, "4 workers")
                agent = self.agent_of_node(run, 2)
                if whole:  # as where the node is gone: nothing there gives srun another code
                    os.kill(cluster.parent(agent), signal.SIGKILL)
                os.kill(agent, signal.SIGKILL)
                nodes = [folder / f"1.{rank}-of-3" for rank in range(3)]
                cluster.wait_for(lambda: all(path.exists() and path.read_text() for path in nodes),
                                 "3 workers")
                # n1 keeps rank 2; only n3, whose rank there is no longer, moves.
                self.assertEqual([path.read_text().strip() for path in nodes], ["n0", "n3", "n1"])
                (folder / "end").touch()
                finished = run.wait(40)
                self.assert_nothing_left(run)
                self.assertRegex(finished.err, "3 ranks on 3 nodes, all ended with 0")
                self.assertEqual(finished.code, code, finished)

    def test_a_step_that_does_not_end_is_stopped(self):
        folder = self.folder()
        worker = f"touch {folder}/$TOPRUN_ATTEMPT.$RANK-of-$WORLD_SIZE; until [ -e {folder}/end ]; do sleep 0.1; done"
        run = self.start("ctl", "salloc", "-N4", TOPRUN, "--nnodes", "2:4", "--nproc-per-node", "1",
                         "--rdzv-conf", "last_call_timeout=1", "--no-python", "sh", "-c", worker)
        cluster.wait_for(lambda: len(list(folder.glob("0.*-of-4"))) == 4, "4 workers")
        agent = self.agent_of_node(run, 2)
        for pid in cluster.parent(agent), agent:  # as in a file system that does not answer
            os.kill(pid, signal.SIGSTOP)
        cluster.wait_for(lambda: len(list(folder.glob("1.*-of-3"))) == 3, "3 workers", 60)
        (folder / "end").touch()
        finished = run.wait(90)
        self.assertEqual(finished.code, 0, finished)
        self.assertIn("the run has ended with exit code 0, but its step has not", finished.err)
        self.assert_nothing_left(run)

    def test_the_starter_is_told_to_end(self):
        for number, code in [(signal.SIGINT, 130), (signal.SIGTERM, 143)]:
            with self.subTest(number):
                pid = self.folder() / "pid"
                run = self.running(self.folder(), "salloc", "-N4", "sh", "-c",
                                   f'echo $$ > {pid}; exec "$@"', "-", TOPRUN,
                                   "--nproc-per-node", "2")
                os.kill(int(pid.read_text()), number)
                finished = run.wait(40)
                self.assertEqual(finished.code, code, finished)
                self.assert_nothing_left(run)

    def test_the_starter_is_killed(self):
        notes = self.folder()
        run = self.running(self.folder(), "salloc", "-N4", "bash", "-c",
                           f'"$@" & echo $! > {notes}/pid; wait $!; echo "code $?"; '
                           f"until test -e {notes}/release; do sleep 0.05; done", "-",
                           TOPRUN, "--nproc-per-node", "2")
        os.kill(int((notes / "pid").read_text()), signal.SIGKILL)
        # The allocation lives on, so that nothing is left is no merit of Slurm's.
        cluster.wait_for(lambda: not any(TOPRUN in line or line.startswith("sh ")
                                         for line in run.processes().values()
                                         if not line.startswith(("salloc", "bash"))),
                         "agents and workers end")
        (notes / "release").touch()
        self.assertIn("code 137", run.wait(40).out)
        self.assert_nothing_left(run)

    def test_the_root_agent_is_killed(self):
        run = self.running(self.folder(), "srun", "-N4", TOPRUN, "--nproc-per-node", "2")
        agents = cluster.agents(run)
        self.assertEqual(len(agents), 4, run.processes())
        os.kill(self.agent_of_node(run, 0), signal.SIGKILL)
        finished = run.wait(40)
        self.assertNotEqual(finished.code, 0)
        self.assertIn("lost the root agent", finished.err)
        self.assert_nothing_left(run)


if __name__ == "__main__":
    unittest.main()
