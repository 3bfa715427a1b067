# ctest: TIMEOUT 300 LABELS cluster
"""`toprun run --in JOB SCRIPT`: agents in the pods of a job that sleeps, by a stand-in for kubectl."""

import os
import signal
import unittest

import cluster
import support
from cluster import column, shown, shows
from exec_cases import JOB, SleepingJob
from runai_cluster import RunaiCase

CONNECTS = "exec 3<>/dev/tcp/$MASTER_ADDR/$MASTER_PORT && echo connected"
SHOWN = ["RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", "ON_POD", "TOPRUN_NODE_NAME", "MASTER_ADDR", "PET_NNODES",
         "TOPRUN_SECRET", "TOPRUN_STEP", "TOPRUN_LOGIN_NODES"]
SOON_S = 60  # of what takes a second where nothing else runs
FORBIDDEN = ('Error from server (Forbidden): pods "job-worker-0" is forbidden: User "me" cannot create resource '
             '"pods/exec" in API group "" in the namespace "default"')
NO_SHELL = ('error: Internal error occurred: error executing command in container: failed to exec in container: '
            'OCI runtime exec failed: exec failed: unable to start container process: exec: "sh": executable file '
            'not found in $PATH: unknown')


class World(SleepingJob):
    def test_the_pods_are_one_world(self):
        for count in (2, 4):
            with self.subTest(pods=count):
                self.forget_pods()
                self.cluster_state["pods"].clear()
                self.sleeping(count)
                finished = self.launch("run", "--in", JOB, *shows(*SHOWN, then=CONNECTS))
                self.assert_ok(finished)
                rows = shown(finished.out)
                names = ["job-master-0", *(f"job-worker-{i}" for i in range(count - 1))]
                self.assertEqual(column(rows, "RANK"), [str(rank) for rank in range(count)])
                self.assertEqual(column(rows, "ON_POD"), names)
                self.assertEqual(column(rows, "TOPRUN_NODE_NAME"), names)
                same = {"WORLD_SIZE": str(count), "LOCAL_WORLD_SIZE": "1", "MASTER_ADDR": "10.77.0.1",
                        **dict.fromkeys(SHOWN[6:], "unset")}
                for row in rows:
                    self.assertEqual({name: row[name] for name in same}, same)
                self.assertEqual(finished.out.count("connected"), count)
                self.assertRegex(finished.err, rf"{count} ranks on {count} nodes, all ended with 0\n\Z")
                for run in self.runs:
                    run.kill_all()

    def test_the_program_is_sent_once(self):
        self.sleeping(2)
        for _ in range(2):
            self.assert_ok(self.launch("--in", JOB, "--no-python", "true"))
            kept = [list(home.glob(".cache/toprun/*/toprun")) for home in self.homes.values()]
            self.assertEqual([len(files) for files in kept], [1, 1])
        self.assertEqual(len({files[0].stat().st_size for files in kept}), 1)

    def test_fewer_pods_and_more_ranks(self):
        self.sleeping(3)
        finished = self.launch("--in", JOB, "--nnodes", "2", "--nproc-per-node", "2", *shows("RANK", "ON_POD"))
        self.assert_ok(finished)
        self.assertEqual(column(shown(finished.out), "ON_POD"), ["job-master-0"] * 2 + ["job-worker-0"] * 2)

    def test_a_container_of_the_project_is_that_of_its_pods(self):
        """The key says in which image `toprun submit` starts pods, and these run already."""
        self.sleeping(2)
        project = self.folder()
        (project / "toprun.toml").write_text('container = "docker://registry.example/train:1"\nbind = ["/scratch"]\n')
        finished = self.launch("run", "--in", JOB, *shows("RANK", "ON_POD"), cwd=project)
        self.assert_ok(finished)
        self.assertEqual(column(shown(finished.out), "ON_POD"), ["job-master-0", "job-worker-0"])
        refused = self.launch("run", "--in", JOB, "--container", "docker://a", "--no-python", "true", cwd=project)
        self.assertEqual(refused.code, 2, refused)
        self.assert_one_line(refused, "--in with --container: with --in, the script runs in the pods of a job; .*")

    def test_the_dry_run_shows_the_commands(self):
        self.sleeping(2)
        finished = self.launch("--dry-run", "--in", JOB, "--no-python", "true")
        self.assert_ok(finished)
        self.assertIn("kubectl exec job-worker-0 -i -c pytorch -- sh -c ", finished.out)
        self.assertIn("secret <secret>", finished.out)


class Runai(RunaiCase):
    """By both of Run:AI's programs, as runai_stand_in.py knows them."""

    def sleeping(self, count):
        home = self.folder()
        submitted = self.submit("--interactive", "-N", count, "-e", f"HOME={home}")
        self.assert_ok(submitted)
        job = submitted.out.strip()
        self.assertIn(f"job {job}, whose pods sleep", submitted.err)
        state = self.jobs_folder / job / "state.json"
        support.wait_until(lambda: state.exists() and '"pods": [{' in state.read_text(), SOON_S, "pods")
        return job

    def test_both_programs(self):
        for version in ("v1", "v2"):
            with self.subTest(version):
                self.forget_pods()
                self.use(version)
                job = self.sleeping(3)
                finished = self.runai("run", "--in", job, *shows(*SHOWN, then=CONNECTS))
                self.assert_ok(finished)
                rows = shown(finished.out)
                self.assertEqual(column(rows, "TOPRUN_NODE_NAME"),
                                 [f"{job}-master-0", f"{job}-worker-0", f"{job}-worker-1"])
                self.assertEqual(set(column(rows, "MASTER_ADDR")), {"10.77.0.1"})  # as the pod's /etc/hosts has it
                self.assertEqual(finished.out.count("connected"), 3)
                failed = self.runai("run", "--in", job, "--no-python", "sh", "-c", "exit $((7 * (RANK == 1)))")
                self.assertEqual(failed.code, 7, failed)
                self.assertIn(f"rank 1 on {job}-worker-0 ended with exit code 7", failed.err)
                self.assert_ok(self.runai("cancel", job))


class Ends(SleepingJob):
    def running(self, *words):
        """A run whose ranks, one in each of two pods, all run."""
        self.sleeping(2)
        folder = self.folder()
        # Without a program: a shell that gets SIGINT while one runs that has got none goes on.
        run = self.launching("--in", JOB, *words, *shows("RANK", then=f": >{folder}/$RANK; {support.OBEDIENT}"))
        self.wait_for_files(folder, 2)
        return run

    def vanishes(self, run):
        """An agent whose connection has gone ends its ranks by itself, whenever that is."""
        cluster.wait_for(lambda: not run.processes(), "nothing runs any more", SOON_S)

    def kubectl(self, run, pod):
        return next(pid for pid, line in run.processes().items() if f" exec {pod} " in line)

    def test_a_rank_that_fails(self):
        self.sleeping(2)
        for code in (7, 255):
            finished = self.launch("--in", JOB, "--no-python", "sh", "-c",
                                   f"[ $RANK = 1 ] && echo broken >&2 && exit {code}; {support.OBEDIENT}")
            self.assert_failed(finished, code, f"rank 1 on job-worker-0 ended with exit code {code}", "broken")
            self.assertNotIn("command terminated", finished.err)

    def test_signals(self):
        for number, code in ((signal.SIGINT, 130), (signal.SIGTERM, 143)):
            with self.subTest(number):
                run = self.running()
                launcher = next(pid for pid, line in run.processes().items()
                                if line.startswith(f"{support.TOPRUN} --in"))
                os.kill(launcher, number)
                self.assertEqual(run.wait(SOON_S).code, code)
                self.vanishes(run)

    def test_a_connection_that_breaks(self):
        for pod, words in (("job-worker-0", "lost the connection to job-worker-0"),
                           ("job-master-0", "lost the connection to job-master-0, where the job's root was")):
            with self.subTest(pod):
                run = self.running()
                os.kill(self.kubectl(run, pod), signal.SIGKILL)
                self.assert_failed(run.wait(SOON_S), 1, words)
                self.vanishes(run)

    def test_a_pod_beyond_nnodes_takes_a_lost_one_s_turn(self):
        self.sleeping(3)
        folder = self.folder()
        run = self.launching("--in", JOB, "--nnodes", "2", "--max-restarts", "1", *shows(
            "ON_POD", then=f"touch {folder}/$TOPRUN_ATTEMPT.$RANK.$ON_POD; "
                           f"until [ -e {folder}/end ]; do sleep 0.1; done"))
        begun = cluster.wait_for(lambda: len(found := sorted(folder.glob("0.*"))) == 2 and found, "two workers", SOON_S)
        lost, = [file.name[4:] for file in begun if "worker" in file.name]
        os.kill(self.kubectl(run, lost), signal.SIGKILL)
        again = cluster.wait_for(lambda: len(found := sorted(folder.glob("1.*"))) == 2 and found, "two workers", SOON_S)
        self.assertEqual({file.name[4:] for file in again},
                         {"job-master-0", "job-worker-0", "job-worker-1"} - {lost})
        (folder / "end").touch()
        self.assert_ok(run.wait(SOON_S))
        self.vanishes(run)

    def test_the_terminal_goes_away(self):
        run = self.running()
        launcher = next(pid for pid, line in run.processes().items() if line.startswith(f"{support.TOPRUN} --in"))
        os.kill(launcher, signal.SIGKILL)
        self.vanishes(run)


class Refused(SleepingJob):
    def test_what_keeps_a_run_from_starting(self):
        self.sleeping(2)
        worker = self.pod("job-worker-0")

        def pending():
            worker["status"] = {"phase": "Pending", "conditions": [
                {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/3 nodes fit"}]}

        def restarting():
            worker["status"] = {"phase": "Running", "containerStatuses": [
                {"name": "pytorch", "state": {"waiting": {"reason": "CrashLoopBackOff", "message": "back-off"}}}]}

        def running():
            worker["status"] = {"phase": "Running"}
            self.cluster_state["refusals"] = {}

        def gone():
            self.cluster_state["pods"].remove(worker)
        for change, *texts in [
                (pending, "--in job: pod job-worker-0 does not run: Pending: Unschedulable: 0/3 nodes fit"),
                (restarting, "pod job-worker-0 does not run: CrashLoopBackOff: back-off"),
                (lambda: (running(), self.cluster_state["refusals"].update({"job-worker-0": FORBIDDEN})),
                 "no agent on job-worker-0: you have no right to execute commands in pods; "),
                (lambda: self.cluster_state["refusals"].update({"job-worker-0": NO_SHELL}),
                 "no agent on job-worker-0: its image has no sh; "),
                (lambda: (running(), gone()), "--in job: 1 of its 2 pods are there; wait for it: toprun status job")]:
            change()
            self.write()
            with self.subTest(texts):
                self.assert_failed(self.launch("--in", JOB, "--no-python", "true"), 1, *texts)

    def test_jobs_that_are_none(self):
        self.sleeping(2)
        for words, code, said in [
                (("--in", "other"), 1, "--in other: Kubernetes has no PyTorchJob, TrainJob or JobSet other in .*"),
                (("--in", JOB, "--standalone"), 2, "--standalone with --in: .*"),
                (("--in", JOB, "--hosts", "n0"), 2, "--in with --hosts: .*"),
                (("--in", JOB, "--nnodes", "3"), 2, "--nnodes 3: --in names 2 pods"),
                (("--detach",), 2, "--detach: without --in, .*")]:
            with self.subTest(words):
                finished = self.launch(*words, "--no-python", "true")
                self.assertEqual(finished.code, code, finished)
                self.assert_one_line(finished, said)

    def test_another_architecture(self):
        self.sleeping(2)
        self.assert_ok(self.launch("--in", JOB, "--no-python", "true"))
        program = next(self.homes["job-worker-0"].glob(".cache/toprun/*/toprun"))
        content = bytearray(program.read_bytes())
        content[18:20] = (9999).to_bytes(2, "little")  # e_machine: none that an emulator is registered for
        program.write_bytes(content)
        self.assert_failed(self.launch("--in", JOB, "--no-python", "true"), 1, "no agent on job-worker-0: the copy of",
                           "has another architecture")


if __name__ == "__main__":
    unittest.main()
