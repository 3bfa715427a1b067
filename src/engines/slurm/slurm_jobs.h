#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "engines/queue.h"

namespace toprun::engines::slurm {

// Parsers for the job listings that Slurm's programs print; pure functions. The parsers are for
// Slurm 20.11 to 26.05; they were checked with 22.05. All programs run with SLURM_TIME_FORMAT=%s.
// Text that is not a record is skipped, because warnings may be between records. The parsers check
// every value; scontrol_record.h limits the numbers of records and fields.

// Returns the format for `squeue -h -o`. Fields end in 0x1f and records in 0x1e; names should not
// contain these characters.
std::string squeue_format();
// Parses the output of squeue with squeue_format().
std::vector<Job> parse_squeue(std::string_view text);

// Returns the options after `squeue -h` for values that --format cannot print: a job's number of
// requeues and its earliest start.
std::vector<std::string> squeue_delay_options();
// Sets the requeue count and the earliest start of each job in `jobs` that squeue's output lists.
void add_delays(std::string_view text, std::vector<Job>& jobs);

// Parses the output of `scontrol show job -o`.
std::vector<Job> parse_show_job(std::string_view text);

// Whether scontrol knows the job's number, but not the requested array task or component. In this
// case, scontrol prints "Job 1_7 not found" on stdout.
bool says_not_found(std::string_view out);
// Returns why the task or component does not exist, according to all records with the job's number:
// "Slurm knows tasks 0-2 of job 1, but no task 7". Empty: the records do not show why.
std::string missing_part(const JobId& id, const std::vector<Job>& records);

// Returns all options for `sacct`. `which`: the options that select the jobs ("-j", "7").
std::vector<std::string> sacct_options(const std::vector<std::string>& which);
// Parses the output of sacct with sacct_options().
std::vector<Job> parse_sacct(std::string_view text);

// Returns the value of `key` in `scontrol show config`, which has lines "MinJobAge = 300 sec".
std::string config_value(std::string_view text, std::string_view key);

}  // namespace toprun::engines::slurm
