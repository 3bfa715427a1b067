#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/text/clock.h"
#include "bench/tables/measurement.h"

namespace toprun::bench {

// A report for a file that grows by a line with every measurement: in one line, of each series only
// the largest size.
std::string history_line(const Report& report);

struct History {
  std::vector<Report> reports;          // in the file's order
  std::vector<std::string> unreadable;  // "line 3: why"
};
// A line that cannot be read, such as one cut off by a full disk, costs none of the others.
History read_history(std::string_view text, const std::string& file);

// One figure of the history, in the order of time.
struct Moment {
  std::string time;                      // RFC 3339
  double days = 0;                       // since the first of all
  double busbw = 0;                      // GB/s
  std::optional<double> beside_earlier;  // the share of the median of all earlier of its kind
};
// What was measured again and again: the same collective, ranks, backend, fabric, order and size.
struct Kind {
  std::string name;  // "all_reduce nccl rdma, 16 ranks on 2 nodes, 4 GiB, order topology"
  std::vector<Moment> moments;
};
// By name; figures without a time or without busbw are left out.
std::vector<Kind> kinds_of(std::span<const Report> reports);

// A block for each kind, its last `most` figures.
std::string history_text(std::span<const Kind> kinds, std::size_t most);

}  // namespace toprun::bench
