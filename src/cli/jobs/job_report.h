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

// The parts of a run's --report file (toprun.report/1) that the verbs show. A run rewrites the file
// while it goes on.
struct JobReport {
  struct Node {
    Outside name;
    int first_rank = 0;
    int nproc = 0;
    Outside location;  // empty: unknown
    Outside logs;      // the folder of its per-rank files; empty: none, or not told
  };
  // The last of an attempt.
  struct Hang {
    Outside what;                   // which rank keeps which waiting, in words
    std::optional<WallTime> since;  // the last progress; when it was noticed, if that is not known
    std::optional<WallTime> noticed;
    std::optional<WallTime> over;  // when a rank made progress again
  };
  struct Attempt {
    int attempt = 0;
    bool ended = false;
    std::string phase;  // the last one reached, in words
    bool runs = false;  // its ranks have been started
    std::vector<Node> nodes;
    Outside cause;                         // in words; empty: none
    std::optional<model::CauseKind> kind;  // of the cause; unset: none, or of a newer version
    std::optional<int> exit_code;          // of the rank that is the cause
    std::string times;  // "join 210 ms, order 215 ms …": when each phase ended; empty: none has
    Outside awaited;    // which ranks have not come where others have; empty: none
    std::vector<Outside> slowest = {};  // who took longest, in words, phase by phase
    std::optional<Hang> hang = {};
    std::optional<model::Interruption> interrupted = {};
  };
  // A run before a requeue of the same job.
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
  std::optional<int> exit_code;  // unset: the run goes on, or was killed together with its keeper
  Outside job;                   // its name
  std::optional<WallTime> started;
  std::optional<WallTime> updated;
  Outside root_host;  // the root agent's host; empty: unknown
  int root_pid = 0;   // its process there; 0: unknown
  // When it takes in more nodes, as --grow has it; empty: never; unset: it does not say.
  std::optional<Outside> grow;
  std::optional<int> restarts, max_restarts;
  std::vector<Outside> spares;  // nodes that waited when it was written
  std::optional<model::Gathering> gathering;
  std::vector<LostSpare> lost_spares;
  std::vector<Attempt> attempts;
  std::vector<Earlier> earlier;
  nlohmann::json document;  // the whole
};

// Error: it is not such a report.
Result<JobReport> parse_report(std::string_view text);
// The report of a job that is to be asked or signalled, where it says. Error: the file could have
// been written by another user, or its job has ended.
Result<JobReport> read_report_to_follow(const std::string& path, const std::string& what);
// nullopt: there is no such file. Refuses links and pipes, because another user may have made them.
Result<std::optional<JobReport>> read_report(const std::string& path);

}  // namespace toprun::jobs
