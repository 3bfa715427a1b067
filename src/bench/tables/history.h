#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bench/tables/measurement.h"

namespace toprun::bench {

// Returns the line that a measurement appends to a history file. The line contains only the largest
// size of each series.
std::string history_line(const Report& report);

struct History {
  std::vector<Report> reports;          // in the order of the file
  std::vector<std::string> unreadable;  // "line 3: why"
};
// Reads a history file. If a line is unreadable, for example because a full disk cut it off, still
// reads the other lines. `file`: the file's name, for errors.
History read_history(std::string_view text, const std::string& file);

// One measurement in the history. Measurements are in chronological order.
struct Moment {
  std::string time;                      // RFC 3339
  double days = 0;                       // days since the first measurement of the whole history
  double busbw = 0;                      // GB/s
  std::optional<double> beside_earlier;  // busbw as a share of the median of all earlier
                                         // measurements of the same kind
};
// Repeated measurements with the same collective, ranks, backend, fabric, order and size, on the
// same set of hosts and models of GPU.
struct Kind {
  // "all_reduce nccl rdma, 16 ranks on 2 nodes, 4 GiB, order topology, on n[1-2] with NVIDIA H100"
  std::string name;
  std::vector<Moment> moments;
};
// Groups the reports' measurements by kind, sorted by name. The result does not contain
// measurements without a time or without busbw.
std::vector<Kind> kinds_of(std::span<const Report> reports);

// Returns a text with one block for each kind, which shows the kind's last `most` measurements.
std::string history_text(std::span<const Kind> kinds, std::size_t most);

}  // namespace toprun::bench
