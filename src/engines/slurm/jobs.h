#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "engines/queue.h"

namespace toprun::engines::slurm {

// What Slurm's programs print about jobs; pure. Written for 20.11 to 26.05, checked with 22.05. All
// run with SLURM_TIME_FORMAT=%s. What is not a record in a text is passed over: warnings may be
// mixed in. Nothing in them is trusted to be sane but the bounds of record.h.

// The format for `squeue -h -o`: fields end in 0x1f and records in 0x1e, which no name should hold.
std::string squeue_format();
std::vector<Job> parse_squeue(std::string_view text);

// The words behind `squeue -h` for what --format has no letter for, how often each job was requeued
// and when it may begin; and their answer, written into those of `jobs` that it names.
std::vector<std::string> squeue_delay_options();
void add_delays(std::string_view text, std::vector<Job>& jobs);

// `scontrol show job -o`.
std::vector<Job> parse_show_job(std::string_view text);

// Whether `scontrol show job` with that answer knows the job's number, but not that task or
// component: "Job 1_7 not found", on stdout.
bool says_not_found(std::string_view out);
// Why there is no such task or component, by all records of the job's number: "Slurm knows tasks
// 0-2 of job 1, but no task 7". Empty: they do not tell.
std::string missing_part(const JobId& id, const std::vector<Job>& records);

// The words behind `sacct` for the jobs that `which` chooses ("-j", "7"); and what it prints.
std::vector<std::string> sacct_options(const std::vector<std::string>& which);
std::vector<Job> parse_sacct(std::string_view text);

// The value of a line "MinJobAge               = 300 sec" of `scontrol show config`.
std::string config_value(std::string_view text, std::string_view key);

}  // namespace toprun::engines::slurm
