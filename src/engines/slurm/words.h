#pragma once

#include <string_view>

#include "engines/queue.h"

namespace toprun::engines::slurm {

// A job's state (squeue(1), JOB STATE CODES).
struct State {
  std::string_view word;  // "PENDING"
  std::string_view code;  // "PD"
  JobState state;
  std::string_view words;
  JobEnd end = JobEnd::other;
};

// Finds a state by word or code. nullptr: unknown. Only the first word of `text` is compared,
// because sacct prints "CANCELLED by 1000".
const State* find_state(std::string_view text);

// Returns why a job that was never on a node will never start, according to Slurm's reason for the
// wait. JobEnd::other: the job may still start, or something else ended it.
JobEnd end_of_unstarted(JobState state, std::string_view reason);

// The reason of a job whose start time is in the future, because of --begin or after a requeue.
inline constexpr std::string_view begin_time = "BeginTime";

// Explains why a job waits or ended (squeue(1), JOB REASON CODES); empty: toprun does not know the
// reason's code.
std::string_view reason_words(std::string_view reason, bool was_requeued);

// Returns advice if Slurm's programs report that slurm.conf is missing. Without slurm.conf, these
// programs cannot find a cluster's controller. Empty: the programs report something else.
std::string_view advice_without_cluster(std::string_view said);
// For messages: why Slurm cannot be queried on a host without slurm.conf.
inline constexpr std::string_view no_cluster = "this host does not belong to a cluster";

}  // namespace toprun::engines::slurm
