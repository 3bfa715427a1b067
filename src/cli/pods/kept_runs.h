#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/os/environment.h"
#include "base/text/error.h"

namespace toprun::pods {

// The id of a detached run in the pods of a job (toprun run --in JOB --detach): "dev/1f3a9c02". The
// run's files are in the job's first pod (node/plan/kept_run.h).
struct RunId {
  std::string job;
  std::string run;  // empty: the newest run
};
// What the part of a word before its slash is in the current folder.
enum class Folder {
  none,
  other,
  of_jobs,  // contains jobs' folders, or exactly the file that the word names
};
// Parses the id of a detached run. nullopt if the text cannot be an id, because the text has no
// slash or is a path, such as "logs/17". Below a folder, only an id of the form that toprun gives
// (8 hexadecimal digits) is one; in Folder::of_jobs, only if it is not a number. Pure.
std::optional<Result<RunId>> parse_run_id(std::string_view text, Folder folder);
// Like parse_run_id(), for a word of a command line.
std::optional<Result<RunId>> run_id_in(const std::string& word);

// Prints the run's output. With `follow`, also shows new output until the run ends, and returns the
// run's exit code; else returns 0. Error: the pod does not exist, does not have this run, or the
// connection to the pod broke.
Result<int> show_run(const RunId& id, bool follow, const Environment& environment);

// Whether the job's pods only sleep and wait for runs, and the first pod contains a detached run.
// If true, `toprun logs JOB` shows the output of this detached run.
Result<bool> keeps_a_run(const std::string& job, const Environment& environment);

// Sends a signal, such as "TERM", to the run's root agent. This agent then ends the run cleanly.
Result<int> signal_run(const RunId& id, const std::string& signal, const Environment& environment);

// Returns the run's report.json. Errors: those of show_run(), or the run has written no report.json
// yet.
Result<std::string> report_of_run(const RunId& id, const Environment& environment);

}  // namespace toprun::pods
