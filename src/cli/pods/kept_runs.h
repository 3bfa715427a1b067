#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/os/environment.h"
#include "base/text/error.h"

namespace toprun::pods {

// A run that goes on in the pods of a job without the terminal that started it (toprun run --in JOB
// --detach): "dev/1f3a9c02". What is kept of it lies in the job's first pod (node/plan/kept_run.h).
struct RunId {
  std::string job;
  std::string run;  // empty: the newest
};
// nullopt: no such id, since it has no slash or is a path.
std::optional<Result<RunId>> parse_run_id(std::string_view text);

// Prints what the run has printed; `follow`: also what comes until its end. Returns the run's exit
// code if it was followed, else 0. Error: the pod is not there, has no such run, or the connection
// to it broke.
Result<int> show_run(const RunId& id, bool follow, const Environment& environment);

// Whether the job's pods sleep and the first of them keeps a run: `logs` of it is that of the run.
Result<bool> keeps_a_run(const std::string& job, const Environment& environment);

// Sends the run's agent at the root a signal, which ends the run in order: "TERM".
Result<int> signal_run(const RunId& id, const std::string& signal, const Environment& environment);

// What the run's own report tells. Error: as above, or it has not written one yet.
Result<std::string> report_of_run(const RunId& id, const Environment& environment);

}  // namespace toprun::pods
