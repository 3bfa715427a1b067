#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bench/tables/collective.h"

namespace toprun::bench {

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
  std::string order;    // "topology", "hostname", "worst"; empty: not known
  std::string fabric;   // "rdma", "tcp"; empty: not known
  std::size_t ranks = 0;
  std::size_t nodes = 1;  // 0 nodes or ranks: unknown (an imported table)
  // The minimum number of ranks, if `ranks` is unknown. 0: the minimum is unknown too.
  std::size_t least_ranks = 0;
  // Distinguishes the series from other series in an imported file: a node, the process that wrote
  // the series, or "result 2 of 3". Empty: the series needs no such text.
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
  // Remarks on skipped parts of a foreign file, as whole sentences without a full stop.
  std::vector<std::string> notes;
};

}  // namespace toprun::bench
