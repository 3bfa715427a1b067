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

// By word or code; nullptr: we do not know it. Only the first word counts: sacct says "CANCELLED by
// 1000".
const State* find_state(std::string_view text);

// What a cancelled job ended for, by its reason.
JobEnd end_of_cancelled(std::string_view reason);

// The reason of a job whose start time has not come, by --begin or after a requeue.
inline constexpr std::string_view begin_time = "BeginTime";

// Why a job waits or ended (squeue(1), JOB REASON CODES), in words; empty: we have none for it.
std::string_view reason_words(std::string_view reason, bool was_requeued);

// What to do where Slurm's programs say that they find no slurm.conf, and so no cluster; empty:
// they say something else.
std::string_view advice_without_cluster(std::string_view said);

}  // namespace toprun::engines::slurm
