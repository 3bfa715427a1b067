#pragma once

#include "base/text/error.h"
#include "cli/options/call.h"

// What each verb does with its call: data to stdout, the rest to stderr; the exit code.
namespace toprun::cli {

// `toprun bench COLLECTIVE`: a launch whose ranks are cli/benchmark/worker.h's.
Result<int> run_bench(const options::Call& call);

// `toprun doctor …`: what is wrong with this machine for a distributed job, as lines, one object or
// commands (stdout). The exit code is that of the worst finding (machine/doctor/report.h).
Result<int> run_doctor(const options::Call& call);

// `toprun net show …`: the node's RDMA ports and interfaces, which a job uses, and why not the
// others, as tables or one object (stdout).
Result<int> run_net_show(const options::Call& call);

// `toprun net env …`: the variables that a job of several nodes gets here, and why, as a table, one
// object or lines for a shell (stdout); what the user's own contradict (stderr).
Result<int> run_net_env(const options::Call& call);

// `toprun store`, with the arguments after the verb: a PyTorch TCPStore server until SIGINT or
// SIGTERM, which are its normal end.
Result<int> run_store(const options::Call& call);

// `toprun config init`: writes a first toprun.toml from facts about the engine.
Result<int> run_config_init(const options::Call& call);

// `toprun config show`: what a verb would take from files and variables, and from where.
Result<int> run_config_show(const options::Call& call);

// The verb `man`: the manual page of toprun and all its verbs in the macros of man(7), from the
// same tables as the help.
Result<int> run_man(const options::Call& call);

// The verb `help [VERB [VERB]]`: prints the help of VERB, or the short help without one.
Result<int> run_help(const options::Call& call);

// `toprun version [-v|--sbom]`.
Result<int> run_version(const options::Call& call);

// `toprun cancel ID...`: ends jobs, or sends them a signal.
Result<int> run_cancel(const options::Call& call);

// `toprun eta [ID]`: when waiting jobs are expected to start, and what keeps them waiting.
Result<int> run_eta(const options::Call& call);

// `toprun grow JOB`: an elastic job takes in the nodes that wait.
Result<int> run_grow(const options::Call& call);

// `toprun jobs`: the waiting and running jobs in the engine's queue, the caller's own unless --all
// is given.
Result<int> run_jobs(const options::Call& call);

// `toprun logs ID`: what a job has printed, with -f until its end.
Result<int> run_logs(const options::Call& call);

// `toprun report JOB`: a run's report, as JSON or as a page.
Result<int> run_report(const options::Call& call);

// `toprun shell`: an interactive allocation, or with --attach a shell in a job that runs. Returns
// the shell's exit code.
Result<int> run_shell(const options::Call& call);

// `toprun stacks [JOB]`: asks a running job where its ranks stand; nothing of it stops or changes.
Result<int> run_stacks(const options::Call& call);

// `toprun status ID`: all that is known of one job, the engine's part and the run's own report.
Result<int> run_status(const options::Call& call);

// `toprun submit`: writes a batch script, keeps it beside the logs, submits it and prints the job's
// id. Returns the exit code; with --wait the job's.
Result<int> run_submit(const options::Call& call);

// `toprun top [JOB]`: a running job, live on the terminal.
Result<int> run_top(const options::Call& call);

// `toprun setup`: builds an environment as a job, or here.
Result<int> run_setup(const options::Call& call);

// `toprun topo convert …`: the network in another program's format (stdout), one of the forms of
// observe/report/convert.h; facts that the format cannot express go to stderr.
Result<int> run_topo_convert(const options::Call& call);

// `toprun topo draw …`: a picture of the domains and of the ring that an order of the job's nodes
// makes (stdout); unknown facts go to stderr.
Result<int> run_topo_draw(const options::Call& call);

// `toprun topo order …`: the job's nodes with their ranks in topology order (stdout), in one of the
// forms of observe/report/formats.h. Unknown facts go to stderr; with the default form also the
// number of pairs of the node ring that leave a domain, per level.
Result<int> run_topo_order(const options::Call& call);

// `toprun topo score …`: how many neighbours in the ring of the job's nodes are in another domain,
// per level, and what collectives cost, in each of the orders that the job could have (stdout);
// unknown facts go to stderr.
//
Result<int> run_topo_score(const options::Call& call);

// `toprun topo show …`: the domains of the network that hold the job's nodes, as an indented tree
// or, with --json, as one object (stdout); unknown facts go to stderr.
Result<int> run_topo_show(const options::Call& call);

}  // namespace toprun::cli
