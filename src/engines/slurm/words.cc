#include "engines/slurm/words.h"

#include <algorithm>

namespace toprun::engines::slurm {
namespace {

constexpr State states[] = {
    {"PENDING", "PD", JobState::pending, "waiting"},
    {"CONFIGURING", "CF", JobState::starting, "its nodes are being prepared"},
    {"POWER_UP_NODE", "PU", JobState::starting, "its nodes are being switched on"},
    {"RUNNING", "R", JobState::running, "running"},
    {"RESIZING", "RS", JobState::running, "running, about to change its size"},
    {"SIGNALING", "SI", JobState::running, "running, being sent a signal"},
    {"SUSPENDED", "S", JobState::suspended,
     "suspended: it keeps its nodes, and other jobs may use its CPUs"},
    {"STOPPED", "ST", JobState::suspended, "stopped by a signal: it keeps its nodes and CPUs"},
    {"COMPLETING", "CG", JobState::completing, "ending: its nodes are being cleared up"},
    {"STAGE_OUT", "SO", JobState::completing, "ended, its files are being copied out"},
    {"COMPLETED", "CD", JobState::completed, "ended with exit code 0"},
    {"CANCELLED", "CA", JobState::cancelled, "cancelled by a user or an administrator"},
    {"FAILED", "F", JobState::failed, "failed"},
    {"TIMEOUT", "TO", JobState::failed, "ended by Slurm at its time limit", JobEnd::time_limit},
    {"NODE_FAIL", "NF", JobState::failed, "one of its nodes failed"},
    {"OUT_OF_MEMORY", "OOM", JobState::failed, "a process needed more memory than the job has"},
    {"PREEMPTED", "PR", JobState::failed, "ended by Slurm to make room for another job",
     JobEnd::preemption},
    {"BOOT_FAIL", "BF", JobState::failed, "its nodes could not be booted"},
    {"LAUNCH_FAILED", "LF", JobState::failed, "it could not be started"},
    {"DEADLINE", "DL", JobState::failed, "ended by Slurm at its deadline"},
    {"REVOKED", "RV", JobState::cancelled, "runs on another cluster of the federation"},
    {"REQUEUED", "RQ", JobState::pending, "back in the queue"},
    {"REQUEUE_FED", "RF", JobState::pending, "being queued again by the federation"},
    {"REQUEUE_HOLD", "RH", JobState::pending,
     "back in the queue and held: scontrol release frees it"},
    {"SPECIAL_EXIT", "SE", JobState::pending, "queued again in a special state, and held"},
    {"RESV_DEL_HOLD", "RD", JobState::pending, "held: its reservation was deleted"},
};

// Slurm sets the start time of a requeued job about two minutes ahead, also without --begin.
constexpr std::string_view pause_after_requeue =
    "it was put back into the queue, and Slurm waits about 2 min before it starts the job again";

struct Reason {
  std::string_view start;  // of the reason's name; the first row that fits counts
  std::string_view words;
};

constexpr std::string_view never_satisfied = "DependencyNeverSatisfied";
constexpr std::string_view bad_constraints = "BadConstraints";

constexpr Reason reasons[] = {
    {"Resources", "the nodes or GPUs that it asks for are in use; it is next when they are free"},
    {"Priority", "jobs with a higher priority are ahead of it"},
    {never_satisfied,
     "a job that it depends on did not end as required, so it can never start: cancel it"},
    {"Dependency", "a job that it depends on has not ended yet"},
    {begin_time, "its start time (--begin) has not come yet"},
    {"JobHeldUser", "its owner holds it: scontrol release ID frees it"},
    {"JobHeldAdmin", "an administrator holds it, and only an administrator can release it"},
    {"JobArrayTaskLimit", "as many tasks of this array run as --array=…%N allows"},
    {"ReqNodeNotAvail",
     "a node that it needs is down, drained or reserved (often a maintenance that begins before "
     "its time limit would end: a shorter --time may fit)"},
    {"PartitionTimeLimit", "its time limit is over the partition's: a shorter --time may run"},
    {"PartitionNodeLimit", "it asks for more or fewer nodes than the partition allows"},
    {"PartitionDown", "the partition takes jobs but starts none now"},
    {"PartitionInactive", "the partition is switched off"},
    {"PartitionConfig", "it asks for what this partition does not offer"},
    {"NodeDown", "a node that it needs is down"},
    {bad_constraints, "no node fits what it asks for (--constraint, --gres, --mem …)"},
    {"Licenses", "the licences that it asks for are in use"},
    {"ReservationDeleted", "its reservation was deleted"},
    {"Reservation", "its reservation has not begun"},
    {"InvalidAccount", "its account does not exist or is not yours: give another --account"},
    {"InvalidQOS", "it may not use its QOS: give another --qos"},
    {"AccountNotAllowed", "its account may not use this partition"},
    {"QOSNotAllowed", "its QOS may not be used with this account or partition"},
    {"QOSJobLimit", "as many jobs run under its QOS as the QOS allows"},
    {"QOSResourceLimit", "its QOS has reached a limit on resources"},
    {"QOSTimeLimit", "its QOS has used up its time"},
    {"QOSUsageThreshold", "its QOS has used up its share"},
    {"QOSMaxJobsPerUserLimit", "you run as many jobs as the QOS allows one user"},
    {"QOSMaxSubmitJobPerUserLimit", "you have as many jobs as the QOS allows one user"},
    {"QOSMaxWallDurationPerJobLimit", "its time limit is over the QOS's: a shorter --time may run"},
    {"QOSMaxGRESPerUser", "you use as many GPUs as the QOS allows one user"},
    {"QOSMaxGRESPerJob", "it asks for more GPUs than the QOS allows one job"},
    {"QOSMaxNodePerUserLimit", "you use as many nodes as the QOS allows one user"},
    {"QOSMaxNodePerJobLimit", "it asks for more nodes than the QOS allows one job"},
    {"QOSMaxCpuPerUserLimit", "you use as many CPUs as the QOS allows one user"},
    {"QOSMaxCpuPerJobLimit", "it asks for more CPUs than the QOS allows one job"},
    {"QOSMaxMemoryPer", "it asks for, or you use, as much memory as the QOS allows"},
    {"QOSMinGRES", "it asks for fewer GPUs than the QOS requires"},
    {"QOSGrpGRES", "all jobs of the QOS together use as many GPUs as it allows"},
    {"QOSGrpNodeLimit", "all jobs of the QOS together use as many nodes as it allows"},
    {"QOSGrpCpuLimit", "all jobs of the QOS together use as many CPUs as it allows"},
    {"QOSGrpJobsLimit", "as many jobs of the QOS run as it allows"},
    {"QOSGrp", "all jobs of the QOS together have reached a limit of it"},
    {"QOSMax", "a limit of its QOS for one user or job is reached"},
    {"QOSMin", "it asks for less than its QOS requires"},
    {"AssociationJobLimit", "as many jobs of its account run as are allowed"},
    {"AssociationResourceLimit", "its account has reached a limit on resources"},
    {"AssociationTimeLimit", "its account has used up its time"},
    {"AssocMaxJobsLimit", "you run as many jobs as your account allows"},
    {"AssocMaxWallDurationPerJobLimit",
     "its time limit is over the account's: a shorter --time may run"},
    {"AssocGrpGRES", "all jobs of the account together use as many GPUs as it may"},
    {"AssocGrpNodeLimit", "all jobs of the account together use as many nodes as it may"},
    {"AssocGrpCpuLimit", "all jobs of the account together use as many CPUs as it may"},
    {"AssocGrpCPUMinutesLimit", "the account has used up its CPU time"},
    {"AssocGrpBillingMinutes", "the account's budget is used up, or its jobs would use it up"},
    {"AssocGrpGRESMinutes", "the account has used up its GPU time"},
    {"AssocGrpJobsLimit", "as many jobs of the account run as it may"},
    {"AssocGrp", "all jobs of the account together have reached a limit of it"},
    {"AssocMax", "a limit of the account for one user or job is reached"},
    {"MaxGRESPerAccount", "the account uses as many GPUs as the QOS allows it"},
    {"MaxNodePerAccount", "the account uses as many nodes as the QOS allows it"},
    {"MaxJobsPerAccount", "the account runs as many jobs as the QOS allows it"},
    {"MaxCpuPerAccount", "the account uses as many CPUs as the QOS allows it"},
    {"Cleaning", "it was queued again and its earlier run is still being cleared up"},
    {"Prolog", "its nodes are still being prepared"},
    {"WaitingForScheduling", "Slurm has not looked at it yet"},
    {"None", "Slurm has not said why yet"},
    {"FedJobLock", "another cluster of the federation may be starting it"},
    {"FrontEndDown", "no front-end node is up"},
    {"BurstBuffer", "its burst buffer is being prepared"},
    {"SchedDefer", "it asked for an immediate start, and the scheduler defers such jobs"},
    {"DeadLine", "it can no longer end before its deadline"},
    {"AccountingPolicy", "a limit of its account or QOS is reached"},
    {"JobLaunchFailure", "it could not be started: a file system or a path may be missing there"},
    {"JobHoldMaxRequeue", "it was queued again too often, so Slurm holds it"},
    {"launch_failed_requeued_held",
     "its start failed, so Slurm holds it: scontrol release ID lets it try again"},
    {"NonZeroExitCode", "it ended with another exit code than 0"},
    {"RaisedSignal", "a signal ended it"},
    {"TimeLimit", "it reached its time limit"},
    {"InactiveLimit", "it did nothing for too long"},
    {"OutOfMemory", "a process needed more memory than the job has"},
    {"SystemFailure", "Slurm, a file system or the network failed"},
    {"Nodes_required_for_job_are_DOWN",
     "nodes that it needs are down, drained or reserved for jobs in partitions ahead of its own"},
};

}  // namespace

const State* find_state(std::string_view text) {
  const std::string_view word = text.substr(0, text.find_first_of(" +,"));
  const auto found = std::ranges::find_if(
      states, [&](const State& state) { return state.word == word || state.code == word; });
  return found == std::end(states) ? nullptr : found;
}

JobEnd end_of_unstarted(JobState state, std::string_view reason) {
  if (state == JobState::failed && reason == bad_constraints) return JobEnd::refused;
  const bool may_depend = state == JobState::cancelled || state == JobState::pending;
  return may_depend && reason == never_satisfied ? JobEnd::dependency : JobEnd::other;
}

std::string_view reason_words(std::string_view reason, bool was_requeued) {
  if (reason == begin_time && was_requeued) return pause_after_requeue;
  const auto found = std::ranges::find_if(
      reasons, [&](const Reason& row) { return reason.starts_with(row.start); });
  return found == std::end(reasons) ? std::string_view() : found->words;
}

std::string_view advice_without_cluster(std::string_view said) {
  const bool without = said.contains("Could not establish a configuration source") ||
                       said.contains("resolve_ctls_from_dns_srv");
  if (!without) return {};
  return "this host belongs to no cluster: log in where jobs are submitted, or set SLURM_CONF to "
         "the cluster's slurm.conf";
}

}  // namespace toprun::engines::slurm
