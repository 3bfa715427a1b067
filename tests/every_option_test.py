# ctest: TIMEOUT 300
"""Each option of the table that a job's script, salloc's line or a set-up hands on, and each variable: a case for each."""

import dataclasses
import json
import pathlib
import re
import shutil
import sys
import tempfile
import unittest

import command_lines
import support

# An option with a value that it takes, its variables, the verbs that know both.
ROWS = """
--nnodes=3                               PET_NNODES                       run submit
--nproc-per-node=1                       PET_NPROC_PER_NODE               run submit
--hosts=1                                TOPRUN_HOSTS                     run submit
--hostfile=1                             TOPRUN_HOSTFILE                  run submit
--node-rank=1                            PET_NODE_RANK                    run submit
--standalone                             PET_STANDALONE                   run submit
--order=name                             TOPRUN_ORDER                     run submit
--topology=name:a(.)                     TOPRUN_TOPOLOGY                  run submit
--fabric=off                             TOPRUN_FABRIC                    run submit
--fabric-proof=off                       TOPRUN_FABRIC_PROOF              run submit
--require-rdma                           TOPRUN_REQUIRE_RDMA              run submit
--topology-required                      TOPRUN_TOPOLOGY_REQUIRED         run submit
--segment=2                              TOPRUN_SEGMENT                   run submit
--parallel=tp=2                          TOPRUN_PARALLEL                  run submit
--model=7B                               TOPRUN_MODEL                     run submit
--traffic=tp=1G                          TOPRUN_TRAFFIC                   run submit
--link=rack=400                          TOPRUN_LINK                      run submit
--stable                                 TOPRUN_STABLE                    run submit
--virtual-local-rank                     PET_VIRTUAL_LOCAL_RANK           run submit
--numa-binding=node                      -                                run submit
--ranks-in-place                         TOPRUN_RANKS_IN_PLACE            run submit
--via=mpirun                             TOPRUN_VIA                       run submit
--launcher=mpirun                        TOPRUN_LAUNCHER                  run submit
--ranks-per-node=1                       TOPRUN_RANKS_PER_NODE            run submit
--master-addr=1                          PET_MASTER_ADDR                  run submit
--master-port=1                          PET_MASTER_PORT                  run submit
--rdzv-endpoint=1                        PET_RDZV_ENDPOINT                run submit
--rdzv-backend=c10d                      PET_RDZV_BACKEND                 run submit
--rdzv-id=1                              PET_RDZV_ID                      run submit
--rdzv-conf=a=b                          PET_RDZV_CONF                    run submit
--local-addr=1                           PET_LOCAL_ADDR                   run submit
--warm=1                                 TOPRUN_WARM                      run submit
--prefetch=1                             TOPRUN_PREFETCH                  run submit
--stage=1                                TOPRUN_STAGE                     run submit
--stage-to=1                             TOPRUN_STAGE_TO                  run submit
--env=A=b                                -                                run submit shell setup
--venv=env                               TOPRUN_VENV                      run submit shell
--conda=envs/c                           TOPRUN_CONDA                     run submit shell
--modules=1                              TOPRUN_MODULES                   run submit shell setup
--accelerate-config=1                    TOPRUN_ACCELERATE_CONFIG         run submit
--before=1                               -                                run submit shell setup
--role=1                                 PET_ROLE                         run submit
--run-path                               PET_RUN_PATH                     run submit
--no-preflight                           TOPRUN_NO_PREFLIGHT              run submit
--evict=auto                             TOPRUN_EVICT                     run submit
--node-check=1                           TOPRUN_NODE_CHECK                run submit
--container=1                            TOPRUN_CONTAINER                 run submit shell setup
--environment=./e.toml                   TOPRUN_ENVIRONMENT               run submit shell
--container-runtime=podman               TOPRUN_CONTAINER_RUNTIME         run submit shell
--bind=/a:/b:ro                          TOPRUN_BIND                      run submit shell
--container-workdir=/w                   TOPRUN_CONTAINER_WORKDIR         run submit shell
--container-env=A                        TOPRUN_CONTAINER_ENV             run submit shell
--container-name=1                       TOPRUN_CONTAINER_NAME            run submit shell
--container-root                         TOPRUN_CONTAINER_ROOT            run submit shell
--writable                               TOPRUN_WRITABLE                  run submit shell
--no-gpu                                 TOPRUN_NO_GPU                    run submit shell
--max-restarts=1                         PET_MAX_RESTARTS                 run submit
--grow=now                               TOPRUN_GROW                      run submit
--signals-to-handle=SIGTERM              PET_SIGNALS_TO_HANDLE            run submit
--shutdown-timeout=1                     PET_SHUTDOWN_TIMEOUT,TORCH_ELASTIC_SHUTDOWN_TIMEOUT run submit
--hang-timeout=60                        TOPRUN_HANG_TIMEOUT              run submit
--on-hang=abort                          TOPRUN_ON_HANG                   run submit
--log-dir=1                              PET_LOG_DIR                      run submit setup
--redirects=1                            PET_REDIRECTS                    run submit
--tee=1                                  PET_TEE                          run submit
--log-line-prefix-template=1             PET_LOG_LINE_PREFIX_TEMPLATE,TORCHELASTIC_LOG_LINE_PREFIX_TEMPLATE run submit
--local-ranks-filter=1                   PET_LOCAL_RANKS_FILTER           run submit
--duplicate-stdout-filters=1             PET_DUPLICATE_STDOUT_FILTERS     run submit
--duplicate-stderr-filters=1             PET_DUPLICATE_STDERR_FILTERS     run submit
--gather-output                          TOPRUN_GATHER_OUTPUT             run submit
--fold                                   TOPRUN_FOLD                      run submit
--no-progress                            TOPRUN_NO_PROGRESS               run submit
--log-max-size=1                         TOPRUN_LOG_MAX_SIZE              run submit
--prefix                                 TOPRUN_PREFIX                    run submit
--node-log=1                             TOPRUN_NODE_LOG                  run submit
--web=1                                  TOPRUN_WEB                       run submit
--report=1                               TOPRUN_REPORT                    run submit
--notify=1                               TOPRUN_NOTIFY                    run submit
--monitor-interval=1                     PET_MONITOR_INTERVAL             run submit
--start-method=spawn                     PET_START_METHOD                 run submit
--use-env                                -                                run submit
--event-log-handler=null                 PET_EVENT_LOG_HANDLER            run submit
--logs-specs=1                           -                                run submit
--nodes=3                                -                                submit shell
--gpus-per-node=1                        SBATCH_GPUS_PER_NODE             submit setup
--gpus=1                                 SBATCH_GPUS                      submit setup
--gres=1                                 SBATCH_GRES                      submit setup
--cpus-per-task=1                        -                                submit shell setup
--mem=1                                  SBATCH_MEM_PER_NODE              submit setup
--exclusive=user                         SBATCH_EXCLUSIVE                 submit setup
--time=1                                 SBATCH_TIMELIMIT                 submit setup
--partition=1                            SBATCH_PARTITION                 submit setup
--account=1                              SBATCH_ACCOUNT                   submit setup
--qos=1                                  SBATCH_QOS                       submit setup
--constraint=1                           SBATCH_CONSTRAINT                submit setup
--reservation=1                          SBATCH_RESERVATION               submit setup
--nodelist=1                             -                                submit shell setup
--exclude=1                              -                                submit shell setup
--switches=1@5                           SBATCH_REQ_SWITCH                submit
--contiguous                             -                                submit shell
--job-name=1                             SBATCH_JOB_NAME                  submit setup
--chdir=below                            -                                submit shell setup
--begin=1                                -                                submit shell setup
--dependency=1                           -                                submit shell setup
--mail-type=END                          -                                submit shell setup
--mail-user=1                            -                                submit shell setup
--output=1                               SBATCH_OUTPUT                    submit
--error=1                                SBATCH_ERROR                     submit
--array=1                                SBATCH_ARRAY_INX                 submit
--signal=B:USR1@60                       SBATCH_SIGNAL                    submit
--requeue=expedite                       SBATCH_REQUEUE                   submit setup
--slurm-arg=--nice=7                     -                                submit shell setup
--operator=1                             TOPRUN_OPERATOR                  submit
--namespace=1                            TOPRUN_NAMESPACE                 submit
--queue=1                                TOPRUN_QUEUE                     submit
--scheduler=1                            TOPRUN_SCHEDULER                 submit
--priority-class=1                       -                                submit
--node-pool=1                            -                                submit
--node-selector=1                        -                                submit
--toleration=1                           -                                submit
--required-topology-key=1                -                                submit
--preferred-topology-key=1               -                                submit
--interactive                            -                                submit
--pvc=1                                  -                                submit
--annotation=1                           -                                submit
--project=1                              TOPRUN_PROJECT                   submit
--runai-cli=1                            TOPRUN_RUNAI_CLI                 submit
--extended-resource=1                    -                                submit
--gpu-resource=1                         -                                submit
--shm=1                                  -                                submit
--host-network                           -                                submit
--ipc-lock                               -                                submit
--toprun-image=1                         -                                submit
--toprun=1                               -                                submit
--runtime=1                              -                                submit
--env-from=1                             -                                submit
--service-account=1                      -                                submit
--image-pull-secret=1                    -                                submit
--restricted                             -                                submit
--run-as=1                               -                                submit
--patch=1                                -                                submit
--gpus-per-node=1                        SALLOC_GPUS_PER_NODE             shell
--gpus=1                                 SALLOC_GPUS                      shell
--gres=1                                 SALLOC_GRES                      shell
--mem=1                                  SALLOC_MEM_PER_NODE              shell
--exclusive=user                         SALLOC_EXCLUSIVE                 shell
--time=1                                 SALLOC_TIMELIMIT                 shell
--partition=1                            SALLOC_PARTITION                 shell
--account=1                              SALLOC_ACCOUNT                   shell
--qos=1                                  SALLOC_QOS                       shell
--constraint=1                           SALLOC_CONSTRAINT                shell
--reservation=1                          SALLOC_RESERVATION               shell
--switches=1@5                           SALLOC_REQ_SWITCH                shell
--job-name=1                             SALLOC_JOB_NAME                  shell
--segment=2                              -                                shell
--venv=new                               TOPRUN_VENV                      setup
--requirement=needs.txt                  -                                setup
--import=1                               -                                setup
--python=1                               -                                setup
--system-site-packages                   -                                setup
--upgrade-pip                            -                                setup
--horovod=gloo                           -                                setup
--nccl-home=below                        -                                setup
--from=docker://a                        -                                setup
--force                                  -                                setup
"""
# What it goes along with.
BESIDE = {"--model": ["--parallel=tp=2"], "--traffic": ["--parallel=tp=2"], "--link": ["--parallel=tp=2"],
          "--ranks-per-node": ["--launcher=mpirun"], "--nccl-home": ["--horovod=nccl"], "--from": ["--container=a.sif"],
          "--segment": ["--nnodes=4"], "--nproc-per-node": ["--nnodes=2"], "--bind": ["--container=docker://a"],
          "--container-workdir": ["--container=docker://a"], "--container-env": ["--container=docker://a"],
          "--container-name": ["--container=docker://a"], "--container-root": ["--container=docker://a"],
          "--container-runtime": ["--container=docker://a"], "--writable": ["--container=docker://a"], "--no-gpu": ["--container=docker://a"]}
OF_PODS = (
    "--operator", "--namespace", "--queue", "--scheduler", "--priority-class", "--node-pool", "--node-selector",
    "--toleration", "--required-topology-key", "--preferred-topology-key", "--pvc", "--annotation", "--project",
    "--runai-cli", "--extended-resource", "--shm", "--host-network", "--ipc-lock", "--toprun-image", "--toprun",
    "--runtime", "--env-from", "--service-account", "--image-pull-secret", "--restricted", "--run-as", "--patch",
    "--gpu-resource")
# Where the words that are handed on are others: HERE is the folder.
HANDED = {("shell", "--chdir"): "--chdir=below", "--slurm-arg": "--nice=7", "--log-dir": "HERE/1/", "--chdir": "--chdir=HERE/below",
          ("shell", "--venv"): "--venv=HERE/env", ("shell", "--conda"): "--conda=HERE/envs/c",
          ("setup", "--venv"): "--venv=new"}
# Told instead of done, in words that name it.
REFUSED = {
    "submit": {"--hosts": "it lists hosts for ssh", "--hostfile": "it lists hosts for ssh",
               "--node-rank": "every node runs the same command", "--interactive": "Slurm has no jobs of sleeping pods",
               "--logs-specs": "toprun does not load Python code"}}
# For pods: values that are right there, what goes along with them, and what is told instead of done.
SUITED = {"--operator": "jobset", "--scheduler": "volcano", "--node-selector": "run.ai/type=a", "--pvc": "a:/a", "--annotation": "a=b",
          "--toleration": "a:NoSchedule", "--runai-cli": "v1", "--extended-resource": "a.b/c=1", "--gpu-resource": "amd.com/gpu",
          "--shm": "1G", "--mem": "1G", "--patch": "patch.yaml", "--chdir": "/w", "--toprun": "/a/toprun", "--job-name": "other",
          "--namespace": "ml", "--priority-class": "high", "--queue": "q", "--required-topology-key": "a/b", "--preferred-topology-key": "a/b",
          "--gpus-per-node": "2", "--container": "r.io/other", "--log-dir": "/dev/null", "--env-from": "tokens", "--runtime": "mine"}
ALONGSIDE = {**{name: words for name, words in BESIDE.items() if not name.startswith("--container") and name not in ("--bind", "--writable", "--no-gpu")},
             "--gpu-resource": ["--gpus-per-node=2"], "--runtime": ["--operator=trainjob"]}
OF_AN_IMAGE = {"--accelerate-config": "toprun cannot run accelerate inside the container", "--stage": "ranks in a container use the environment in the image"}
TOPRUN_STARTS_IT = "works only where toprun starts the container itself"
UNFIT = {"--bind": TOPRUN_STARTS_IT, "--environment": TOPRUN_STARTS_IT, "--container-runtime": TOPRUN_STARTS_IT,
         "--container-workdir": TOPRUN_STARTS_IT, "--container-env": TOPRUN_STARTS_IT, "--container-name": TOPRUN_STARTS_IT,
         "--container-root": TOPRUN_STARTS_IT, "--writable": TOPRUN_STARTS_IT, "--no-gpu": TOPRUN_STARTS_IT,
         "--hosts": "the cluster chooses the nodes", "--hostfile": "the cluster chooses the nodes", "--via": "works only with hosts",
         "--launcher": "works only with hosts", "--ranks-per-node": "works only with hosts", "--node-rank": "the same command runs in every pod", **OF_AN_IMAGE,
         "--evict": "a pod that ends is the operator's",
         "--logs-specs": "toprun does not load Python code"}
OF_RUNAI = "works only with --on runai"
NO_OPTION = "runai does not have an option for it"
UNFIT_FOR = {"kubernetes": {**UNFIT, "--project": OF_RUNAI, "--runai-cli": OF_RUNAI},
             "runai": {**UNFIT, "--operator": "works only with --on kubernetes", "--patch": "runai creates the job's object itself",
                       "--time": "Run:AI cannot limit the time", "--runtime": NO_OPTION,
                       **dict.fromkeys(("--namespace", "--queue", "--scheduler", "--priority-class", "--shm", "--toprun-image", "--gpu-resource",
                                        "--env-from", "--service-account", "--image-pull-secret"), NO_OPTION)}}
FOR_PODS_AND_SLURM = ("--nodes", "--gpus-per-node", "--cpus-per-task", "--mem", "--time", "--job-name", "--chdir")
ESSENTIAL = ("--from",)  # what they go along with is no call without them
# Not handed on, and told.
LEFT_OUT = {("shell", "--segment"): "Slurm supports it only with topology/block"}
# Which other file tries them: they do something else than to hand on a word.
ELSEWHERE = {"--after": "after", "--attach": "shell", "--wait": "submit", "--follow": "submit", "--on": "submit",
             "--secret-env": "secrets", "--profile": "config", "--config-file": "config", "--no-config": "config", "--verbose": "shell"}
OF_THEMSELVES = ("--dry-run", "--help", "-h", "--no-python", "--module")
VERBS = ("run", "submit", "shell", "setup")




@dataclasses.dataclass(frozen=True)
class Row:
    word: str
    variables: tuple
    verbs: tuple

    @property
    def name(self):
        return self.word.split("=")[0]

    @property
    def value(self):
        """As a variable says it."""
        return self.word.partition("=")[2] or "1"

    def called(self, verb):
        """In a case's name."""
        return f"test_{verb}_{self.name.strip('-').replace('-', '_')}"


TABLE = [Row(word, () if variables == "-" else tuple(variables.split(",")), tuple(verbs))
         for word, variables, *verbs in map(str.split, ROWS.strip().splitlines())]


def knows(verb, name):
    return any(row.name == name and verb in row.verbs for row in TABLE)


def beside(verb, row):
    return [word for word in BESIDE.get(row.name, []) if knows(verb, word.split("=")[0])]


class TheTable(support.TestCase):
    def test_is_the_help_s(self):
        links = pathlib.Path(tempfile.mkdtemp(prefix="toprun-test-"))
        self.addCleanup(shutil.rmtree, links)
        for name in ("toprun", "torchrun"):
            (links / name).symlink_to(pathlib.Path(support.binary()).resolve())
        known = command_lines.table_of(links / "toprun").known
        for verb in VERBS:
            with self.subTest(verb):
                options = [option for option in known[verb] if option.name not in (*ELSEWHERE, *OF_THEMSELVES)]
                rows = [row for row in TABLE if verb in row.verbs]
                self.assertEqual({name for option in options for name in option.variables},
                                 {name for row in rows for name in row.variables})
                if verb != "run":
                    self.assertEqual({option.name for option in options}, {row.name for row in rows})


RESULT = "result.txt"
# Which verbs have an option whose value is one of a few words, with a line that is right without the option.
FIXED = re.compile(r"^ +(?:-\w, )?(--[\w-]+)(\[=| )((?:[a-z][a-z0-9_.-]*|[0-9])(?:[|,][a-z0-9_.-]+)*[|,]?)\]?(?:  |$)", re.MULTILINE)
LINES_WITHOUT = {"": ["true"], "bench": ["all_reduce"], "bench pairs": [], "bench import": [RESULT], "bench compare": [RESULT, RESULT],
                 "submit": ["true"], "shell": [], "setup": ["--venv=x", "numpy"], "topo draw": ["--hosts=a,b"], "topo order": ["--hosts=a,b"],
                 "topo convert": ["--hosts=a,b"], "jobs": [], "cancel": ["1"]}
SLURM_JUDGES = ("--exclusive", "--requeue")  # these words are handed on as they are


class FixedWords(support.TestCase):
    def test_another_word_is_refused(self):
        found, here = set(), self.folder()
        (here / RESULT).write_text("nccl-bw/allreduce_8_busbw:0=1\n")
        for verb, line in LINES_WITHOUT.items():
            text = self.toprun(*verb.split(), "--help").out
            for name, is_optional in sorted({(match[1], match[2] == "[=") for match in FIXED.finditer(text)}):
                if name in SLURM_JUDGES:
                    continue
                found.add(name)
                for word in ("nosuchword",) if is_optional else ("nosuchword", ""):
                    with self.subTest(verb=verb, option=name, word=word):
                        done = self.toprun(*verb.split(), f"{name}={word}", *line, cwd=here)
                        self.assertEqual(done.code, 2, done)
                        self.assertIn(name, done.err)
        self.assertLess({"--preset", "--orders", "--fabric-proof", "--operator", "--groups", "--datatype", "--horovod"}, found)


class EveryOption(support.TestCase):
    def setUp(self):
        self.here = self.folder()
        (self.here / "train.py").write_text("print(1)\n")
        (self.here / "e.toml").write_text('image = "docker://a"\n')
        (self.here / "needs.txt").write_text("numpy\n")
        (self.here / "below").mkdir()
        for environment in ("env", "envs/c"):
            (self.here / environment / "bin").mkdir(parents=True)
            (self.here / environment / "bin/python").symlink_to(sys.executable)
        (self.here / "envs/c/conda-meta").mkdir()
        (self.here / "envs/c/conda-meta/history").touch()

    def call(self, *words, **env):
        return self.run_to_end(support.binary(), *words, cwd=self.here,
                               env={"XDG_CONFIG_HOME": str(self.here), "CONDA_ENVS_PATH": str(self.here / "envs"), **env})


class Variables(EveryOption):
    """Each stands for its option."""

    def check(self, verb, row, variable):
        given = dict(word.split("=", 1) for word in beside(verb, row))
        others = {known.variables[0]: given[known.name] for known in TABLE if verb in known.verbs and known.name in given}
        shown = self.call("config", "show", verb, "--json", **others, **{variable: row.value})
        if (why := REFUSED.get(verb, {}).get(row.name)) and shown.code:
            self.assertEqual(shown.code, 2)
            self.assert_one_line(shown, f"{variable}.*{why}.*")
            return
        self.assert_ok(shown)
        found = [(found["kind"], found["source"], found["values"]) for found in json.loads(shown.out)["options"]
                 if f"--{found['name']}" == row.name]
        self.assertEqual(len(found), 1)
        self.assertEqual(found[0][:2], ("variable", variable))
        self.assertIn(found[0][2], (row.value.split(","), [row.value], ["true"]))


class HandedOn(EveryOption):
    """Or refused, or told to be left out."""

    def handed(self, verb, words, code=0):
        line = {"submit": ["--on=slurm", *words, self.here / "train.py"], "shell": words,
                "setup": ["--on=slurm", *words]}[verb]
        if verb == "setup" and not any(word.startswith("--container=a") for word in words):
            line += [*([] if any(word.startswith("--venv=") for word in words) else ["--venv=v"]), "numpy"]
        done = self.call(verb, "--dry-run", *line)
        self.assertEqual(done.code, code, done)
        return done

    def check(self, verb, row):
        words = beside(verb, row)
        if why := "works only for pods" if row.name in OF_PODS else REFUSED.get(verb, {}).get(row.name):
            done = self.handed(verb, [*words, row.word], code=2)
            self.assertRegex(done.err, f"{row.name}.* {why}")
        elif why := LEFT_OUT.get((verb, row.name)):
            self.assertRegex(self.handed(verb, [*words, row.word]).err, f"{row.name}.* {why}")
        else:
            with_it = self.handed(verb, [*words, row.word]).out.splitlines()
            without = [] if row.name in ESSENTIAL else self.handed(verb, words).out.splitlines()
            new = " ".join(line for line in with_it if line not in without).replace("'", "")
            wanted = HANDED.get((verb, row.name)) or HANDED.get(row.name) or row.word
            self.assertIn(wanted.replace("HERE", str(self.here)), new)


class Pods(EveryOption):
    """What Kubernetes or Run:AI get differs with each option, or the option is refused in words that name it."""

    def made(self, engine, words):
        mine = [word for word in ("--job-name=j", "--container=r.io/a") if not any(given.startswith(word.split("=")[0] + "=") for given in words)]
        script = [] if "--interactive" in words else ["train.py"]
        done = self.call("submit", f"--on={engine}", "--dry-run", *mine, *words, *script)
        return done, re.sub(r"-[0-9a-f]{8,16}", "", done.out)  # fresh names

    def check(self, engine, row):
        (self.here / "patch.yaml").write_text("metadata: {labels: {a: b}}\n")
        word = f"{row.name}={SUITED[row.name]}" if row.name in SUITED else row.word
        beside = [] if (unfit := UNFIT_FOR[engine].get(row.name)) else ALONGSIDE.get(row.name, [])
        done, shown = self.made(engine, [*beside, word])
        is_slurms = "SBATCH" in str(row.variables) or row.verbs in (("submit", "shell", "setup"), ("submit", "shell"), ("submit", "setup"))
        if is_slurms and row.name not in FOR_PODS_AND_SLURM:
            unfit = "works only with Slurm"
        if unfit:
            self.assertEqual(done.code, 2, done)
            self.assertRegex(done.err, f"(?m)^toprun: {row.name}.*: .*{unfit}")
        else:
            self.assert_ok(done)
            self.assertNotEqual(shown, self.made(engine, beside)[1])


def add_cases():
    for row in TABLE:
        for engine in ("kubernetes", "runai") if "submit" in row.verbs else ():
            setattr(Pods, row.called(engine), lambda self, engine=engine, row=row: Pods.check(self, engine, row))
        for verb in row.verbs:
            if verb != "run":
                setattr(HandedOn, row.called(verb), lambda self, verb=verb, row=row: self.check(verb, row))
            for name in row.variables:
                setattr(Variables, f"test_{verb}_{name}",
                        lambda self, verb=verb, row=row, name=name: self.check(verb, row, name))


add_cases()


if __name__ == "__main__":
    unittest.main()
