# ctest: TIMEOUT 240 SANITIZED EMULATED LABELS torch
"""One node: what a worker finds, and what becomes of what it prints."""

import datetime
import json
import os
import re
import resource
import subprocess
import unittest

import support

SH = ["--no-python", "sh", "-c"]
LAST_LINE = (r"toprun: \d{4}-\d\d-\d\d \d\d:\d\d:\d\d → (\d{4}-\d\d-\d\d )?\d\d:\d\d:\d\d "
             r"\([\d.]+ \w+\): %s\n\Z")
OMP_NOTICE = "toprun: OMP_NUM_THREADS=1 for each process"

# One write for each line: torchrun itself would tear them.
DUMP = "import json, os; os.write(1, (json.dumps(dict(os.environ)) + chr(10)).encode())"


def mounted_tmpfs(test, size):
    """A small file system of its own, for what happens when it is full."""
    support.needs_root()
    folder = test.folder()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "none", folder],
                      capture_output=True).returncode != 0:
        test.skipTest("cannot mount a tmpfs here")
    test.addCleanup(subprocess.run, ["umount", "--lazy", folder], capture_output=True)
    return folder


class Environment(support.TestCase):
    def dump(self, launcher, folder):
        """The environment of each rank, by rank."""
        script = folder / "dump.py"
        script.write_text(DUMP)
        finished = self.run_to_end(*launcher, script, env={"PYTHON_EXEC": support.python(),
                                                           "CUDA_VISIBLE_DEVICES": "3, 4"})
        self.assert_ok(finished)
        ranks = [json.loads(line) for line in finished.out.splitlines()]
        for rank in ranks:
            rank.pop(support.MARK)
            rank.pop("_", None)
        return sorted(ranks, key=lambda rank: int(rank["RANK"]))

    def test_a_name_of_the_root_that_does_not_resolve_is_told(self):
        finished = self.toprun("--nnodes", "2", "--node-rank", "0", "--master-addr", "n9.invalid", "--rdzv-conf", "join_timeout=1", "--no-python", "true")
        self.assertNotEqual(finished.code, 0)
        self.assertEqual(finished.err.count("n9.invalid cannot be resolved on"), 1, finished)

    def test_differs_from_torchrun_s_only_where_said(self):
        self.compare()

    def test_differs_with_more_flags_no_more(self):
        self.compare("--virtual-local-rank", "--signals-to-handle", "SIGTERM,SIGUSR1",
                     "--max-restarts", 2)

    def compare(self, *more):
        folder, port = self.folder(), support.free_port()
        flags = ["--nproc-per-node", 2, "--master-addr", "127.0.0.1", "--master-port", port,
                 "--rdzv-id", "job7", "--role", "trainer", "--log-dir", folder / "logs", *more]
        theirs = self.dump([*support.torchrun(), *flags], folder)
        ours = self.dump([support.binary(), *flags], folder)
        for local_rank, (their, our) in enumerate(zip(theirs, ours, strict=True)):
            name = rf"{folder}/logs/job7_\w{{8}}/attempt_0/{local_rank}/error\.json"
            for environment in (their, our):
                self.assertRegex(environment.pop("TORCHELASTIC_ERROR_FILE"), rf"^{name}$")
            self.assertEqual(our.pop("TOPRUN_NODE_NAME"), os.uname().nodename)
            self.assertEqual(our.pop("TOPRUN_ATTEMPT"), "0")
            self.assertEqual(our, their)

    def test_variable_by_variable(self):
        port = support.free_port()
        finished = self.toprun(
            "--nnodes", 1, "--nproc-per-node", 2, "--master-port", port, "--rdzv-id", "job7", *SH, "env | sort",
            env={"RANK": "77", "WORLD_SIZE": "99", "LOCAL_RANK": "5", "PET_ROLE": "trainer",
                 "TOPRUN_PREFIX": "1", "TOPRUN_SECRET": "hush", "CUDA_VISIBLE_DEVICES": "3,4"})
        self.assert_ok(finished)
        for rank in ("0", "1"):
            found = dict(line.split("=", 1) for line in re.findall(
                rf"^\[trainer{rank}\]:(\w+=.*)$", finished.out, re.M))
            expected = {
                "RANK": rank, "LOCAL_RANK": rank, "WORLD_SIZE": "2", "LOCAL_WORLD_SIZE": "2",
                "GROUP_RANK": "0", "GROUP_WORLD_SIZE": "1", "ROLE_NAME": "trainer",
                "ROLE_RANK": rank, "ROLE_WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1",
                "MASTER_PORT": str(port), "TORCHELASTIC_RESTART_COUNT": "0",
                "TORCHELASTIC_MAX_RESTARTS": "0", "TORCHELASTIC_RUN_ID": "job7",
                "TORCHELASTIC_USE_AGENT_STORE": "True", "TORCH_NCCL_ASYNC_ERROR_HANDLING": "1",
                "OMP_NUM_THREADS": os.environ.get("OMP_NUM_THREADS", "1"),
                "CUDA_VISIBLE_DEVICES": "3,4", "TOPRUN_ATTEMPT": "0",
                "TOPRUN_NODE_NAME": os.uname().nodename}
            self.assertEqual({name: found.get(name) for name in expected}, expected)
            for name in found:  # no option and no secret of ours
                self.assertNotRegex(name, r"^PET_|^TOPRUN_(?!ATTEMPT|NODE_NAME|LOCATION)")

    def test_omp_num_threads(self):
        for nproc, given, got, told in ((2, "", "1", 1), (2, "6", "6", 0), (1, "", "unset", 0)):
            for verbose in (["-v"], []):
                with self.subTest(nproc=nproc, given=given, verbose=verbose):
                    environment = ["env", *([f"OMP_NUM_THREADS={given}"] if given else ["-u", "OMP_NUM_THREADS"])]
                    finished = self.run_to_end(*environment, support.binary(), *verbose, "--nproc-per-node", nproc,
                                               *SH, "echo ${OMP_NUM_THREADS-unset}")
                    self.assert_ok(finished)
                    self.assertEqual(finished.out.split(), [got] * nproc)
                    self.assertEqual(finished.err.count(OMP_NOTICE), told if verbose else 0)

    def test_arguments_after_the_script_are_the_script_s(self):
        arguments = ["-np", "8", "-n", "2", "--help", "--nnodes", "", "a b", "--", "-v"]
        script = self.folder() / "arguments.py"
        script.write_text("import sys; print(sys.argv[1:])")
        for dashes in ([], ["--"]):
            finished = self.toprun(*dashes, script, *arguments, env=support.without_torch())
            self.assert_ok(finished)
            self.assertEqual(finished.out, f"{arguments}\n")
            self.assertIn("toprun: --nnodes comes after the script, so it belongs to the script; write options of toprun "
                          "before the script\n", finished.err)
        finished = self.toprun(script, "--", "--nnodes", "2", env=support.without_torch())
        self.assertNotIn("comes after", finished.err)
        self.assert_one_line(self.toprun("--web", "8197", script, "--nnodes", "2"),
                             r"script 8197 in .*: No such file or directory; if the page is to be at this port, write --web=8197")

    def test_a_variable_that_is_not_set_is_told(self):
        finished = self.toprun("-e", "NOPE_TOKEN", *SH, "true")
        self.assert_ok(finished)
        self.assertIn("toprun: -e NOPE_TOKEN: the variable is not set here, so the ranks do not get it\n", finished.err)

    def test_a_requirement_for_several_nodes_is_told(self):
        said = "toprun: --require-rdma has no effect: all ranks are on one node\n"
        variable = {"TOPRUN_REQUIRE_RDMA": "1"}
        for option, env, word, told in ((["--require-rdma"], {}, "", 1), (["--require_rdma"], {}, "", 1),
                                        ([], variable, "", 0), ([], variable, "--require-rdma", 0)):
            finished = self.toprun(*option, *SH, "true", word, env=env)
            self.assert_ok(finished)
            self.assertEqual(finished.err.count(said), told, finished)

    def test_limits_mask_and_descriptors_are_inherited(self):
        show = "ulimit -n; umask; ls /proc/self/fd | wc -l; grep -E '^Sig(Blk|Ign)' /proc/self/status"
        change = "ulimit -S -n 77; umask 027; trap '' USR2; exec \"$@\""
        direct = self.run_to_end("sh", "-c", f"{change}", "sh", "sh", "-c", show)
        ours = self.run_to_end("sh", "-c", change, "sh", support.binary(), *SH, show)
        self.assert_ok(direct)
        # Signals 32 and 33 are the C library's own: nobody can set them back.
        def without_the_librarys(out):
            return re.sub(r"(?<=SigIgn:\t)[0-9a-f]+",
                          lambda mask: f"{int(mask[0], 16) & ~(3 << 31):016x}", out)

        self.assertEqual(without_the_librarys(ours.out), without_the_librarys(direct.out))


# As many store clients as a large node has ranks, all of them in one: each says that it is one, asks
# for an answer, and stays.
CLIENTS = """\
import os, resource, socket
hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
address = os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"])
clients = [socket.create_connection(address) for _ in range(1500)]
for client in clients:
    client.sendall(b"\\x00\\xce\\xf7\\x85\\x3c\\x0d\\x07\\0\\0\\0")
print(sum(client.recv(4, socket.MSG_WAITALL) == b"\\x07\\0\\0\\0" for client in clients), "served")
"""


class OpenFiles(support.TestCase):
    """The agent takes what the administrator allows, the ranks keep what the shell gave."""

    def limited(self, *words, **options):
        hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        if hard != resource.RLIM_INFINITY and hard < 8192:
            self.skipTest("the hard limit on open files is too low")
        return self.run_to_end("bash", "-c", 'ulimit -Sn 200; exec "$@"', "bash", support.binary(),
                               "--no-preflight", *words, **options)

    def test_ranks_have_the_limit_of_the_shell(self):
        show = ["--no-python", "bash", "-c", "ulimit -Sn"]
        in_place = {"RANK": "0", "WORLD_SIZE": "1", "LOCAL_RANK": "0", "LOCAL_WORLD_SIZE": "1",
                    "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(support.free_port())}
        for options, env in ([["--nproc-per-node", 2], {}], [["--max-restarts", 1], {}],
                             [["--before", "test $(ulimit -Sn) = 200"], {}], [["--ranks-in-place"], in_place]):
            with self.subTest(options):
                finished = self.limited(*options, *show, env=env)
                self.assert_ok(finished)
                self.assertEqual(set(finished.out.split()), {"200"}, finished)

    def test_more_clients_than_the_shell_s_limit(self):
        script = self.folder() / "clients.py"
        script.write_text(CLIENTS)
        finished = self.limited(script, env=support.without_torch())
        self.assert_ok(finished)
        self.assertEqual(finished.out, "1500 served\n")

    def test_more_ranks_than_the_shell_s_limit(self):
        finished = self.limited("--nproc-per-node", 500, "--no-python", "sh", "-c", "echo $RANK", limit=60)
        self.assert_ok(finished)
        self.assertEqual(sorted(map(int, finished.out.split())), list(range(500)))


class Streams(support.TestCase):
    def test_standard_input_is_shared_on_one_node(self):
        read, write = os.pipe()
        with os.fdopen(write, "w") as file:
            file.write("typed\n")
        finished = self.toprun(*SH, "read line; echo got $line", stdin=read)
        os.close(read)
        self.assertEqual(finished.out, "got typed\n")

    def test_lines_are_never_torn(self):
        lines = 150
        script = self.folder() / "halves.py"
        script.write_text(f"""
import os, sys, time
rank = os.environ["RANK"]
for n in range({lines}):
    os.write(1, f"{{rank}}:{{n}}:".encode() + b"x" * 40)
    time.sleep(0.002)
    os.write(1, b"y" * 40 + b"\\n")
""")
        finished = self.toprun("--nproc-per-node", 4, script, env=support.without_torch())
        self.assert_ok(finished)
        self.assertEqual(sorted(finished.out.splitlines()),
                         sorted(f"{rank}:{n}:" + "x" * 40 + "y" * 40
                                for rank in range(4) for n in range(lines)))

    def test_an_unfinished_line_is_shown_and_another_rank_starts_on_a_new_one(self):
        ready = self.folder()
        finished = self.toprun(
            "--nproc-per-node", 2, *SH,
            f'[ $RANK = 0 ] && {{ printf "prompt> "; sleep 1; >"{ready}/go"; exit; }}; '
            f'while [ ! -e "{ready}/go" ]; do sleep 0.1; done; echo other')
        self.assertEqual(finished.out, "prompt> \nother\n")

    def test_100_mb_without_a_newline(self):
        size = 100_000_000
        with open(self.folder() / "out", "w+b") as file:
            run = subprocess.Popen([support.binary(), *SH, f"head -c {size} /dev/zero | tr '\\0' x; "
                                    "cat /proc/$PPID/status >&2"], stdout=file,
                                   stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True)
            err = run.communicate(timeout=100)[1]
            self.assertEqual((run.returncode, os.path.getsize(file.name)), (0, size), err)
        resident = [int(kb) for kb in re.findall(r"^VmRSS:\s+(\d+) kB", err, re.M)]
        self.assertEqual(len(resident), 1)
        if not support.SANITIZED:
            self.assertLess(resident[0], 32 * 1024)

    def test_every_byte_passes(self):
        script = self.folder() / "bytes.py"
        script.write_text("import os; os.write(1, bytes(range(256)) + b'\\0\\0end\\n')")
        path = self.folder() / "out"
        with open(path, "wb") as file:
            subprocess.run([support.binary(), script], stdout=file, stdin=subprocess.DEVNULL,
                           stderr=subprocess.DEVNULL, timeout=30, check=True,
                           env={**os.environ, **support.without_torch()})
        self.assertEqual(path.read_bytes(), bytes(range(256)) + b"\0\0end\n")

    def test_a_worker_that_closes_its_output_goes_on(self):
        finished = self.toprun(*SH, "echo before; exec >&- 2>&-; sleep 0.5; exit 5")
        self.assertEqual((finished.code, finished.out), (5, "before\n"))

    def test_the_console_is_closed(self):
        marker = self.folder() / "went-on"
        finished = self.run_to_end("sh", "-c", '"$@" | true; wait', "sh", support.binary(), *SH,
                                   f'i=0; while [ $i -lt 2000 ]; do echo line $i; i=$((i+1)); done; '
                                   f'>"{marker}"')
        self.assert_ok(finished)
        self.assertTrue(marker.exists(), finished)
        self.assertEqual(finished.err.count("cannot write to standard output: Broken pipe"), 1)
        self.assertRegex(finished.err, LAST_LINE % "1 rank on 1 node, all ended with 0")


class Logs(support.TestCase):
    def test_layout_of_tee_and_redirects(self):
        folder = self.folder() / "made" / "by-toprun"
        finished = self.toprun("--nproc-per-node", 2, "--log-dir", folder, "--rdzv-id", "job7",
                               "--tee", "0:3", "--redirects", "1:1", *SH,
                               "echo out $RANK; echo err $RANK >&2")
        self.assert_ok(finished)
        self.assertEqual(finished.out, "[default0]:out 0\n")
        said = [line for line in finished.err.splitlines() if not line.startswith("toprun:")]
        self.assertEqual(sorted(said), ["[default0]:err 0", "err 1"])
        files = {str(path.relative_to(folder)): path.read_text()
                 for path in folder.rglob("*.log")}
        run = next(iter(files)).split("/")[0]
        self.assertRegex(run, r"^job7_\w{8}$")
        self.assertEqual(files, {f"{run}/attempt_0/0/stdout.log": "out 0\n",
                                 f"{run}/attempt_0/0/stderr.log": "err 0\n",
                                 f"{run}/attempt_0/1/stdout.log": "out 1\n"})

    def test_of_a_failure_the_rank_s_own_file_is_named_where_one_is_kept(self):
        folder = self.folder()
        for options, lines, row in (
                (["--tee", "3"], 1, r"logs +%s/[\w-]+/attempt_0/1/stderr\.log on \S+"),
                (["--redirects", "1"], 1, r"logs +%s/[\w-]+/attempt_0/1/stdout\.log on \S+"),
                (["--tee", "0:3"], 30, r"next +.*--log-dir DIR --tee 3 to keep all output.*"),
                ([], 30, r"next +.*--log-dir DIR --tee 3 to keep all output.*"),
                ([], 1, r"next +the program ended by itself with 5: look for the code that ends it with 5, such as sys\.exit\(5\), or for what prints the last line of its output")):
            with self.subTest(options, lines=lines):
                finished = self.toprun("--nproc-per-node", 2, "--log-dir", folder, *options, *SH,
                                       f"[ $RANK = 1 ] && {{ seq {lines} >&2; exit 5; }}; exec sleep 60")
                self.assertEqual(finished.code, 5, finished)
                rows = re.findall(r"(?m)^  ((?:logs|next) .*)$", finished.err)
                has_file = row.startswith("logs")
                self.assertEqual(len(rows), 2 if has_file else 1, finished)
                self.assertRegex(rows[0], "^" + row.replace("%s", re.escape(str(folder))) + "$")
                if has_file:
                    self.assertTrue(os.path.exists(rows[0].split()[1]), rows)
                    self.assertRegex(rows[1], "^next +the program ended by itself with 5: look for the code")

    def test_two_runs_keep_their_logs_apart(self):
        folder = self.folder()
        for _ in range(2):
            self.assert_ok(self.toprun("--log-dir", folder, "--redirects", 3, *SH, "echo x"))
        self.assertEqual(len(list(folder.glob("*_*/attempt_0/0/stdout.log"))), 2)

    def test_a_full_disk_is_said_once_and_the_job_goes_on(self):
        folder = mounted_tmpfs(self, "64k")
        finished = self.toprun("--nproc-per-node", 2, "--log-dir", folder, "--tee", 1, *SH,
                               "i=0; while [ $i -lt 3000 ]; do echo a line of some length $i; "
                               "i=$((i+1)); done; echo the end")
        self.assert_ok(finished)
        self.assertEqual(finished.out.count("the end"), 2)
        self.assertEqual(finished.out.count("a line"), 6000)
        self.assertEqual(len(re.findall(r"No space left on device", finished.err)), 1, finished.err)

    def test_no_temporary_folder_is_left(self):
        temporary = self.folder()
        for code in (0, 3):
            finished = self.toprun(*SH, f'[ -d "${{TORCHELASTIC_ERROR_FILE%/*}}" ] && exit {code}',
                                   env={"TMPDIR": str(temporary)})
            self.assertEqual(finished.code, code)
            self.assertEqual(os.listdir(temporary), [])


class Telling(support.TestCase):
    def test_the_last_line(self):
        for program, outcome in (("exit 0", "2 ranks on 1 node, all ended with 0"),
                                 ("exit 7", r"2 ranks on 1 node, rank [01] on \S+ ended with exit code 7"),
                                 ("kill -KILL $$", r"2 ranks on 1 node, rank [01] on \S+ was killed by "
                                                   r"SIGKILL, exit code 137")):
            with self.subTest(program):
                finished = self.toprun("--nproc-per-node", 2, *SH, program)
                self.assertRegex(finished.err, LAST_LINE % outcome)

    def test_a_report_that_cannot_be_written_is_told_while_the_ranks_run(self):
        marker, file = self.folder() / "told", self.folder() / "file"
        file.touch()
        run = self.begin(support.binary(), "--report", file / "new/r.json", "--no-python", "sh", "-c",
                         f"while [ ! -e {marker} ]; do sleep 0.1; done")
        run.says(f"cannot write {file}/new/r.json: cannot create {file}/new: Not a directory; the job goes on", 20)
        marker.touch()
        self.assert_ok(run.wait(20))

    def test_a_report_s_folder_is_created(self):
        path = self.folder() / "new/folder/report.json"
        self.assert_ok(self.toprun("--report", path, *SH, "exit 0"))
        self.assertEqual(json.loads(path.read_text())["exit_code"], 0)

    def test_report(self):
        path = self.folder() / "report.json"
        finished = self.toprun("--nproc-per-node", 2, "--rdzv-id", "job7", "--report", path, *SH,
                               'echo said >&2; [ $RANK = 0 ] && exec sleep 60; exit 6')
        self.assertEqual(finished.code, 6)
        report = json.loads(path.read_text())
        self.assertEqual([report[name] for name in ("schema", "job", "exit_code")],
                         ["toprun.report/1", "job7", 6])
        attempt, = report["attempts"]
        for time in (attempt["started"], attempt["ended"]):
            self.assertTrue(time.endswith("Z"), time)
            datetime.datetime.fromisoformat(time)
        self.assertEqual(set(attempt["phases_ms"]),
                         {"join", "order", "stage", "spawn", "import", "first_connect", "last_connect",
                          "first_collective"})
        self.assertGreaterEqual(attempt["phases_ms"]["spawn"], 0)
        self.assertIsNone(attempt["phases_ms"]["first_connect"], "no worker used the store")
        name = os.uname().nodename
        self.assertEqual(attempt["nodes"], [{"name": name, "group_rank": 0, "first_rank": 0,
                                             "nproc": 2, "location": None, "logs": None}])
        cause = attempt["cause"]
        self.assertEqual([cause[key] for key in ("kind", "rank", "node", "exit_code", "signal")],
                         ["exit", 1, name, 6, None])
        self.assertEqual(cause["last_output"], ["said"])

        self.assert_ok(self.toprun("--report", path, "--no-python", "true"))
        self.assertIsNone(json.loads(path.read_text())["attempts"][0]["cause"])

    def test_parallel_sizes_that_do_not_divide_the_ranks_are_refused(self):
        finished = self.toprun("--parallel", "tp=3", "--nproc-per-node", 2, "--no-python", "true")
        self.assertEqual(finished.code, 2, finished)
        self.assertRegex(finished.err, r"(?m)^toprun: --parallel tp=3: the product of these sizes, 3, does not divide the job's number of ranks, 2; ")
        self.assert_ok(self.toprun("--parallel", "tp=2", "--nproc-per-node", 2, "--no-python", "true"))

    def test_dry_run_starts_nothing(self):
        marker = self.folder() / "ran"
        finished = self.toprun("--dry-run", "--nproc-per-node", 3, "--no-python", "touch", marker,
                               env={"TOPRUN_SECRET": "hush"})
        self.assert_ok(finished)
        self.assertFalse(marker.exists())
        self.assertRegex(finished.out, r"(?m)^processes +3 per node \(--nproc-per-node\)$")
        self.assertRegex(finished.out, rf"(?m)^each worker +touch {marker}$")
        self.assertNotIn("hush", finished.out + finished.err)

    def test_a_dry_run_in_a_pod_tells_what_is_detected_and_by_what(self):
        pod = {"KUBERNETES_SERVICE_HOST": "10.96.0.1", "MASTER_ADDR": "job-master-0", "MASTER_PORT": "23456",
               "WORLD_SIZE": "2", "RANK": "1"}
        finished = self.toprun("--dry-run", *SH, "true", env=pod)
        self.assert_ok(finished)
        self.assertEqual(re.findall(r"(?m)^detected +(.*)$", finished.out),
                         ["this is a pod of a PyTorchJob (RANK and WORLD_SIZE): 2 pods by WORLD_SIZE",
                          "pod 1 by RANK", "pod 0 is job-master-0 by MASTER_ADDR"])
        without = self.toprun("--dry-run", *SH, "true", env={"KUBERNETES_SERVICE_HOST": "10.96.0.1"})
        self.assertIn("\ndetected     one node: this host, because no engine's variables are set\n", without.out)
        self.assertNotIn("detected", self.toprun("--dry-run", *SH, "true").out)

    def test_two_runs_at_once_without_a_port(self):
        ready = self.folder()
        runs = [self.begin(support.binary(), "--nproc-per-node", 2, *SH,
                           f'>"{ready}/{run}.$RANK"; echo $MASTER_PORT; '
                           f'while [ $(ls "{ready}" | wc -l) -lt 4 ]; do sleep 0.1; done')
                for run in (0, 1)]
        ports = []
        for run in runs:
            finished = run.wait(30)
            self.assert_ok(finished)
            ports += set(finished.out.split())
        self.assertEqual(len(set(ports)), 2, ports)


if __name__ == "__main__":
    unittest.main()
