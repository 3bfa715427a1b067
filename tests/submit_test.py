# ctest: TIMEOUT 300 LABELS cluster
"""`toprun submit` on the virtual cluster's real Slurm."""

import json
import os
import random
import re
import subprocess
import time
import unittest

import support
from cluster import column, shown, shows, wait_for
from submitting import SubmitCase

TOPRUN = support.TOPRUN
GOLDEN = support.REPOSITORY / "src/cli/verbs/jobs/submit_golden"

# Words that a shell, sbatch or Slurm's patterns would like to take for their own.
HOSTILE = ["two words", "it's", 'a "quote"', "$(touch injected)", "`touch injected`", "$HOME", "\\",
           "\\n", "a\n#SBATCH --nodes=9\nb", "#SBATCH --wrap=id", "", "*", "%j", "!!", "\t",
           "\x1b[31m", "größer", "--nodes", "; touch injected", "&&", "'\"'\"'"]


class Scripts(unittest.TestCase):
    """The golden files: what the unit test compares is what bash takes without a word."""

    def check(self, *command):
        for path in sorted(GOLDEN.iterdir()):
            with self.subTest(path.name):
                done = subprocess.run([*command, path], capture_output=True, text=True, timeout=30)
                self.assertEqual((done.returncode, done.stdout + done.stderr), (0, ""))

    def test_bash_reads_them(self):
        self.check("bash", "-n")

    def test_shellcheck_finds_nothing(self):
        support.needs_program("shellcheck")
        self.check("shellcheck")


class Submit(SubmitCase):
    UP = ("--hosts", "4", "--racks", "2", "--slurm")

    def test_a_program_of_the_virtual_environment(self):
        folder = self.folder()
        subprocess.run(["python3", "-m", "venv", "--without-pip", folder / "env"], check=True)
        program = folder / "env/bin/where"
        program.write_text("#!/bin/sh\necho it runs in $VIRTUAL_ENV\n")
        program.chmod(0o755)
        finished = self.submit("--nodes", "2", "--venv", "env", "--follow", "--no-python", "where",
                               cwd=folder)
        self.assert_ok(finished)
        self.assertIn(f"it runs in {folder}/env\n", finished.out)

    def test_submit_runs_what_the_dry_run_shows(self):
        folder = self.folder()
        words = ["--nodes", "2", "--nproc-per-node", "2", "--time", "1:00:00", *shows(
            "RANK", "WORLD_SIZE", "TOPRUN_NODE_NAME", "SLURM_JOB_ID", then="echo to stderr >&2")]
        dry = self.submit("--dry-run", *words, cwd=folder)
        self.assert_ok(dry)
        for reason in ("--switches 1@5:00: topology/tree", "--cpus-per-task 2: one for each",
                       "--signal B:USR2@120: ", "--requeue: ", "--open-mode append: "):
            self.assertIn(f"toprun: {reason}", dry.err)
        self.assertEqual(list(folder.iterdir()), [])

        finished = self.submit(*words, cwd=folder)
        self.assert_ok(finished)
        id = finished.out.strip()
        self.assertIn(f"toprun logs -f {id}", finished.err)
        self.assertEqual(self.login("scontrol", "write", "batch_script", id, "-").out, dry.out)
        self.assertEqual((folder / f"logs/{id}/job.sbatch").read_text(), dry.out)

        job = self.wait_for_state(id, "COMPLETED")
        self.assertEqual((job["JobName"], job["NumNodes"], job["CPUs/Task"], job["TimeLimit"]),
                         ("bash", "2", "2", "01:00:00"))
        self.assertEqual(job["StdOut"], f"{folder}/logs/bash.{id}.out")
        rows = shown((folder / f"logs/bash.{id}.out").read_text())
        self.assertEqual(column(rows, "RANK"), ["0", "1", "2", "3"])
        nodes = column(rows, "TOPRUN_NODE_NAME")
        for node in set(nodes):
            text = (folder / f"logs/{id}/{node}.out").read_text()
            self.assertEqual(len(shown(text)), 2, text)
            self.assertEqual(text.count("to stderr"), 2)
        self.assertIn("4 ranks on 2 nodes, all ended with 0",
                      (folder / f"logs/{id}/{nodes[0]}.out").read_text())
        self.assertTrue((folder / f"logs/{id}/report.json").exists())

    def test_a_report_elsewhere_is_found_by_the_jobs_id(self):
        folder = self.folder()
        words = ["--nodes", "1", "--report", "own.json", "--no-python", "sh", "-c", "exit 3"]
        first = self.submitted(*words, cwd=folder)
        self.wait_for_state(first, "FAILED")
        for words_of_status in (["status", first], ["report", first]):
            told = self.login(TOPRUN, *words_of_status, cwd=folder)
            self.assert_ok(told)
            self.assertRegex(told.out, r"rank 0 on n\d ended with exit code 3")
        second = self.submitted(*words, cwd=folder)
        self.wait_for_state(second, "FAILED")
        self.assertIn("  attempt 0  rank 0 on ", self.login(TOPRUN, "status", second, cwd=folder).out)
        self.assertNotIn("  attempt 0  ", self.login(TOPRUN, "status", first, cwd=folder).out, "the file is of another job")

    def test_server_dry_run_asks_slurm(self):
        finished = self.submit("--dry-run=server", "--nodes", "2", "--no-python", "true")
        self.assert_ok(finished)
        self.assertIn("#SBATCH --nodes=2\n", finished.out)
        self.assertRegex(finished.err, r"toprun: Slurm, asked without submitting: Job \d+ to start at .* partition main")
        self.assertEqual(self.login("squeue", "--noheader").out, "")

    def test_a_refused_value_says_where_it_comes_from(self):
        folder = self.folder()
        (folder / "toprun.toml").write_text('\npartition = "gpu"\n')
        nodes = self.folder()
        (nodes / "toprun.toml").write_text("nodes = 9\n")
        for cwd, env, pattern in [
            (folder, {}, r"--partition gpu \(\S*toprun.toml:2\): this cluster has main, urgent; .*"),
            (nodes, {}, r"--nodes 9 \(\S*toprun.toml:1\): partition main has 4; .*"),
            (self.folder(), {"SBATCH_PARTITION": "foo"},
             r"--partition foo \(SBATCH_PARTITION\): this cluster has main, urgent; .*"),
        ]:
            with self.subTest(pattern):
                finished = self.submit("--no-python", "true", cwd=cwd, env=env)
                self.assertEqual(finished.code, 2, finished)
                self.assert_one_line(finished, pattern)

    def test_a_dry_run_behind_the_script_submits_nothing(self):
        folder = self.folder()
        (folder / "a.py").write_text("")
        finished = self.submit("a.py", "-N", "2", "--dry-run", cwd=folder)
        self.assertEqual(finished.code, 2, finished)
        self.assert_one_line(finished, "--dry-run: it comes after the script, so it belongs to the script; write it "
                                       "before the script .* write -- before the script's options")
        self.assertEqual(self.login("squeue", "--noheader").out, "")
        self.submitted("a.py", "--", "--dry-run", cwd=folder)

    def test_a_dry_run_behind_a_program_is_the_programs(self):
        finished = self.submit("--no-python", "true", "--dry-run", cwd=self.folder())
        self.assert_ok(finished)
        self.assertIn("toprun: --dry-run comes after the program, so it is passed to the program, "
                      "and toprun submits the job", finished.err)
        self.assertEqual(self.wait_for_state(finished.out.strip(), "COMPLETED")["JobState"], "COMPLETED")

    def test_hostile_words_arrive_as_they_are(self):
        folder = self.folder() / "dir with 'blank' $(touch injected) %j"
        folder.mkdir()
        (folder / "arguments.py").write_text(
            "import json, sys; json.dump(sys.argv[1:], open('arguments.json', 'w'))")
        script = "it's \"my\" `script`.py"
        (folder / script).write_text((folder / "arguments.py").read_text())
        id = self.submitted("--job-name", "$(id) # 'x' \\ \"", "--log-dir", "my logs; %j", script,
                            *HOSTILE, cwd=folder)
        job = self.wait_for_state(id, "COMPLETED", "FAILED")
        self.assertEqual(job["JobState"], "COMPLETED", list(folder.rglob("*.out")))
        self.assertEqual(json.loads((folder / "arguments.json").read_text()), HOSTILE)
        self.assertEqual(job["NumNodes"], "1")
        self.assertEqual([path.name for path in folder.rglob("injected")], [])
        self.assertTrue((folder / f"my logs; %j/{id}/n0.out").exists()
                        or list((folder / f"my logs; %j/{id}").glob("n*.out")))

    def test_random_words_arrive_as_they_are(self):
        """What nobody thought of: the seed stands in the message of a failure."""
        seed = int(os.environ.get("TOPRUN_TEST_SEED", time.time()))
        chance = random.Random(seed)
        pieces = ["$(touch injected)", "`touch injected`", "${HOME}", "$'", '"', "'", "\\", "\n", "\r",
                  "\t", " ", "  ", "#SBATCH --nodes=9", "\n#SBATCH --wrap=id\n", "EOF", "%j", "%%", "\x1b",
                  "\x7f", "é", "漢", "\u202e", "\udcff", "-", "--", "--nodes", "=", ";", "&", "|", "<", ">",
                  "(", "*", "?", "[a-z]", "{a,b}", "~", "!", "!!", "^", "x", "0"]

        def word():
            return "".join(chance.choice(pieces) for _ in range(chance.randrange(8)))

        for _ in range(3):
            folder = self.folder()
            (folder / "arguments.py").write_text(
                "import json, os, sys\n"
                "json.dump([os.environ['V'], *sys.argv[1:]], open('arguments.json', 'w'))")
            words = [word() for _ in range(200)]
            if words[1] == "--":  # right behind the script it is the separator, as of torchrun
                words[1] += "x"
            id = self.submitted("-e", f"V={words[0]}", "arguments.py", *words[1:], cwd=folder)
            job = self.wait_for_state(id, "COMPLETED", "FAILED")
            self.assertEqual((job["JobState"], job["NumNodes"]), ("COMPLETED", "1"),
                             f"TOPRUN_TEST_SEED={seed}")
            self.assertEqual(json.loads((folder / "arguments.json").read_text()), words,
                             f"TOPRUN_TEST_SEED={seed}")
            self.assertEqual(sorted(path.name for path in folder.iterdir()),
                             ["arguments.json", "arguments.py", "logs"], f"TOPRUN_TEST_SEED={seed}")

    def test_wait_gives_the_jobs_exit_code(self):
        folder = self.folder()
        for code in (0, 7):
            finished = self.submit("--wait", "--no-python", "--", "sh", "-c", f"exit {code}",
                                   cwd=folder)
            self.assertEqual(finished.code, code, finished)
            self.assertRegex(finished.out, r"\A\d+\n\Z")

    def test_every_line_is_shown_once(self):
        """Slurm's file and HOST.out hold the same lines, but for the batch script's own."""
        folder = self.folder()
        lines = 2000
        (folder / "worker.sh").write_text(
            f"i=0; while [ $i -lt {lines} ]; do echo rank $RANK line $i; i=$((i+1)); done\n"
            "echo equal; echo error >&2\n")
        script = folder / "job.sh"
        script.write_text("#!/bin/bash\n#SBATCH --nodes=2 --nodelist=n0,n1 --output=job.%j.out\n"
                          "echo before\necho equal\n"
                          f"{TOPRUN} --node-log $SLURM_JOB_ID --no-python sh worker.sh\n"
                          "echo after\nprintf rest\n")
        id = self.login("sbatch", "--parsable", script, cwd=folder).out.strip()
        (folder / id).mkdir(exist_ok=True)  # as toprun submit does
        followed = self.login(TOPRUN, "logs", "-f", id, cwd=folder)
        afterwards = self.login(TOPRUN, "logs", id, cwd=folder)
        expected = ["before", "equal", "after", "rest"]
        for rank in range(2):
            expected += [f"n{rank}: rank {rank} line {i}" for i in range(lines)]
            expected += [f"n{rank}: equal", f"n{rank}: error"]
        for finished in (followed, afterwards):
            self.assert_ok(finished)
            shown = [line for line in finished.out.splitlines() if "toprun: " not in line]
            self.assertEqual(sorted(shown), sorted(expected))
            self.assertEqual(finished.out.count("toprun: "), 1)
            # Each host's lines and the script's are in their own order.
            for words in ("n0: rank", "n1: rank"):
                self.assertEqual([line for line in shown if line.startswith(words)],
                                 [line for line in expected if line.startswith(words)])
        ends = self.login(TOPRUN, "logs", "--tail", "3", id, cwd=folder)
        self.assert_ok(ends)
        last = [f"{host}: {line}" for host in ("n0", "n1") for line in (folder / id / f"{host}.out").read_text().splitlines()[-3:]]
        self.assertEqual(sorted(ends.out.splitlines()), sorted([*last, "equal", "after", "rest"]))

    def test_follow_from_the_last_lines_on(self):
        folder = self.folder()
        go_on = folder / "go-on"
        id = self.submitted("--nodelist", "n0,n1", "--nproc-per-node", "1", "--no-python", "sh", "-c",
                            "seq 5; echo ready; until test -e go-on; do sleep 0.1; done; seq 6 8", cwd=folder)
        printed = [folder / "logs" / id / f"n{node}.out" for node in range(2)]
        wait_for(lambda: all(path.exists() and "ready" in path.read_text() for path in printed), "both print")
        run = self.begin(*self.cluster.on("ctl", TOPRUN, "logs", "-f", "-n", "2", id), cwd=folder)
        run.prints("(?s)ready.*ready")
        go_on.touch()
        done = run.wait(30)
        self.assert_ok(done)
        for node in range(2):
            own = [line for line in done.out.splitlines() if line.startswith(f"n{node}: ") and "toprun:" not in line]
            self.assertEqual(own, [f"n{node}: {text}" for text in ("5", "ready", "6", "7", "8")])

    def test_follow_shows_the_output_and_gives_the_exit_code(self):
        finished = self.submit("--follow", "--nodes", "2", *shows("RANK", then=(
            "touch up.$RANK; until test -e up.0 && test -e up.1; do sleep 0.1; done; exit 3")),
            cwd=self.folder(), limit=60)
        self.assertEqual(finished.code, 3, finished)
        self.assertRegex(finished.err, r"toprun: job \d+: toprun status \d+")
        self.assertFalse(re.findall(r"(?m)^\d+$", finished.out), finished)
        rows = re.findall(r"(?m)^(n\d: )?shown RANK=(\d)", finished.out)
        self.assertEqual(sorted(rank for _, rank in rows), ["0", "1"], finished)
        self.assertTrue(all(host for host, _ in rows), finished)

    def test_a_chain_goes_on_after_success_only(self):
        folder = self.folder()
        good = self.submitted("--no-python", "sleep", "1", cwd=folder)
        after_good = self.submitted("--after", good, "--no-python", "touch", "after-good", cwd=folder)
        bad = self.submitted("--after", good, "--no-python", "false", cwd=folder)
        self.submitted("--after", bad, "--no-python", "touch", "after-bad", cwd=folder)
        rescue = self.submitted("--after", f"{bad}:notok", "--after", f"{after_good}:any",
                                "--no-python", "touch", "rescue", cwd=folder)
        self.wait_for_state(rescue, "COMPLETED")
        wait_for(lambda: not self.login("squeue", "--noheader").out,
                 "what can never begin leaves the queue")
        self.assertEqual(sorted(path.name for path in folder.iterdir()),
                         ["after-good", "logs", "rescue"])

    def test_each_task_of_an_array_is_a_world_of_its_own(self):
        folder = self.folder()
        finished = self.submit("--array", "1-2", "--nodes", "2", "--wait", *shows(
            "RANK", "WORLD_SIZE", "MASTER_PORT", "SLURM_ARRAY_TASK_ID",
            # A rank that fails ends the other, which is to have said its part by then.
            then='touch $SLURM_ARRAY_TASK_ID.$RANK; until test -e $SLURM_ARRAY_TASK_ID.0 && '
                 'test -e $SLURM_ARRAY_TASK_ID.1; do sleep 0.1; done; '
                 'exit $SLURM_ARRAY_TASK_ID'), cwd=folder)
        id = finished.out.strip()
        self.assertEqual(finished.code, 2, finished)
        ports = set()
        for task in ("1", "2"):
            rows = [row for path in (folder / f"logs/{id}_{task}").glob("n*.out")
                    for row in shown(path.read_text())]
            self.assertEqual(sorted(column(rows, "RANK")), ["0", "1"], rows)
            self.assertEqual(set(column(rows, "SLURM_ARRAY_TASK_ID")), {task})
            ports |= set(column(rows, "MASTER_PORT"))
            self.assertTrue((folder / f"logs/{id}_{task}/report.json").exists())
        self.assertEqual(len(ports), 2)
        self.assertTrue((folder / f"logs/{id}/job.sbatch").exists())

    def test_a_requeued_job_counts_and_keeps_its_output(self):
        folder = self.folder()
        id = self.submitted("--nodes", "2", *shows("RANK", "SLURM_RESTART_COUNT", then=(
            'test "${SLURM_RESTART_COUNT-0}" = 1 || { touch begun.$RANK; exec sleep 60; }')),
            cwd=folder)
        wait_for(lambda: len(list(folder.glob("begun.*"))) == 2, "both ranks run")
        self.assert_ok(self.login("scontrol", "requeue", id))
        self.wait_for_state(id, "PENDING")
        self.start_again(id)
        self.wait_for_state(id, "COMPLETED", limit=60)
        text = (folder / f"logs/bash.{id}.out").read_text()
        self.assertEqual(sorted(column(shown(text), "SLURM_RESTART_COUNT")),
                         ["1", "1", "unset", "unset"], text)
        hosts = "".join(path.read_text() for path in (folder / f"logs/{id}").glob("n*.out"))
        self.assertEqual(len(shown(hosts)), 4, hosts)

    def test_workers_are_told_of_the_time_limit(self):
        # Slurm looks at the limits of jobs every 30 s, so that a lead must be that much shorter.
        lead, latest = 28, 32
        handler = f'trap "date +%s > told.$RANK; exit 0" USR2; {support.OBEDIENT}'
        jobs = []
        for nodes in (1, 2):  # the batch shell is toprun itself, and toprun has a step of its own
            folder = self.folder()
            id = self.submitted("--nodes", nodes, "--time", "1", "--signal", f"USR2@{lead}",
                                "--no-python", "bash", "-c", handler, cwd=folder)
            jobs.append((id, nodes, folder, self.wait_for_state(id, "RUNNING")))
        for id, nodes, folder, job in jobs:
            self.wait_for_state(id, "COMPLETED", limit=latest + lead)
            end = time.mktime(time.strptime(job["EndTime"], "%Y-%m-%dT%H:%M:%S"))
            for rank in range(nodes):
                self.assertGreaterEqual(end - int((folder / f"told.{rank}").read_text()), lead)

    def test_refusals_are_one_line(self):
        folder = self.folder()
        for words, code, pattern in [
            (["--partition", "mai"], 2,
             r"--partition mai: this cluster has main, urgent; did you mean main\?"),
            (["--nodes", "9"], 2, r"--nodes 9: partition main has 4; .*"),
            (["--gpus-per-node", "2"], 2, r"2 GPUs on each node: no node of this cluster has a GPU .*"),
            (["-N2", "--nproc-per-node", "100"], 2,
             r"--nproc-per-node 100: a node of partition main has at most \d+ CPUs, and toprun requests one .*"),
            (["-N2", "--hosts", "n0,n1"], 2, r"--hosts n0,n1: it lists hosts for ssh, .*--nodelist"),
            (["--contiguous"], 2, r"--contiguous: has no effect here: topology/tree .*"),
            (["--constraint", "h100"], 1, r"Slurm refuses the job: Invalid feature specification.*"),
            (["--time", "soon"], 2, r"--time soon: must be a time, as 90 \(minutes\), 1:30:00 or 2-12:00:00"),
            (["--time", "1:2:3:4"], 2, r"--time 1:2:3:4: must be a time, as .*"),
            (["--array", "5-1"], 2, r"--array 5-1: must be task numbers, each range from low to high, as .*"),
            (["-w", "n[0-1]", "-x", "n1,n2"], 2, r"--nodelist n\[0-1\] and --exclude n1,n2: both name n1; .*"),
            (["-e", "NOPE_TOKEN"], 2, r"-e NOPE_TOKEN: the variable is not set here; export the variable, .*"),
            (["--array", "0-100000"], 1, r"Slurm refuses the job: Invalid job array specification; this cluster "
                                         r"takes task numbers up to \d+ \(MaxArraySize .*"),
            (["--chdir", "nowhere"], 2, r"--chdir nowhere: No such file or directory; .*"),
        ]:
            with self.subTest(words):
                finished = self.submit(*words, "--no-python", "true", cwd=folder)
                self.assertEqual(finished.code, code, finished)
                self.assertEqual(finished.out, "")
                self.assert_one_line(finished, pattern)

    def test_it_says_what_slurm_would_not_say(self):
        for words, said in [
            (["-e", "UNSET_NAME"], "toprun: -e UNSET_NAME: the variable is not set here, so the job does not get it\n"),
            (["--output", "/nonexist/dir/%j.out"],
             "toprun: --output /nonexist/dir/%j.out: there is no folder /nonexist/dir/ on this host; if the same "
             "holds on the job's first node, Slurm ends the job without a message: make the folder first\n"),
            (["--output", "x.%j.out"], None),
            (["-m", "nosuch.module"], "does not find the module nosuch, neither in this folder nor elsewhere: the job "
                                      "fails, unless its nodes have it\n"),
            (["-m", "json.tool"], None),
        ]:
            with self.subTest(words):
                program = [] if "-m" in words else ["--no-python", "true"]
                finished = self.submit("--dry-run", *words, *program, cwd=self.folder())
                self.assert_ok(finished)
                if said:
                    self.assertIn(said, finished.err)
                else:
                    self.assertNotRegex(finished.err, "there is no folder|does not find")

    def test_the_pages_token_is_in_no_output(self):
        folder = self.folder()
        id = self.submitted("--web", "--no-python", "sh", "-c", "sleep 30", cwd=folder)
        self.addCleanup(self.login, "scancel", id)
        own = folder / "logs" / id / "n0.out"
        shown = rf"(?m)^toprun: the job's page is on n0; toprun status {id} shows its address$"
        wait_for(lambda: own.exists() and re.search(shown, own.read_text()), "the page is announced", 30)
        for path in (folder / "logs").glob("**/*.out"):
            self.assertNotIn("token=", path.read_text(), path)
        self.assertRegex(self.login(TOPRUN, "status", id, cwd=folder).out, r"(?m)^  page +http://\S+token=\S+ on n0$")

    def test_more_ranks_than_gpus_are_noted(self):
        folder = self.folder()
        (folder / "train.py").touch()
        for ranks, told in (2, 0), (3, 1):
            finished = self.run_to_end(TOPRUN, "submit", "--dry-run=client", "-N", "1", "--gpus-per-node", "2", "--nproc-per-node", ranks,
                                       "train.py", cwd=folder, env={"PATH": "/nowhere"})
            self.assert_ok(finished)
            note = f"toprun: --nproc-per-node {ranks}: the job requests 2 GPUs on each node, so several ranks share a GPU\n"
            self.assertEqual(finished.err.count(note), told, finished)

    def test_a_script_that_is_removed_while_its_job_waits(self):
        folder = self.folder()
        (folder / "train.py").write_text("print('runs')\n")
        id = self.submitted("--nodes", "1", "--slurm-arg=--hold", "train.py", cwd=folder)
        (folder / "train.py").unlink()
        self.assertRegex(self.login(TOPRUN, "status", id, cwd=folder).out, r"(?m)^  state +PENDING")
        self.login("scontrol", "release", id)
        self.wait_for_state(id, "FAILED")
        told = self.login(TOPRUN, "status", id, cwd=folder)
        self.assert_ok(told)
        self.assertRegex(told.out, rf"(?m)^  state +FAILED, exit code 2; its output ends with: script train\.py in {folder}: No such file or directory; check the path$")

    def test_without_slurm_it_says_what_was_looked_for(self):
        finished = self.run_to_end(support.binary(), "submit", "--no-python", "/bin/true",
                                   env={"PATH": "/nowhere"})
        self.assertEqual(finished.code, 1)
        self.assert_one_line(finished, "cannot submit: no sbatch in PATH; .*")

    def test_an_engine_that_babbles(self):
        programs = self.folder()
        for name in ("sinfo", "scontrol"):
            (programs / name).write_text("#!/bin/sh\necho 'warning: site news' >&2\n")
        (programs / "sbatch").write_text("#!/bin/sh\necho 'warning: site news' >&2\n"
                                         "echo 'Welcome'\ncat > script\necho '17;alps'\n")
        for path in programs.iterdir():
            path.chmod(0o755)
        folder = self.folder()
        finished = self.run_to_end(support.binary(), "submit", "--no-python", "true", cwd=folder,
                                   env={"PATH": f"{programs}:{os.environ['PATH']}"})
        self.assert_ok(finished)
        self.assertEqual(finished.out, "17\n")
        self.assertEqual(finished.err.count("warning: site news\n"), 1, finished)
        self.assertEqual((folder / "script").read_text(),
                         (folder / "logs/17/job.sbatch").read_text())


if __name__ == "__main__":
    unittest.main()
