#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "scheduler/queue.h"

namespace toprun::scheduler::slurm {

// What Slurm's programs print about jobs; pure. Written for 20.11 to 26.05, checked with 22.05. All
// run with SLURM_TIME_FORMAT=%s. What is no record in a text is passed over: warnings may be mixed
// in. Nothing in them is trusted to be sane but the bounds of slurm/record.h.

// The format for `squeue -h -o`: fields end in 0x1f and records in 0x1e, which no name should hold.
std::string squeue_format();
std::vector<Job> parse_squeue(std::string_view text);

// `scontrol show job -o`.
std::vector<Job> parse_show_job(std::string_view text);

// The words behind `sacct` for the jobs that `which` chooses ("-j", "7"); and what it prints.
std::vector<std::string> sacct_options(const std::vector<std::string>& which);
std::vector<Job> parse_sacct(std::string_view text);

// The value of a line "MinJobAge               = 300 sec" of `scontrol show config`.
std::string config_value(std::string_view text, std::string_view key);

}  // namespace toprun::scheduler::slurm
