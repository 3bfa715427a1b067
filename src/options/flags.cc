#include "options/flags.h"

#include <algorithm>
#include <array>

#include "base/text.h"

namespace toprun::options {
namespace {

constexpr Flag torchrun(FlagId id, std::string_view name, char letter, std::string_view value,
                        std::string_view variable, Group group, std::string_view help,
                        std::string_view default_value = {}, std::string_view older_variable = {}) {
  return {id,    name, letter,        value,         variable, Origin::torchrun,
          group, help, default_value, older_variable};
}

constexpr Flag ours(FlagId id, std::string_view name, char letter, std::string_view value,
                    std::string_view variable, Group group, std::string_view help,
                    std::string_view default_value = {}) {
  return {id, name, letter, value, variable, Origin::toprun, group, help, default_value};
}

constexpr Flag only(Scope scope, Flag flag) {
  flag.scope = scope;
  return flag;
}

constexpr Flag container(FlagId id, std::string_view name, std::string_view value,
                         std::string_view variable, std::string_view help,
                         std::string_view default_value = {}) {
  return only(Scope::ranks,
              ours(id, name, 0, value, variable, Group::container, help, default_value));
}

constexpr Flag optional_value(Flag flag) {
  flag.value_optional = true;
  return flag;
}

// Of sbatch and salloc, under their names and with their meaning (sbatch(1)). No letter where
// torchrun or toprun run has it for something that a job's line may need as well: -e, -m, -v.
constexpr Flag slurm(std::string_view name, char letter, std::string_view value,
                     std::string_view variable, std::string_view help) {
  return only(Scope::allocation,
              ours(FlagId::slurm_option, name, letter, value, variable, Group::allocation, help));
}

// torchrun's names, short forms, values and variables: torch/distributed/run.py of PyTorch 2.14.
constexpr std::array table = {
    only(Scope::nodes, slurm("--nodes", 'N', "N|MIN-MAX", "", "Number of nodes")),
    slurm("--gpus-per-node", 0, "[TYPE:]N", "SBATCH_GPUS_PER_NODE", "GPUs on each node"),
    slurm("--gpus", 'G', "[TYPE:]N", "SBATCH_GPUS", "GPUs of the whole job"),
    slurm("--gres", 0, "NAME[:TYPE]:N,...", "SBATCH_GRES",
          "Other resources of each node, as gpu:4"),
    slurm("--cpus-per-task", 'c', "N", "", "CPUs on each node: one agent per node is the task"),
    slurm("--mem", 0, "SIZE", "SBATCH_MEM_PER_NODE", "Memory of each node, as 64G; 0 is all of it"),
    optional_value(slurm("--exclusive", 0, "user|mcs", "SBATCH_EXCLUSIVE",
                         "Whole nodes, shared with no other job")),
    slurm("--time", 't', "TIME", "SBATCH_TIMELIMIT", "Time limit: minutes, H:MM:SS or D-HH:MM:SS"),
    slurm("--partition", 'p', "PARTITION,...", "SBATCH_PARTITION", "The queue"),
    slurm("--account", 'A', "NAME", "SBATCH_ACCOUNT", "Who pays"),
    slurm("--qos", 'q', "NAME", "SBATCH_QOS", "Quality of service"),
    slurm("--constraint", 'C', "FEATURES", "SBATCH_CONSTRAINT",
          "Features that the nodes must have"),
    slurm("--reservation", 0, "NAME", "SBATCH_RESERVATION", "Nodes that are reserved for you"),
    slurm("--nodelist", 'w', "HOSTS", "", "Nodes that the job must get"),
    slurm("--exclude", 'x', "HOSTS", "", "Nodes that it must not get"),
    only(Scope::nodes,
         slurm("--switches", 0, "N[@TIME]", "SBATCH_REQ_SWITCH",
               "At most so many leaf switches, waited for no longer than TIME (topology/tree)")),
    only(Scope::nodes,
         slurm("--contiguous", 0, "", "",
               "Neighbours in Slurm's list of nodes; does something without a topology plugin "
               "only")),
    slurm("--job-name", 'J', "NAME", "SBATCH_JOB_NAME", "Its name in the queue; else the script's"),
    slurm("--chdir", 'D', "DIR", "", "Where it runs; else the current directory"),
    slurm("--begin", 'b', "TIME", "", "Not before TIME, as 16:00 or now+1hour"),
    slurm("--dependency", 'd', "TYPE:ID,...", "",
          "Which jobs have to be in what state before; --after is shorter"),
    slurm("--mail-type", 0, "EVENT,...", "", "When to send mail, as END,FAIL"),
    slurm("--mail-user", 0, "ADDRESS", "", "Who gets it"),
    only(Scope::submit,
         slurm("--output", 'o', "PATTERN", "SBATCH_OUTPUT",
               "Slurm's file for what the batch script prints; else LOGDIR/%x.%j.out")),
    only(Scope::submit, slurm("--error", 0, "PATTERN", "SBATCH_ERROR",
                              "The same for stderr; else both go to one file")),
    only(Scope::submit, slurm("--array", 'a', "INDEXES", "SBATCH_ARRAY_INX",
                              "Many jobs of one script, as 0-9%2; each a world of its own")),
    only(Scope::submit, slurm("--signal", 0, "[B:]SIGNAL[@SECONDS]", "SBATCH_SIGNAL",
                              "A signal to the workers so long before the time limit")),
    only(Scope::batch,
         optional_value(slurm("--requeue", 0, "expedite", "SBATCH_REQUEUE",
                              "Back into the queue after a node's failure or a preemption"))),
    only(Scope::shell, slurm("--segment", 0, "N", "",
                             "Keep groups of N nodes inside one block (topology/block)")),
    only(Scope::allocation,
         ours(FlagId::slurm_arg, "--slurm-arg", 0, "OPTION", "", Group::allocation,
              "Any other option of sbatch, as --slurm-arg=--nice=100; as often as needed")),

    only(Scope::submit, ours(FlagId::on, "--on", 0, "slurm", "TOPRUN_ON", Group::submission,
                             "The engine to submit to", "slurm where there is an sbatch")),
    only(Scope::setup, ours(FlagId::on, "--on", 0, "slurm|local", "TOPRUN_ON", Group::submission,
                            "As a job of this engine, or here and now",
                            "slurm where there is an sbatch, else local")),
    only(Scope::batch,
         ours(FlagId::after, "--after", 0, "ID[:ok|any|notok]", "", Group::submission,
              "Begin after that job has ended, with 0 unless it says otherwise; submit also takes "
              "setup, for the job that builds this --venv or --container. As often as needed")),
    only(Scope::batch, ours(FlagId::wait, "--wait", 'W', "", "", Group::submission,
                            "Wait for its end and leave with its exit code")),
    only(Scope::batch, ours(FlagId::follow, "--follow", 0, "", "", Group::submission,
                            "Show the job's output until its end and leave with its exit code")),
    only(Scope::shell, ours(FlagId::attach, "--attach", 0, "ID", "", Group::submission,
                            "A shell on the first node of a job that runs")),
    only(Scope::allocation, optional_value(ours(FlagId::job_dry_run, "--dry-run", 0,
                                                "client|server", "", Group::submission,
                                                "Print what would be submitted; with =server ask "
                                                "Slurm too whether and when it could start"))),

    torchrun(
        FlagId::nnodes, "--nnodes", 0, "N|MIN:MAX", "PET_NNODES", Group::placement,
        "Number of nodes; with MIN:MAX the job starts with at least MIN and takes in up to MAX",
        "all nodes of the job step or allocation, else 1"),
    torchrun(
        FlagId::nproc_per_node, "--nproc-per-node", 0, "N|cpu|gpu|auto", "PET_NPROC_PER_NODE",
        Group::placement,
        "Processes per node: a number, one per CPU, one per GPU, or one per GPU where there are "
        "GPUs and per CPU where not",
        "the node's GPUs or tasks in the job, else its visible GPUs, else 1"),
    ours(FlagId::hosts, "--hosts", 0, "LIST", "TOPRUN_HOSTS", Group::placement,
         "Start on these hosts by ssh, as in a,b[3-9]:4 where :4 is the number of processes"),
    ours(FlagId::host_file, "--hostfile", 0, "FILE", "TOPRUN_HOSTFILE", Group::placement,
         "The same from a file: Open MPI's or DeepSpeed's `host slots=N`, or only names"),
    torchrun(
        FlagId::node_rank, "--node-rank", 0, "N", "PET_NODE_RANK", Group::placement,
        "This node's place among the nodes; fixes the order unless --order is given too. With "
        "c10d two nodes may give the same, which is then ignored. Taken from the variable it says "
        "only which node this is"),
    torchrun(FlagId::standalone, "--standalone", 0, "", "PET_STANDALONE", Group::placement,
             "Run on this node only, also in a job of several; the options of the rendezvous and "
             "--node-rank are then ignored"),
    ours(FlagId::order, "--order", 0, "topology|name|scheduler|given|file:PATH", "TOPRUN_ORDER",
         Group::placement, "Which node gets which ranks; the file has one host per line",
         "topology where it is known, else the scheduler's, else by name"),
    ours(FlagId::topology, "--topology", 0,
         "auto|slurm|k8s|gcp|oci|aws|azure|nvlink|name:REGEX|FILE", "TOPRUN_TOPOLOGY",
         Group::placement,
         "What tells where the nodes are: Slurm, Kubernetes' labels, a cloud, nvidia-smi, the "
         "nodes' "
         "names, or a file: lines `host /cluster/rack/host`, TOML, JSON, YAML, topology.conf, "
         "topology.yaml (or one topology in it: FILE:NAME), what kubectl or ibnetdiscover printed",
         "auto"),
    ours(FlagId::topology_required, "--topology-required", 0, "", "TOPRUN_TOPOLOGY_REQUIRED",
         Group::placement, "Fail unless the place of every node is known"),
    ours(FlagId::segment, "--segment", 0, "N", "TOPRUN_SEGMENT", Group::placement,
         "Keep groups of N nodes, as of one NVLink domain, inside one domain of the network", "1"),
    ours(FlagId::parallel, "--parallel", 0, "tp=N,pp=N,...", "TOPRUN_PARALLEL", Group::placement,
         "Sizes of the parallel groups (tp, cp, ep, etp, dp, pp, order=...): the nodes stand so "
         "that the costliest traffic stays nearest"),
    ours(FlagId::model, "--model", 0, "PARAMETERS", "TOPRUN_MODEL", Group::placement,
         "Size of the model, as in 70B, from which the traffic of --parallel follows"),
    ours(FlagId::traffic, "--traffic", 0, "KIND=SIZE,...", "TOPRUN_TRAFFIC", Group::placement,
         "Bytes that each rank sends per step, as in dp=2G,tp=512M; goes before --model"),
    ours(FlagId::link, "--link", 0, "LEVEL=GBPS,...", "TOPRUN_LINK", Group::placement,
         "What one domain's uplink carries in each direction, as in rack=400, or host=3200 for "
         "each node's adapters; for --parallel"),
    ours(FlagId::stable, "--stable", 0, "", "TOPRUN_STABLE", Group::placement,
         "After a loss of nodes the others keep their ranks where that can be; a new node takes a "
         "free place near it"),
    torchrun(FlagId::virtual_local_rank, "--virtual-local-rank", 0, "", "PET_VIRTUAL_LOCAL_RANK",
             Group::placement,
             "Every worker gets LOCAL_RANK=0 and sees one GPU only, by CUDA_VISIBLE_DEVICES"),
    torchrun(FlagId::numa_binding, "--numa-binding", 0, "node|socket|exclusive|core-complex", "",
             Group::placement,
             "Bind worker I to CPUs near GPU I: those of its NUMA node, of its socket, a share of "
             "its NUMA node of its own, or cores that share a cache"),
    ours(FlagId::ranks_in_place, "--ranks-in-place", 0, "", "TOPRUN_RANKS_IN_PLACE",
         Group::placement,
         "This process is for one rank, not for a node: join the others and start the script once. "
         "A Slurm step with more tasks than nodes does so by itself; where no engine is known, "
         "RANK, WORLD_SIZE, LOCAL_RANK and MASTER_ADDR say which rank"),
    ours(FlagId::via, "--via", 0, "mpirun", "TOPRUN_VIA", Group::placement,
         "Start one agent per node by one mpirun (Open MPI, MPICH, Intel MPI) on the hosts of "
         "--hosts, --hostfile or the Slurm job",
         "srun in Slurm, else ssh"),
    ours(FlagId::launcher, "--launcher", 0, "mpirun", "TOPRUN_LAUNCHER", Group::placement,
         "Let mpirun start every rank by itself, in toprun's order of nodes: for Horovod and "
         "backend='mpi'"),
    ours(FlagId::ranks_per_node, "--ranks-per-node", 0, "N", "TOPRUN_RANKS_PER_NODE",
         Group::placement, "Ranks on each node, with --launcher mpirun", "as --nproc-per-node"),

    torchrun(FlagId::master_addr, "--master-addr", 0, "HOST", "PET_MASTER_ADDR", Group::rendezvous,
             "Host of the node with rank 0, for the static backend",
             "found by the engine; 127.0.0.1 on one node"),
    torchrun(FlagId::master_port, "--master-port", 0, "PORT", "PET_MASTER_PORT", Group::rendezvous,
             "Port on that host",
             "the kernel's choice on one node; by job and step in Slurm, else 29500"),
    torchrun(FlagId::rdzv_endpoint, "--rdzv-endpoint", 0, "HOST[:PORT]", "PET_RDZV_ENDPOINT",
             Group::rendezvous, "Where the nodes meet; an IPv6 address stands in brackets"),
    torchrun(FlagId::rdzv_backend, "--rdzv-backend", 0, "static|c10d", "PET_RDZV_BACKEND",
             Group::rendezvous,
             "How torchrun would meet; here it sets the default port (29400 for c10d) and who may "
             "be the root",
             "static"),
    torchrun(FlagId::rdzv_id, "--rdzv-id", 0, "ID", "PET_RDZV_ID", Group::rendezvous,
             "Name of the job, which all its nodes must share", "none"),
    torchrun(FlagId::rdzv_conf, "--rdzv-conf", 0, "K=V,...", "PET_RDZV_CONF", Group::rendezvous,
             "Settings of the rendezvous, such as is_host=1 or join_timeout=600 (seconds)"),
    torchrun(FlagId::local_addr, "--local-addr", 0, "HOST", "PET_LOCAL_ADDR", Group::rendezvous,
             "Address at which other nodes reach this one", "found by the route to them"),

    torchrun(FlagId::module, "--module", 'm', "", "PET_MODULE", Group::program,
             "SCRIPT is a Python module, as with `python -m`"),
    torchrun(FlagId::no_python, "--no-python", 0, "", "PET_NO_PYTHON", Group::program,
             "SCRIPT is a program to run as it is, looked up in PATH"),
    only(Scope::everyone, ours(FlagId::env, "--env", 'e', "K[=V]", "", Group::program,
                               "Set a variable on every node; K alone takes its value from here. "
                               "May be given several times")),
    only(Scope::ranks, ours(FlagId::venv, "--venv", 0, "DIR", "TOPRUN_VENV", Group::program,
                            "Run in this virtual environment, with its Python")),
    only(Scope::ranks, ours(FlagId::conda, "--conda", 0, "NAME|DIR", "TOPRUN_CONDA", Group::program,
                            "Run in this conda environment, with its Python")),
    only(Scope::everyone,
         ours(FlagId::modules, "--modules", 0, "NAME,...", "TOPRUN_MODULES", Group::program,
              "Load these environment modules first (Environment Modules, Lmod), and no others. "
              "May be given several times")),
    ours(FlagId::accelerate_config, "--accelerate-config", 0, "FILE", "TOPRUN_ACCELERATE_CONFIG",
         Group::program,
         "Give the ranks the settings of this file of Hugging Face's accelerate, as its own "
         "launcher would; who runs where stays toprun's affair"),
    only(Scope::everyone,
         ours(FlagId::before, "--before", 0, "COMMAND", "", Group::program,
              "Run this in bash on every node, after --modules, and take its environment over, as "
              "in 'source /opt/site/env.sh'")),
    torchrun(FlagId::role, "--role", 0, "NAME", "PET_ROLE", Group::program,
             "Name of this group of workers, also in the prefix of their lines", "default"),
    torchrun(FlagId::run_path, "--run-path", 0, "", "PET_RUN_PATH", Group::program,
             "SCRIPT is a path for Python to run, also with -m or --no-python: the default"),
    ours(FlagId::no_preflight, "--no-preflight", 0, "", "TOPRUN_NO_PREFLIGHT", Group::program,
         "Start without looking for what will fail in a minute"),

    container(
        FlagId::container, "--container", "IMAGE", "TOPRUN_CONTAINER",
        "Run in a container of this image: a .sif, .sqsh or .tar file, a folder (./NAME) or a "
        "reference, as docker://pytorch/pytorch:latest"),
    container(FlagId::container_environment, "--environment", "NAME|FILE", "TOPRUN_ENVIRONMENT",
              "The same from an environment definition file (EDF) of CSCS, with its mounts and "
              "variables; a NAME is looked up in $EDF_PATH, else in ~/.edf"),
    container(
        FlagId::container_runtime, "--container-runtime",
        "auto|pyxis|enroot|apptainer|singularity|podman|docker", "TOPRUN_CONTAINER_RUNTIME",
        "What runs it; auto takes the first that takes the image and is here. Of pyxis, enroot, "
        "singularity and docker the argument vector was checked against its grammar, never "
        "run",
        "auto"),
    container(FlagId::bind, "--bind", "SRC[:DST[:ro|rw]],...", "TOPRUN_BIND",
              "Show this folder of the host inside, at its own path or at DST. The current folder "
              "is there without it. May be given several times"),
    container(FlagId::container_workdir, "--container-workdir", "DIR", "TOPRUN_CONTAINER_WORKDIR",
              "Where the ranks begin inside", "the current folder"),
    container(FlagId::container_env, "--container-env", "NAME,...", "TOPRUN_CONTAINER_ENV",
              "Variables whose value is the host's although the image sets them too, as NCCL_*. "
              "May be given several times"),
    container(FlagId::container_name, "--container-name", "NAME", "TOPRUN_CONTAINER_NAME",
              "Keep the container under this name on each node, and use it again the next time"),
    container(FlagId::container_root, "--container-root", "", "TOPRUN_CONTAINER_ROOT",
              "Be root inside"),
    container(FlagId::writable, "--writable", "", "TOPRUN_WRITABLE",
              "Allow changes in the image's own folders; without a name they are lost at the end"),
    container(FlagId::no_gpu, "--no-gpu", "", "TOPRUN_NO_GPU",
              "Give the container no GPUs although the node has some"),

    torchrun(
        FlagId::max_restarts, "--max-restarts", 0, "N", "PET_MAX_RESTARTS", Group::stopping,
        "How often to start all workers again after a failure; a rank that exits with 93 ends the "
        "job all the same",
        "0"),
    ours(FlagId::grow, "--grow", 0, "at-restart|now|on-signal", "TOPRUN_GROW", Group::stopping,
         "With --nnodes MIN:MAX, when a node that comes later is taken in, for which all workers "
         "start again: at the next restart, at once as torchrun does, or when you say so by "
         "`toprun grow JOB`",
         "at-restart"),
    torchrun(FlagId::signals_to_handle, "--signals-to-handle", 0, "LIST", "PET_SIGNALS_TO_HANDLE",
             Group::stopping,
             "Signals that are passed on to the workers and then end the run, as in "
             "SIGTERM,SIGUSR1",
             "SIGTERM,SIGINT,SIGHUP,SIGQUIT"),
    torchrun(FlagId::shutdown_timeout, "--shutdown-timeout", 0, "SECONDS", "PET_SHUTDOWN_TIMEOUT",
             Group::stopping,
             "How long workers that were told to end may take before they are killed; 0 kills at "
             "once",
             "30", "TORCH_ELASTIC_SHUTDOWN_TIMEOUT"),

    torchrun(FlagId::log_dir, "--log-dir", 0, "DIR", "PET_LOG_DIR", Group::output,
             "Keep the workers' output and error files below DIR, laid out as torchrun does"),
    torchrun(FlagId::redirects, "--redirects", 'r', "STREAMS", "PET_REDIRECTS", Group::output,
             "Write streams to files instead: 0 none, 1 stdout, 2 stderr, 3 both, or by local rank "
             "as in 0:3,1:1",
             "0"),
    torchrun(
        FlagId::tee, "--tee", 't', "STREAMS", "PET_TEE", Group::output,
        "Write streams to files as well as here: 0 none, 1 stdout, 2 stderr, 3 both, or by local "
        "rank as in 0:3,1:1",
        "0"),
    torchrun(FlagId::log_line_prefix_template, "--log-line-prefix-template", 0, "TEXT",
             "PET_LOG_LINE_PREFIX_TEMPLATE", Group::output,
             "What stands before a tee'd line, with ${role_name}, ${local_rank}, ${rank} and "
             "${hostname}",
             "[${role_name}${local_rank}]:", "TORCHELASTIC_LOG_LINE_PREFIX_TEMPLATE"),
    torchrun(FlagId::local_ranks_filter, "--local-ranks-filter", 0, "LIST",
             "PET_LOCAL_RANKS_FILTER", Group::output,
             "Show the output of these local ranks only, as in 0,3; files are not affected"),
    torchrun(FlagId::duplicate_stdout_filters, "--duplicate-stdout-filters", 0, "LIST",
             "PET_DUPLICATE_STDOUT_FILTERS", Group::output,
             "Write tee'd lines that hold one of these texts also to one file for all ranks; a "
             "double comma stands for one in a text"),
    torchrun(FlagId::duplicate_stderr_filters, "--duplicate-stderr-filters", 0, "LIST",
             "PET_DUPLICATE_STDERR_FILTERS", Group::output, "The same for stderr"),
    ours(FlagId::gather_output, "--gather-output", 0, "", "TOPRUN_GATHER_OUTPUT", Group::output,
         "Show the output of all nodes where the root runs"),
    ours(FlagId::fold, "--fold", 0, "", "TOPRUN_FOLD", Group::output,
         "Show a line that many ranks print once, with the ranks before it"),
    ours(FlagId::log_max_size, "--log-max-size", 0, "SIZE", "TOPRUN_LOG_MAX_SIZE", Group::output,
         "Begin a new log file before one grows above SIZE bytes, as in 500K, 64M or 2G"),
    ours(FlagId::prefix, "--prefix", 0, "", "TOPRUN_PREFIX", Group::output,
         "Put role and local rank before every line"),
    ours(FlagId::node_log, "--node-log", 0, "DIR", "TOPRUN_NODE_LOG", Group::output,
         "Every node also appends what it shows here to DIR/HOST.out"),
    ours(FlagId::report, "--report", 0, "FILE", "TOPRUN_REPORT", Group::output,
         "Write what happens to FILE as JSON, anew at every phase, complete at the end"),

    only(Scope::run, ours(FlagId::dry_run, "--dry-run", 0, "", "", Group::general,
                          "Print what would be run, and run nothing")),
    only(Scope::everyone,
         ours(FlagId::profile, "--profile", 0, "PROFILE", "TOPRUN_PROFILE", Group::general,
              "Take also what [profile.NAME] of toprun.toml says", "its default-profile")),
    only(Scope::everyone,
         ours(FlagId::config_file, "--config-file", 0, "FILE", "TOPRUN_CONFIG_FILE", Group::general,
              "Read this file in place of the project's toprun.toml, the user's "
              "and the system's")),
    only(Scope::everyone, ours(FlagId::no_config, "--no-config", 0, "", "TOPRUN_NO_CONFIG",
                               Group::general, "Read no toprun.toml at all")),
    only(Scope::everyone, ours(FlagId::verbose, "--verbose", 'v', "", "", Group::general,
                               "Say what was decided and why")),
    only(Scope::run,
         torchrun(FlagId::print_completion, "--print-completion", 0, "bash|zsh|fish|tcsh", "",
                  Group::general, "Print what makes that shell complete these options")),
    only(Scope::everyone,
         torchrun(FlagId::help_short, "", 'h', "", "", Group::general, "The short help")),
    only(Scope::everyone, torchrun(FlagId::help, "--help", 0, "", "", Group::general, "This help")),
    only(Scope::run,
         ours(FlagId::version, "--version", 0, "", "", Group::general, "Which toprun this is")),

    torchrun(FlagId::monitor_interval, "--monitor-interval", 0, "SECONDS", "PET_MONITOR_INTERVAL",
             Group::without_effect, "toprun learns of a worker's end at once"),
    torchrun(FlagId::start_method, "--start-method", 0, "spawn|fork|forkserver", "PET_START_METHOD",
             Group::without_effect, "toprun starts every worker as a program of its own"),
    torchrun(FlagId::use_env, "--use-env", 0, "", "", Group::without_effect,
             "LOCAL_RANK always goes to the workers by the environment"),
    torchrun(FlagId::event_log_handler, "--event-log-handler", 0, "null|console",
             "PET_EVENT_LOG_HANDLER", Group::without_effect,
             "toprun's --report FILE tells what happened", "null"),

    torchrun(FlagId::logs_specs, "--logs-specs", 0, "NAME", "", Group::plugins,
             "--log-dir, --tee and --redirects say what goes where"),

    // Of setup; below the rows whose names they share, which flag_of() finds.
    only(Scope::setup, ours(FlagId::venv, "--venv", 0, "DIR", "TOPRUN_VENV", Group::building,
                            "Build a virtual environment there, for --venv of the other verbs")),
    only(Scope::setup,
         ours(FlagId::requirement, "--requirement", 'r', "FILE", "", Group::building,
              "Install what this file lists, as pip's option does; as often as needed")),
    only(Scope::setup, ours(FlagId::import_test, "--import", 0, "NAME,...", "", Group::building,
                            "Modules that must be importable in the end",
                            "those of the packages that were asked for")),
    only(Scope::setup, ours(FlagId::base_python, "--python", 0, "FILE", "", Group::building,
                            "The Python to make it from", "as below, after --modules")),
    only(Scope::setup, ours(FlagId::system_site_packages, "--system-site-packages", 0, "", "",
                            Group::building, "It sees what that Python has installed")),
    only(Scope::setup, ours(FlagId::upgrade_pip, "--upgrade-pip", 0, "", "", Group::building,
                            "Upgrade pip, setuptools and wheel first")),
    only(Scope::setup, optional_value(ours(
                           FlagId::horovod, "--horovod", 0, "nccl|gloo|mpi", "", Group::building,
                           "Build Horovod last, for the torch that is there by then: with NCCL for "
                           "GPUs, or Gloo or MPI alone"))),
    only(Scope::setup, ours(FlagId::nccl_home, "--nccl-home", 0, "DIR", "", Group::building,
                            "Where Horovod finds NCCL, if not where the compiler looks")),
    only(Scope::setup,
         ours(FlagId::container, "--container", 0, "FILE", "TOPRUN_CONTAINER", Group::building,
              "With --from: build this image, a .sif (Apptainer) or a .sqsh (enroot, whose command "
              "was checked against its grammar and never run), for --container of the other "
              "verbs")),
    only(Scope::setup,
         ours(FlagId::image_from, "--from", 0, "IMAGE", "", Group::building,
              "What the image is made of: docker://NAME:TAG, or a .tar file of docker save")),
    only(Scope::setup, ours(FlagId::force, "--force", 0, "", "", Group::building,
                            "Build anew what toprun setup has built there before")),
};

// --nproc_per_node and --nproc-per-node are the same.
std::string with_dashes(std::string_view name) {
  std::string out(name);
  std::ranges::replace(out, '_', '-');
  return out;
}

std::size_t common_beginning(std::string_view a, std::string_view b) {
  return static_cast<std::size_t>(std::ranges::mismatch(a, b).in1 - a.begin());
}

}  // namespace

bool knows(Dialect dialect, const Flag& flag) {
  if (dialect == Dialect::setup && flag.id == FlagId::log_dir) return true;
  switch (flag.scope) {
    case Scope::everyone:
    case Scope::run:
    case Scope::launch:
      if (dialect == Dialect::torchrun) return flag.origin == Origin::torchrun;
      if (dialect == Dialect::run || flag.scope == Scope::everyone) return true;
      return dialect == Dialect::submit && flag.scope == Scope::launch;
    case Scope::ranks:
      return dialect == Dialect::run || dialect == Dialect::submit || dialect == Dialect::shell;
    case Scope::allocation:
      return dialect == Dialect::submit || dialect == Dialect::shell || dialect == Dialect::setup;
    case Scope::nodes:
      return dialect == Dialect::submit || dialect == Dialect::shell;
    case Scope::batch:
      return dialect == Dialect::submit || dialect == Dialect::setup;
    case Scope::submit:
      return dialect == Dialect::submit;
    case Scope::shell:
      return dialect == Dialect::shell;
    case Scope::setup:
      return dialect == Dialect::setup;
  }
  return false;
}

std::string variable_of(const Flag& flag, Dialect dialect) {
  constexpr std::string_view sbatch = "SBATCH_";
  if (dialect != Dialect::shell || !flag.variable.starts_with(sbatch)) {
    return std::string(flag.variable);
  }
  return fmt::format("SALLOC_{}", flag.variable.substr(sbatch.size()));
}

std::string key_of(const Flag& flag) {
  return std::string(flag.name.substr(2));
}

std::span<const Flag> all_flags() {
  return table;
}

const Flag& flag_of(FlagId id) {
  return *std::ranges::find(table, id, &Flag::id);
}

const Flag* find_flag(std::string_view name, Dialect dialect) {
  const std::string wanted = with_dashes(name);
  for (const Flag& flag : table) {
    if (!flag.name.empty() && flag.name == wanted && knows(dialect, flag)) return &flag;
  }
  return nullptr;
}

const Flag* find_flag(char letter, Dialect dialect) {
  for (const Flag& flag : table) {
    if (flag.letter != 0 && flag.letter == letter && knows(dialect, flag)) return &flag;
  }
  return nullptr;
}

std::vector<const Flag*> abbreviated(std::string_view text, Dialect dialect) {
  const std::string beginning = with_dashes(text);
  std::vector<const Flag*> found;
  if (!beginning.starts_with("--") || beginning == "--") return found;
  for (const Flag& flag : table) {
    if (flag.origin != Origin::torchrun || !knows(dialect, flag)) continue;
    if (flag.name.starts_with(beginning)) found.push_back(&flag);
  }
  return found;
}

std::vector<std::string_view> choices(const Flag& flag) {
  return choices(flag.value);
}

std::vector<std::string_view> choices(std::string_view form) {
  if (form.find('[') != std::string_view::npos) return {};  // ID[:ok|any]
  std::vector<std::string_view> words = split(form, '|');
  std::erase_if(words, [](std::string_view word) {
    return word.empty() || std::ranges::any_of(word, [](char c) { return c >= 'A' && c <= 'Z'; });
  });
  return words;
}

std::optional<std::string> nearest_flag(std::string_view name, Dialect dialect) {
  const std::string wanted = with_dashes(name);
  std::vector<std::string> names;
  for (const Flag& flag : table) {
    if (flag.group == Group::plugins || flag.name.empty()) continue;
    if (knows(dialect, flag)) names.emplace_back(flag.name);
  }
  // Somebody may expect our own options to be shortened like torchrun's.
  constexpr std::size_t least_beginning = 4;
  for (const std::string& whole : names) {
    if (wanted.size() >= least_beginning && whole.starts_with(wanted)) return whole;
  }
  if (auto near = did_you_mean(wanted, names)) return near;
  // --nprocs: what is itself only the beginning of a long name ends in a slip.
  constexpr std::size_t least_common = 6;
  constexpr std::size_t longest_slip = 2;
  for (const std::string& whole : names) {
    const std::size_t common = common_beginning(wanted, whole);
    if (common >= least_common && common + longest_slip >= wanted.size()) return whole;
  }
  return std::nullopt;
}

}  // namespace toprun::options
