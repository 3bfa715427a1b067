#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace toprun::bench {

enum class Collective {
  all_reduce,
  all_gather,
  reduce_scatter,
  broadcast,
  reduce,
  alltoall,
  sendrecv,
  gather,
  scatter,
  barrier,
};

// The properties that nccl-tests defines for a collective. In the comments below, S is the value of
// the size column in bytes, and n is the number of ranks.
struct CollectiveFacts {
  Collective collective;
  std::string_view name;
  bool reduces;        // accepts --op
  bool has_root;       // accepts --root
  bool size_is_total;  // S is the total of all ranks: count · n elements
};
std::span<const CollectiveFacts> collectives();
const CollectiveFacts& facts_of(Collective collective);
std::optional<Collective> find_collective(std::string_view name);

// Returns the ratio busbw / algbw: 2(n-1)/n for all_reduce, (n-1)/n if `size_is_total`, 0 for a
// barrier (which moves no data), otherwise 1. The formulas apply for n = 1 too, as in nccl-tests:
// the result is then 1 for broadcast, reduce and sendrecv, and 0 for the other collectives. For
// n = 0 (unknown), the result is 0.
double bus_factor(Collective collective, std::size_t ranks);

// Returns the S that nccl-tests prints for a size from -b or -e: the size, rounded down to whole
// elements. If `size_is_total`, S is also rounded down, so that every rank's part is the same
// multiple of 16 bytes. 0 if the size is too small for one part per rank.
std::uint64_t rounded_size(Collective collective, std::uint64_t bytes, std::size_t element_bytes,
                           std::size_t ranks);

// Statistics of the iteration times for one size, in microseconds. An iteration's time is the
// slowest rank's time.
struct Times {
  double mean_us = 0;
  double min_us = 0;
  double median_us = 0;
  double p99_us = 0;
  double cv = 0;            // standard deviation / mean
  std::size_t samples = 0;  // number of iterations; 0: unknown (an imported table)
};

// One side of a row: the results in place, or out of place (with a separate buffer for the result).
struct Side {
  Times times;
  double algbw = 0;                    // GB/s, GB = 1e9 bytes
  double busbw = 0;                    // GB/s
  std::optional<std::uint64_t> wrong;  // number of wrong elements; unset: not checked
};

// The results for one size. `bytes` and `count` have the values that nccl-tests prints.
struct Row {
  std::uint64_t bytes = 0;
  std::uint64_t count = 0;     // elements
  std::string type = "float";  // empty: not known (an imported table)
  std::string redop = "none";  // empty: not known
  int root = -1;               // -1: no root, or not known
  std::optional<Side> out_of_place;
  std::optional<Side> in_place;
};

// The rows for one collective, one set of ranks and one order.
struct Series {
  Collective collective = Collective::all_reduce;
  std::string backend;  // "tcp", "gloo", "nccl"; empty: not known
  std::string order;    // "topology", "name", "hostname", "worst"; empty: not known, or one node
  std::string fabric;   // "rdma", "tcp"; empty: not known
  std::size_t ranks = 0;
  std::size_t nodes = 1;  // 0 nodes or ranks: unknown (an imported table)
  // The minimum number of ranks, if `ranks` is unknown. 0: the minimum is unknown too.
  std::size_t least_ranks = 0;
  // Distinguishes the series from other series in an imported file: a node, the process that wrote
  // the series, or "result 2 of 3". Empty: the series needs no text to distinguish it.
  std::string source;
  // The line rate of one node's network in one direction. Unset: the line rate is unknown.
  std::optional<double> line_gbps;
  // The maximum busbw that the slowest link allows in this order. Unset: this maximum is unknown.
  std::optional<double> limit_gbps;
  std::vector<Row> rows;
};

struct Device {
  std::size_t rank = 0;
  std::string host;
  long pid = 0;
  int device = 0;
  std::string name;         // name of the GPU, or "cpu"
  std::string bus_id = {};  // PCI address of the GPU, "0000:1b:00.0"; empty: no address
};

// All results of one toprun call, or of a file from another program.
struct Report {
  std::string version;     // the program that measured the results, "toprun 0.1.0"
  std::string start_time;  // ISO 8601
  std::string end_time;    // empty: the measurement was interrupted
  std::vector<std::string> args;
  std::vector<std::pair<std::string, std::string>> env;
  std::string library;  // "NCCL 2.30.7", "Gloo 0.5.0", "tcp"
  std::vector<Device> devices;
  std::vector<Series> series;
  std::vector<std::string> errors;
  // Remarks on parts of another program's file that were skipped. They are whole sentences without
  // a full stop.
  std::vector<std::string> notes;
};

// The kind of a row is its data type, reduction operation (redop) and root. Collective and size are
// not part of the kind.

// Which parts of a kind a table must show, because its rows differ in them.
struct Kinds {
  bool type = false;
  bool redop = false;
  bool root = false;
};
Kinds kinds_in(std::span<const Series> series);

// Whether both rows have the same kind: the same data type, reduction operation and root.
bool is_same_kind(const Row& a, const Row& b);
// Whether both rows may be of the same kind: unknown values match any value.
bool may_be_same_kind(Collective collective, const Row& a, const Row& b);

// Describes those parts of a row's kind that must be shown, such as "float max, root 0"; may be
// empty.
std::string kind_text(const Row& row, const Kinds& kinds);

// These functions return parts of a human-readable table: for the columns that show the rows' kind,
// the heading and one row's values. Each column begins with two blanks.
std::string kind_heading(const Kinds& kinds);
std::string kind_columns(const Row& row, const Kinds& kinds);
std::string kind_blanks(const Kinds& kinds);  // blanks with the width of kind_heading()

// Splits a series into one series per kind of row, with kind_text() in `source`. The rows keep
// their order.
std::vector<Series> by_kind(const Series& series, const Kinds& kinds);

}  // namespace toprun::bench
