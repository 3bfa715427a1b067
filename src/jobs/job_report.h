#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/error.h"

namespace toprun::jobs {

inline constexpr std::size_t max_report_bytes = 64u << 20;

// What a run's --report file says (toprun.report/1), as far as we show it. The file is written anew
// while the run goes on.
struct JobReport {
  struct Node {
    std::string name;
    int first_rank = 0;
    int nproc = 0;
    std::string location;  // empty: unknown
    std::string logs;      // the folder of its per-rank files; empty: none, or not told
  };
  struct Attempt {
    int attempt = 0;
    std::string started;  // RFC 3339
    bool ended = false;
    std::string phase;  // the last one reached, in words
    std::vector<Node> nodes;
    std::string cause;  // in words; empty: none
  };
  std::optional<int> exit_code;  // unset: it runs, or was killed with all that watched it
  std::string updated;           // RFC 3339; empty: not told
  std::string root_host;         // where the root agent runs; empty: not told
  int root_pid = 0;              // its process there; 0: not told
  std::vector<Attempt> attempts;
  nlohmann::json document;  // the whole
};

// Error: it is no such report.
Result<JobReport> parse_report(std::string_view text);
// nullopt: there is no such file. It may be another user's, so links and pipes are refused.
Result<std::optional<JobReport>> read_report(const std::string& path);

}  // namespace toprun::jobs
