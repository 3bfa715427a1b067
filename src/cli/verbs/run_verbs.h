#pragma once

#include "base/text/error.h"
#include "cli/options/call.h"

// The implementation of each verb. Data are printed on stdout, messages on stderr. Each function
// returns the exit code.
namespace toprun::cli {

// `toprun bench COLLECTIVE`: a launch whose ranks call run_worker() (cli/benchmark/worker.h).
Result<int> run_bench(const options::Call& call);

// `toprun doctor …`: reports faults of this machine that affect distributed jobs, as lines, JSON or
// commands (stdout). The exit code depends on the worst finding (machine/doctor/report.h).
Result<int> run_doctor(const options::Call& call);

// `toprun net show …`: lists the node's RDMA ports and interfaces as tables or JSON (stdout). Shows
// which of them a job uses, why it does not use the others, and which NCCL variables the user has
// set. Reports contradictions like `net env`.
Result<int> run_net_show(const options::Call& call);

// `toprun net env …`: lists the NCCL variables that toprun sets on this node for a job of several
// nodes, with the reasons, as a table, JSON or lines for a shell (stdout). Reports on stderr which
// of the user's own variables contradict these values.
Result<int> run_net_env(const options::Call& call);

// `toprun store`: serves a PyTorch TCPStore until SIGINT or SIGTERM, and exits with 0.
Result<int> run_store(const options::Call& call);

// `toprun config init`: writes an initial toprun.toml from facts about the engine.
Result<int> run_config_init(const options::Call& call);

// `toprun config show`: lists the options that configuration files and variables would set for a
// verb, with their sources.
Result<int> run_config_show(const options::Call& call);

// `toprun man [VERB]`: shows the manual page of toprun or of a verb by man(1). If stdout is not a
// terminal, prints the page in the macros of man(7). The page has the content of the tables from
// which --help is printed, too.
Result<int> run_man(const options::Call& call);

// `toprun help [VERB [VERB]]`: prints the help of VERB, or the short help without VERB.
Result<int> run_help(const options::Call& call);

// `toprun version [-v|--sbom]`: prints the version, details of the build, or a bill of materials.
Result<int> run_version(const options::Call& call);

// `toprun cancel ID...`: ends jobs, or sends a signal to them.
Result<int> run_cancel(const options::Call& call);

// `toprun eta [ID…]`: shows when waiting jobs are expected to start, and why they wait.
Result<int> run_eta(const options::Call& call);

// `toprun grow JOB`: makes an elastic job admit the nodes that wait to join it.
Result<int> run_grow(const options::Call& call);

// `toprun jobs`: lists the waiting and running jobs in the engine's queue. Without --all, lists
// only the caller's jobs.
Result<int> run_jobs(const options::Call& call);

// `toprun logs ID`: shows a job's output; with -f until the job ends.
Result<int> run_logs(const options::Call& call);

// `toprun report JOB`: prints a run's report as JSON, or writes an HTML page.
Result<int> run_report(const options::Call& call);

// `toprun shell`: starts an interactive allocation, or with --attach a shell in a running job.
// Returns the shell's exit code.
Result<int> run_shell(const options::Call& call);

// `toprun stacks [JOB]`: prints the stack of each rank of a running job. The job is not stopped or
// changed.
Result<int> run_stacks(const options::Call& call);

// `toprun status ID`: shows everything known about a job, from the engine and its report.json.
Result<int> run_status(const options::Call& call);

// `toprun submit`: writes a batch script into the log directory, submits it and prints the job's
// id. Returns the exit code; with --wait the job's exit code.
Result<int> run_submit(const options::Call& call);

// `toprun top [JOB]`: shows a running job live on the terminal.
Result<int> run_top(const options::Call& call);

// `toprun setup`: builds an environment in a job or on this machine.
Result<int> run_setup(const options::Call& call);

// `toprun topo convert …`: prints the network in another program's format
// (observe/report/convert.h) on stdout. Facts that the format cannot express are listed on stderr.
Result<int> run_topo_convert(const options::Call& call);

// `toprun topo draw …`: draws the domains, and the job's nodes as a ring in the order of --order
// (stdout). Unknown facts about the network are listed on stderr.
Result<int> run_topo_draw(const options::Call& call);

// `toprun topo order …`: prints the job's nodes with their ranks in topology order (stdout), in one
// of the formats of observe/report/formats.h. Unknown facts about the network are listed on stderr.
// With the default format, stderr also shows for each level how many pairs of neighbours in the
// ring are in different domains.
Result<int> run_topo_order(const options::Call& call);

// `toprun topo score …`: prints a table of the possible orders of the job's nodes (stdout). For
// each order, it has the time of collectives, and per level how many neighbours in the ring are in
// different domains. Unknown facts about the network are listed on stderr.
Result<int> run_topo_score(const options::Call& call);

// `toprun topo show …`: prints the network domains that contain the job's nodes, as an indented
// tree or, with --json, as one JSON object (stdout). Unknown facts about the network are listed on
// stderr.
Result<int> run_topo_show(const options::Call& call);

}  // namespace toprun::cli
