#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "base/text/error.h"
#include "run/model/record.h"

namespace toprun::jobs {

inline constexpr std::size_t max_report_bytes = 64u << 20;

// A run's --report file (toprun.report/1). The run updates the file until the run ends.
struct JobReport {
  model::RunRecord run;
  nlohmann::json document;  // the whole report
};

// Parses a --report file. Error: the text does not have the schema toprun.report/1.
Result<JobReport> parse_report(std::string_view text);
// Reads the --report file of a job whose root agent the caller will query or signal. Error: another
// user could have written the file, or the job has ended.
Result<JobReport> read_report_to_follow(const std::string& path, const std::string& what);
// Reads a --report file; nullopt if the file does not exist. Refuses links and pipes, because
// another user could have made them.
Result<std::optional<JobReport>> read_report(const std::string& path);

// Whether the ranks of the attempt have been started.
bool has_ranks(const model::AttemptRecord& attempt);
// Returns the stage that follows the attempt's last finished phase, in the words of
// snapshot::words_of_stage(): "waiting for nodes".
std::string phase_words(const model::AttemptRecord& attempt);
// Returns a text with the end time of each phase, "nodes joined 210 ms, ordered 215 ms …"; empty:
// no phase has ended.
std::string times_text(const model::Phases& phases);

}  // namespace toprun::jobs
