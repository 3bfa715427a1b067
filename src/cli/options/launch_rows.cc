#include <array>
#include <limits>

#include "cli/options/flag_rows.h"
#include "cli/options/run_draft.h"

namespace toprun::options {
namespace {

using container::Request;
using plan::Activation;
using plan::Options;

constexpr Flag container(FlagId id, std::string_view name, std::string_view value,
                         std::string_view variable, Setter set, std::string_view help,
                         std::string_view default_value = {}) {
  return only(ranks,
              ours(id, name, 0, value, variable, Group::container, set, help, default_value));
}

// torchrun's names, short forms, values and variables: torch/distributed/run.py of PyTorch 2.14.
constexpr std::array launch_flags = {
    torchrun(FlagId::nnodes, "--nnodes", 0, "N|MIN:MAX", "PET_NNODES", Group::placement, set_nodes,
             "Number of nodes; with MIN:MAX the job starts with at least MIN nodes and grows to at "
             "most MAX",
             "all nodes of the job step or allocation, all pods of the job, else 1"),
    torchrun(FlagId::nproc_per_node, "--nproc-per-node", 0, "N|cpu|gpu|auto", "PET_NPROC_PER_NODE",
             Group::placement, put<&Options::nproc_per_node, parse_processes_per_node>,
             "Processes per node; auto: one per GPU, or one per CPU if there is no GPU",
             "the number of GPUs or tasks that the job has on the node, else the number of visible "
             "GPUs, else 1"),
    only(costs, torchrun(FlagId::nproc_per_node, "--nproc-per-node", 0, "N", "PET_NPROC_PER_NODE",
                         Group::placement, "Processes per node", "1")),
    also(networks | of(Command::doctor),
         against("hostfile standalone node-rank rdzv-endpoint master-addr",
                 ours(FlagId::hosts, "--hosts", 0, "LIST", "TOPRUN_HOSTS", Group::placement,
                      put<&Options::hosts, not_empty>,
                      "Use these hosts, as in a,b[3-9]:4, where :4 is the number of processes on a "
                      "host; toprun starts its agents on them by ssh"))),
    also(of(Command::doctor),
         against("standalone node-rank rdzv-endpoint master-addr",
                 ours(FlagId::host_file, "--hostfile", 0, "FILE", "TOPRUN_HOSTFILE",
                      Group::placement, put<&Options::host_file, not_empty>,
                      "Read the hosts from FILE, which has a line for each host: `host slots=N` as "
                      "for Open MPI or DeepSpeed, or only the host's name"))),
    of_one_call(only(
        of(Command::run),
        against(
            "hosts hostfile standalone node-rank rdzv-endpoint master-addr via launcher container "
            "environment container-runtime bind container-workdir container-env container-name "
            "container-root writable no-gpu",
            ours(FlagId::unasked, "--in", 0, "JOB", "", Group::placement,
                 put<&Options::in_job, not_empty>,
                 "Run in the sleeping pods of this Kubernetes or Run:AI job (see `toprun submit "
                 "--interactive`); kubectl exec or runai exec starts an agent in each pod")))),
    of_one_call(
        only(of(Command::run), ours(FlagId::unasked, "--detach", 0, "", "", Group::placement,
                                    put<&Options::detach, parse_switch>,
                                    "With --in: print the run's id and exit; the run continues in "
                                    "the pods, and `toprun logs -f ID` shows the run's output"))),
    of_one_call(torchrun(FlagId::node_rank, "--node-rank", 0, "N", "PET_NODE_RANK",
                         Group::placement, set_node_rank,
                         "Number of this node, from 0. The numbers set the order of the nodes, "
                         "unless --order is given too. With the backend c10d, toprun ignores the "
                         "numbers if two nodes have the same number. A number from the variable "
                         "PET_NODE_RANK only identifies the node and does not set the order")),
    against("nnodes nodes node-rank rdzv-endpoint master-addr",
            torchrun(FlagId::standalone, "--standalone", 0, "", "PET_STANDALONE", Group::placement,
                     set_standalone,
                     "Run on this node only, even in a job of several nodes, and ignore "
                     "--node-rank and the options of the rendezvous")),
    ours(FlagId::order, "--order", 0, "topology|name|scheduler|given|file:PATH", "TOPRUN_ORDER",
         Group::placement, set_order, "Order of the nodes; the file has one host per line",
         "by topology if it is known, else the scheduler's order, else by name"),
    also(networks | of(Command::cluster),
         ours(FlagId::topology, "--topology", 0,
              "auto|slurm|k8s|gcp|oci|aws|azure|nvlink|name:REGEX|FILE", "TOPRUN_TOPOLOGY",
              Group::placement, set_topology,
              "Source of the network's topology: Slurm, Kubernetes' labels, a cloud, nvidia-smi, "
              "the nodes' names, or a file. The file contains one of these: lines `host "
              "/cluster/rack/host`, TOML, JSON, YAML, a topology.conf, a topology.yaml (FILE:NAME "
              "selects one of its topologies), or the output of kubectl or ibnetdiscover",
              "auto")),
    also(
        networks_of_a_node,
        ours(
            FlagId::fabric, "--fabric", 0, "auto|off|FABRIC", "TOPRUN_FABRIC", Group::placement,
            put<&Options::fabric, parse_fabric>,
            "Network for which toprun sets NCCL's variables: the network that toprun finds (auto), "
            "no network (off), or the network FABRIC (`toprun help net env` lists the names)",
            "auto")),
    ours(FlagId::unasked, "--fabric-proof", 0, "auto|on|off", "TOPRUN_FABRIC_PROOF",
         Group::placement, put<&Options::fabric_proof, parse_fabric_proof>,
         "Print at the end which network NCCL used, according to NCCL's log lines and the "
         "adapters' counters",
         "auto: only in a job of several nodes with GPUs"),
    ours(FlagId::unasked, "--require-rdma", 0, "", "TOPRUN_REQUIRE_RDMA", Group::placement,
         put<&Options::require_rdma, parse_switch>,
         "End the job at once if a node has no usable RDMA, or if NCCL communicates over plain "
         "sockets"),
    also(of(Command::topo_order),
         ours(FlagId::unasked, "--topology-required", 0, "", "TOPRUN_TOPOLOGY_REQUIRED",
              Group::placement, put<&Options::topology_required, parse_switch>,
              "Fail unless the place of every node in the network is known")),
    also(orders, ours(FlagId::segment, "--segment", 0, "N", "TOPRUN_SEGMENT", Group::placement,
                      put<&Options::segment, number<1, max_nodes>>,
                      "Keep each group of N consecutive nodes inside one domain of the network, "
                      "such as an NVLink domain",
                      "1")),
    also(costs,
         against("order segment",
                 ours(FlagId::parallel, "--parallel", 0, "tp=N,pp=N,...", "TOPRUN_PARALLEL",
                      Group::placement, put<&PlanOptions::parallel, not_empty>,
                      "Sizes of the parallel groups (tp, cp, ep, etp, dp, pp, order=...): toprun "
                      "orders the nodes so that the costliest traffic takes the shortest paths"))),
    also(costs, ours(FlagId::model, "--model", 0, "PARAMETERS", "TOPRUN_MODEL", Group::placement,
                     put<&PlanOptions::model, not_empty>,
                     "Number of the model's parameters, such as 70B, to estimate the traffic of "
                     "--parallel")),
    also(costs,
         ours(FlagId::traffic, "--traffic", 0, "KIND=SIZE,...", "TOPRUN_TRAFFIC", Group::placement,
              put<&PlanOptions::traffic, not_empty>,
              "Bytes that each rank sends per step, such as dp=2G,tp=512M; overrides --model")),
    also(costs, repeatable(ours(FlagId::link, "--link", 0, "LEVEL=GBPS,...", "TOPRUN_LINK",
                                Group::placement, add_links,
                                "Bandwidth of one domain's uplink in each direction in Gbit/s, "
                                "such as rack=400; rack=400:2 adds a latency of 2 microseconds; "
                                "host=3200 is the bandwidth of all adapters of a node together"))),
    ours(FlagId::unasked, "--stable", 0, "", "TOPRUN_STABLE", Group::placement,
         put<&Options::stable, parse_switch>,
         "After nodes are lost, the other nodes keep their ranks where possible; a new node gets "
         "free ranks whose neighbours are near the node in the network"),
    torchrun(FlagId::unasked, "--virtual-local-rank", 0, "", "PET_VIRTUAL_LOCAL_RANK",
             Group::placement, put<&Options::virtual_local_rank, parse_switch>,
             "Give every worker LOCAL_RANK=0 and only one GPU, with CUDA_VISIBLE_DEVICES"),
    torchrun(FlagId::unasked, "--numa-binding", 0, "node|socket|exclusive|core-complex", "",
             Group::placement, put<&Options::numa_binding, parse_numa_binding>,
             "Bind worker I to CPUs near GPU I: to all CPUs of the GPU's NUMA node (node) or of "
             "the GPU's socket (socket), to its own part of the NUMA node's CPUs (exclusive), or "
             "to cores that share a cache (core-complex)"),
    only(scripts,
         optional_value(ours(FlagId::unasked, "--warm", 0, "off|MODULES", "TOPRUN_WARM",
                             Group::program, put<&Options::warm, parse_imports>,
                             "Start and restart ranks as forks of one Python process per node; "
                             "this process has already imported these modules (torch if no module "
                             "is named) and the modules that the script imports first",
                             "off"))),
    only(scripts,
         optional_value(ours(
             FlagId::unasked, "--prefetch", 0, "off|MODULES", "TOPRUN_PREFETCH", Group::program,
             put<&Options::prefetch, parse_imports>,
             "Each node reads the files of these modules (torch if no module is named) into its "
             "page cache before its ranks import them; the first run records the list of files",
             "off"))),
    only(scripts,
         ours(FlagId::unasked, "--stage", 0, "DIR", "TOPRUN_STAGE", Group::program,
              put<&Options::stage, not_empty>,
              "Copy this environment (a venv, a conda environment, any folder, an image file) from "
              "the root's node to the local disk or memory of the other nodes; nodes pass the copy "
              "on to each other, and ranks see the copy at the path DIR")),
    only(scripts, ours(FlagId::unasked, "--stage-to", 0, "DIR", "TOPRUN_STAGE_TO", Group::program,
                       put<&Options::stage_to, not_empty>,
                       "Folder in which each node stores the copies of --stage; toprun adds a "
                       "subfolder for each user",
                       "TMPDIR, else /tmp; /dev/shm if that folder is on a network file system")),
    only(scripts, ours(FlagId::unasked, "--ranks-in-place", 0, "", "TOPRUN_RANKS_IN_PLACE",
                       Group::placement, put<&Options::ranks_in_place, parse_switch>,
                       "Start the script once, as one rank, because srun or mpirun has started one "
                       "toprun per rank instead of one toprun per node. This option is the default "
                       "in a Slurm step with more tasks than nodes. Outside a known engine, the "
                       "variables RANK, WORLD_SIZE, LOCAL_RANK and MASTER_ADDR identify the rank")),
    ours(FlagId::unasked, "--via", 0, "mpirun", "TOPRUN_VIA", Group::placement,
         put<&Options::via, one_of>,
         "Call mpirun (Open MPI, MPICH, Intel MPI) once to start one agent per node on the hosts "
         "of --hosts, --hostfile or the Slurm job",
         "srun in Slurm, else ssh"),
    only(scripts, ours(FlagId::unasked, "--launcher", 0, "mpirun", "TOPRUN_LAUNCHER",
                       Group::placement, put<&Options::launcher, one_of>,
                       "Let mpirun start each rank directly, in toprun's order of nodes; Horovod "
                       "and backend='mpi' need this option")),
    only(scripts, ours(FlagId::unasked, "--ranks-per-node", 0, "N", "TOPRUN_RANKS_PER_NODE",
                       Group::placement, set_ranks_per_node,
                       "Number of ranks on each node, with --launcher mpirun",
                       "the number of --nproc-per-node")),

    torchrun(FlagId::unasked, "--master-addr", 0, "HOST", "PET_MASTER_ADDR", Group::rendezvous,
             put<&Options::master_addr, parse_host>,
             "Name or address of the node with rank 0, for the backend static",
             "found by the engine; 127.0.0.1 on one node"),
    torchrun(
        FlagId::unasked, "--master-port", 0, "PORT", "PET_MASTER_PORT", Group::rendezvous,
        put<&Options::master_port, number<0, max_port>>, "Port on the host of --master-addr",
        "on one node a free port; in Slurm a port that is derived from job and step; else 29500"),
    torchrun(FlagId::unasked, "--rdzv-endpoint", 0, "HOST[:PORT]", "PET_RDZV_ENDPOINT",
             Group::rendezvous, unless_empty<put<&Options::rdzv_endpoint, parse_endpoint>>,
             "Address at which the nodes meet; write an IPv6 address in brackets"),
    torchrun(FlagId::rdzv_backend, "--rdzv-backend", 0, "static|c10d", "PET_RDZV_BACKEND",
             Group::rendezvous, put<&Options::rdzv_backend, parse_backend>,
             "torchrun's rendezvous backend; in toprun the backend only decides the default port "
             "(29400 for c10d) and which nodes can be the root",
             "static"),
    torchrun(FlagId::unasked, "--rdzv-id", 0, "NAME", "PET_RDZV_ID", Group::rendezvous,
             unless_empty<put<&Options::rdzv_id, as_it_is>>,
             "Name of the job; it must be the same on all nodes", "none"),
    torchrun(FlagId::rdzv_conf, "--rdzv-conf", 0, "K=V,...", "PET_RDZV_CONF", Group::rendezvous,
             set_rendezvous_settings,
             "Settings of the rendezvous, such as is_host=1 or join_timeout=600 (seconds)"),
    torchrun(FlagId::unasked, "--local-addr", 0, "HOST", "PET_LOCAL_ADDR", Group::rendezvous,
             unless_empty<put<&Options::local_addr, parse_host>>,
             "Address at which other nodes reach this node",
             "the address of this node on the route to the other nodes"),

    against("no-python",
            only(scripts, torchrun(FlagId::unasked, "--module", 'm', "", "PET_MODULE",
                                   Group::program, put<&RunDraft::module, parse_switch>,
                                   "SCRIPT is a Python module, as with `python -m`"))),
    only(scripts, torchrun(FlagId::unasked, "--no-python", 0, "", "PET_NO_PYTHON", Group::program,
                           put<&RunDraft::no_python, parse_switch>,
                           "SCRIPT is a program to run as it is, looked up in PATH")),
    repeatable(only(
        starting,
        ours(FlagId::env, "--env", 'e', "K[=V]", "", Group::program, add_variable,
             "Set a variable on every node; K without =V copies the value from this environment"))),
    against("conda", only(ranks, ours(FlagId::venv, "--venv", 0, "DIR", "TOPRUN_VENV",
                                      Group::program, put<&Activation::venv, not_empty>,
                                      "Run in this virtual environment, with its Python"))),
    only(ranks, ours(FlagId::conda, "--conda", 0, "NAME|DIR", "TOPRUN_CONDA", Group::program,
                     put<&Activation::conda, not_empty>,
                     "Run in this conda environment, with its Python")),
    repeatable(only(starting, ours(FlagId::modules, "--modules", 0, "NAME,...", "TOPRUN_MODULES",
                                   Group::program, add_modules,
                                   "Before anything else, load these environment modules "
                                   "(Environment Modules, Lmod), and no others"))),
    only(scripts,
         ours(FlagId::unasked, "--accelerate-config", 0, "FILE", "TOPRUN_ACCELERATE_CONFIG",
              Group::program, put<&Options::accelerate_config, not_empty>,
              "Give the ranks the settings in this config file of Hugging Face's accelerate, as "
              "`accelerate launch` would; toprun still decides which rank runs where")),
    only(starting,
         ours(FlagId::before, "--before", 0, "COMMAND", "", Group::program,
              put<&Activation::before, not_empty>,
              "Run COMMAND in bash on every node after --modules are loaded, such as 'source "
              "/opt/site/env.sh', and start the ranks in the resulting environment")),
    only(scripts,
         torchrun(
             FlagId::unasked, "--role", 0, "NAME", "PET_ROLE", Group::program,
             put<&Options::role, as_it_is>,
             "Name of this group of workers; the prefix of their output lines contains the name",
             "default")),
    only(scripts, torchrun(FlagId::unasked, "--run-path", 0, "", "PET_RUN_PATH", Group::program,
                           put<&RunDraft::run_path, parse_switch>,
                           "SCRIPT is a path for Python to run, even with -m or --no-python")),
    ours(FlagId::unasked, "--no-preflight", 0, "", "TOPRUN_NO_PREFLIGHT", Group::program,
         put<&Options::preflight, off_switch>,
         "Skip the pre-flight checks, which detect before the start what would make the job fail "
         "later"),

    container(FlagId::container, "--container", "IMAGE", "TOPRUN_CONTAINER",
              put<&Request::image, parse_image_option>,
              "Run in a container of this image: a .sif, .sqsh or .tar file, a folder (./NAME) or "
              "a reference such as docker://pytorch/pytorch:latest"),
    container(FlagId::container_environment, "--environment", "NAME|FILE", "TOPRUN_ENVIRONMENT",
              put<&Request::environment, not_empty>,
              "Run in the container that an environment definition file (EDF) of CSCS describes, "
              "with its mounts and variables; a NAME is looked up in $EDF_PATH, else in ~/.edf"),
    container(FlagId::container_runtime, "--container-runtime",
              "auto|pyxis|enroot|apptainer|singularity|podman|docker", "TOPRUN_CONTAINER_RUNTIME",
              put<&Request::runtime, one_of>,
              "Runtime of the container; auto selects the first installed runtime that accepts the "
              "image. The commands for pyxis, enroot, singularity and docker were checked against "
              "their documented grammar but never run",
              "auto"),
    repeatable(container(FlagId::bind, "--bind", "SRC[:DST[:ro|rw]],...", "TOPRUN_BIND", add_binds,
                         "Mount this folder of the host in the container, at the same path or at "
                         "DST. The current folder is always mounted")),
    container(FlagId::container_workdir, "--container-workdir", "DIR", "TOPRUN_CONTAINER_WORKDIR",
              put<&Request::workdir, parse_workdir>,
              "Working directory of the ranks in the container", "the current folder"),
    repeatable(container(FlagId::container_env, "--container-env", "NAME,...",
                         "TOPRUN_CONTAINER_ENV", add_container_variables,
                         "Pass these variables of the host into the container, such as NCCL_*, "
                         "even if the image sets the same variables")),
    container(FlagId::container_name, "--container-name", "NAME", "TOPRUN_CONTAINER_NAME",
              put<&Request::name, parse_container_name>,
              "Keep the container under this name on each node after the job, and reuse it in "
              "later jobs"),
    container(FlagId::container_root, "--container-root", "", "TOPRUN_CONTAINER_ROOT",
              put<&Request::root, parse_switch>, "Run as root in the container"),
    container(FlagId::writable, "--writable", "", "TOPRUN_WRITABLE",
              put<&Request::writable, parse_switch>,
              "Allow changes to the image's own folders; without --container-name the changes are "
              "lost when the run ends"),
    container(FlagId::no_gpu, "--no-gpu", "", "TOPRUN_NO_GPU", put<&Request::gpu, off_switch>,
              "Give the container no GPUs, even if the node has GPUs"),

    torchrun(FlagId::unasked, "--max-restarts", 0, "N", "PET_MAX_RESTARTS", Group::stopping,
             put<&Options::max_restarts, number<0, std::numeric_limits<int>::max()>>,
             "Maximum number of restarts of all workers after failures; a rank that exits with 93 "
             "ends the job without a restart",
             "0"),
    ours(FlagId::unasked, "--grow", 0, "at-restart|now|on-signal", "TOPRUN_GROW", Group::stopping,
         set_grow,
         "Time at which late nodes join a job with --nnodes MIN:MAX: at the next restart, at once "
         "as in torchrun (now), or when you run `toprun grow JOB` (on-signal); all workers restart "
         "when nodes join",
         "at-restart"),
    torchrun(FlagId::unasked, "--signals-to-handle", 0, "LIST", "PET_SIGNALS_TO_HANDLE",
             Group::stopping, put<&Options::signals_to_handle, parse_signals>,
             "Signals that toprun passes on to the workers before it ends the run, such as "
             "SIGTERM,SIGUSR1",
             "SIGTERM,SIGINT,SIGHUP,SIGQUIT"),
    torchrun(FlagId::unasked, "--shutdown-timeout", 0, "SECONDS", "PET_SHUTDOWN_TIMEOUT",
             Group::stopping, set_shutdown_timeout,
             "How long the workers may take to end before toprun kills them; with 0 toprun kills "
             "them at once",
             "30", "TORCH_ELASTIC_SHUTDOWN_TIMEOUT"),
    ours(FlagId::unasked, "--hang-timeout", 0, "SECONDS", "TOPRUN_HANG_TIMEOUT", Group::stopping,
         set_hang_timeout,
         "The ranks count as hanging if no rank makes progress for this long while a rank waits "
         "for another rank; toprun then prints for which rank the others wait, and at which line "
         "of code that rank is",
         "no limit"),
    ours(FlagId::unasked, "--on-hang", 0, "report|restart|abort", "TOPRUN_ON_HANG", Group::stopping,
         set_on_hang,
         "What toprun does on a hang: only report it, restart all workers (as often as "
         "--max-restarts allows), or end the job",
         "report"),

    also(
        of(Command::setup),
        torchrun(
            FlagId::log_dir, "--log-dir", 0, "DIR", "PET_LOG_DIR", Group::output, set_log_dir,
            "Write the workers' output and error files under DIR, in the same layout as torchrun")),
    torchrun(FlagId::redirects, "--redirects", 'r', "STREAMS", "PET_REDIRECTS", Group::output,
             put<&Options::redirects, parse_streams>,
             "Write streams to files instead of the terminal: 0 none, 1 stdout, 2 stderr, 3 both; "
             "0:3,1:1 means both for local rank 0, and stdout for local rank 1",
             "0"),
    torchrun(FlagId::tee, "--tee", 't', "STREAMS", "PET_TEE", Group::output,
             put<&Options::tee, parse_streams>,
             "Write streams to files and to the terminal: 0 none, 1 stdout, 2 stderr, 3 both; "
             "0:3,1:1 means both for local rank 0, and stdout for local rank 1",
             "0"),
    torchrun(FlagId::unasked, "--log-line-prefix-template", 0, "TEXT",
             "PET_LOG_LINE_PREFIX_TEMPLATE", Group::output,
             put<&Options::prefix_template, parse_prefix_template>,
             "Prefix of a line of --tee; it can contain ${role_name}, ${local_rank}, ${rank} and "
             "${hostname}",
             "[${role_name}${local_rank}]:", "TORCHELASTIC_LOG_LINE_PREFIX_TEMPLATE"),
    torchrun(FlagId::unasked, "--local-ranks-filter", 0, "LIST", "PET_LOCAL_RANKS_FILTER",
             Group::output, unless_empty<put<&Options::local_ranks_filter, parse_local_ranks>>,
             "Show the output of these local ranks only, such as 0,3; files are not affected"),
    torchrun(FlagId::duplicate_stdout_filters, "--duplicate-stdout-filters", 0, "LIST",
             "PET_DUPLICATE_STDOUT_FILTERS", Group::output,
             put<&Options::duplicate_stdout_filters, parse_filters>,
             "Also write each line of --tee that contains one of these texts to one file for all "
             "ranks; two commas stand for one comma in a text"),
    torchrun(FlagId::duplicate_stderr_filters, "--duplicate-stderr-filters", 0, "LIST",
             "PET_DUPLICATE_STDERR_FILTERS", Group::output,
             put<&Options::duplicate_stderr_filters, parse_filters>,
             "The same as --duplicate-stdout-filters, for stderr"),
    ours(FlagId::unasked, "--gather-output", 0, "", "TOPRUN_GATHER_OUTPUT", Group::output,
         put<&Options::gather_output, parse_switch>,
         "Show the output of all nodes on the terminal of the node with rank 0"),
    ours(FlagId::unasked, "--fold", 0, "", "TOPRUN_FOLD", Group::output,
         put<&Options::fold, parse_switch>,
         "If several ranks print the same line, show the line once, after the numbers of these "
         "ranks"),
    ours(FlagId::unasked, "--no-progress", 0, "", "TOPRUN_NO_PROGRESS", Group::output,
         put<&Options::progress, off_switch>, "Do not show the progress line while ranks start"),
    ours(FlagId::unasked, "--log-max-size", 0, "SIZE", "TOPRUN_LOG_MAX_SIZE", Group::output,
         put<&Options::log_max_bytes, parse_size>,
         "Start a new log file before the current log file exceeds SIZE bytes, such as 500K, 64M "
         "or 2G"),
    ours(FlagId::unasked, "--prefix", 0, "", "TOPRUN_PREFIX", Group::output,
         put<&Options::prefix, parse_switch>, "Put role and local rank before every line"),
    ours(FlagId::unasked, "--node-log", 0, "DIR", "TOPRUN_NODE_LOG", Group::output,
         put<&Options::node_log, not_empty>,
         "Let every node also append its output to DIR/HOST.out; in Run:AI's pods, toprun replaces "
         "%j in DIR by the variable JOB_UUID"),
    optional_value(ours(FlagId::unasked, "--web", 0, "ADDR:PORT", "TOPRUN_WEB", Group::output,
                        put<&Options::web, parse_listening>,
                        "Serve a web page with the state of all ranks while the job runs; toprun "
                        "prints the page's address once; the address contains a secret",
                        "127.0.0.1 and a free port, if --web has no value")),
    ours(FlagId::unasked, "--report", 0, "FILE", "TOPRUN_REPORT", Group::output,
         put<&Options::report, not_empty>,
         "Write a JSON report of the job to FILE; toprun updates it at every phase, and it is "
         "complete at the end of the job; in Run:AI's pods, the variable JOB_UUID replaces %j"),
    repeatable(ours(FlagId::unasked, "--notify", 0, "CMD|URL", "TOPRUN_NOTIFY", Group::output,
                    add_notify,
                    "When the job restarts, hangs or ends, send a JSON object to this command's "
                    "stdin, or to this URL by curl")),

    of_one_call(only(of(Command::run, Command::bench),
                     ours(FlagId::dry_run, "--dry-run", 0, "", "", Group::general,
                          put<&Options::dry_run, parse_switch>,
                          "Print what toprun would run, and start nothing"))),
    also(networks | of(Command::cluster, Command::config_show),
         of_one_call(only(starting, ours(FlagId::profile, "--profile", 0, "PROFILE",
                                         "TOPRUN_PROFILE", Group::general,
                                         "Also use the options of [profile.PROFILE] in toprun.toml",
                                         "the default-profile in toprun.toml")))),
    also(networks | of(Command::cluster, Command::config_show),
         of_one_call(only(starting, ours(FlagId::config_file, "--config-file", 0, "FILE",
                                         "TOPRUN_CONFIG_FILE", Group::general,
                                         "Read this file instead of the toprun.toml of the "
                                         "project, the user and the system")))),
    also(
        networks | of(Command::cluster, Command::config_show),
        of_one_call(only(starting, ours(FlagId::no_config, "--no-config", 0, "", "TOPRUN_NO_CONFIG",
                                        Group::general, "Do not read any toprun.toml")))),
    only(starting, ours(FlagId::verbose, "--verbose", 'v', "", "", Group::general,
                        "Print what toprun decided and why")),
    of_one_call(only(of(Command::run), torchrun(FlagId::print_completion, "--print-completion", 0,
                                                "bash|zsh|fish|tcsh", "", Group::general,
                                                "Print a completion script for that shell"))),
    only(starting, torchrun(FlagId::help_short, "", 'h', "", "", Group::general, "The short help")),
    of_one_call(
        only(starting, torchrun(FlagId::help, "--help", 0, "", "", Group::general, "This help"))),
    of_one_call(only(of(Command::run), ours(FlagId::version, "--version", 0, "", "", Group::general,
                                            "Show the version of toprun"))),

    torchrun(FlagId::unasked, "--monitor-interval", 0, "SECONDS", "PET_MONITOR_INTERVAL",
             Group::without_effect, check_interval, "toprun notices a worker's end at once"),
    torchrun(FlagId::unasked, "--start-method", 0, "spawn|fork|forkserver", "PET_START_METHOD",
             Group::without_effect, check_choice,
             "toprun always starts each worker as a separate program"),
    torchrun(FlagId::unasked, "--use-env", 0, "", "", Group::without_effect,
             "toprun always passes LOCAL_RANK to the workers in the environment"),
    torchrun(FlagId::unasked, "--event-log-handler", 0, "null|console", "PET_EVENT_LOG_HANDLER",
             Group::without_effect, check_event_log_handler,
             "toprun writes events to the file of --report instead", "null"),

    of_one_call(torchrun(FlagId::unasked, "--logs-specs", 0, "default", "", Group::plugins,
                         check_event_log_handler,
                         "--log-dir, --tee and --redirects decide where the output goes")),

};

}  // namespace

std::span<const Flag> launch_rows() {
  return launch_flags;
}

}  // namespace toprun::options
