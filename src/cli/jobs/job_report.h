#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/text/clock.h"
#include "base/text/error.h"
#include "base/text/outside.h"
#include "run/model/record.h"

namespace toprun::jobs {

inline constexpr std::size_t max_report_bytes = 64u << 20;

// The parts of a run's --report file (toprun.report/1) that the verbs show. A run updates the file
// until it ends.
struct JobReport {
  struct Node {
    Outside name;
    int first_rank = 0;
    int nproc = 0;
    Outside location;  // empty: unknown
    Outside logs;      // the folder of its per-rank files; empty: no folder, or unknown
  };
  // The last hang of an attempt.
  struct Hang {
    Outside what;                   // which rank the others wait for, in words
    std::optional<WallTime> since;  // time of the last progress, or of detection if that is unknown
    std::optional<WallTime> noticed;
    std::optional<WallTime> over;  // when a rank made progress again
  };
  struct Attempt {
    int attempt = 0;
    bool ended = false;
    std::string phase;  // the last phase that it reached, in words
    bool runs = false;  // its ranks have been started
    std::vector<Node> nodes;
    Outside cause;  // in words; empty: none
    // Kind of the cause; unset: no cause, or a kind of a newer version
    std::optional<model::CauseKind> kind;
    std::optional<int> exit_code;  // exit code of the rank that is the cause
    // "join 210 ms, order 215 ms …": when each phase ended; empty: no phase has ended
    std::string times;
    // Ranks that have not yet reached a phase that others have reached; empty: no such ranks
    Outside awaited;
    std::vector<Outside> slowest = {};  // the slowest node or rank of each phase, in words
    std::optional<Hang> hang = {};
    std::optional<model::Interruption> interrupted = {};
  };
  // A run of the same job before a requeue.
  struct Earlier {
    std::optional<WallTime> started, ended;
    std::optional<int> exit_code;
    Outside cause;  // in words; empty: none
  };
  struct LostSpare {
    Outside node;
    std::optional<WallTime> at;
    Outside why;
  };
  // Unset: the run has not ended, or was killed together with its keeper
  std::optional<int> exit_code;
  Outside job;  // its name
  std::optional<WallTime> started;
  std::optional<WallTime> updated;
  Outside root_host;  // the root agent's host; empty: unknown
  int root_pid = 0;   // the root agent's process id; 0: unknown
  // When the run admits more nodes, in the form of --grow. Empty: never. Unset: the report does not
  // contain it.
  std::optional<Outside> grow;
  std::optional<int> restarts, max_restarts;
  std::vector<Outside> spares;  // spare nodes at the time of the report
  std::optional<model::Gathering> gathering;
  std::vector<LostSpare> lost_spares;
  std::vector<Attempt> attempts;
  std::vector<Earlier> earlier;
  nlohmann::json document;  // the whole report
};

// Error: the text is not a report of this schema.
Result<JobReport> parse_report(std::string_view text);
// The report of a job that the caller will query or signal at the process named in the report.
// Error: another user could have written the file, or the job has ended.
Result<JobReport> read_report_to_follow(const std::string& path, const std::string& what);
// Reads a report; nullopt if the file does not exist. Refuses links and pipes, because another user
// could have made them.
Result<std::optional<JobReport>> read_report(const std::string& path);

}  // namespace toprun::jobs
