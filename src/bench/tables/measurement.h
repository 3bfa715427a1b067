#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bench/tables/collective.h"

namespace toprun::bench {

// The times of one size's iterations, each the slowest rank's, in microseconds.
struct Times {
  double mean_us = 0;
  double min_us = 0;
  double median_us = 0;
  double p99_us = 0;
  double cv = 0;            // standard deviation / mean
  std::size_t samples = 0;  // iterations; 0: not known (an imported table)
};

// One placement of one row: out of place (another buffer for the result) or in place.
struct Side {
  Times times;
  double algbw = 0;                    // GB/s, GB = 1e9 bytes
  double busbw = 0;                    // GB/s
  std::optional<std::uint64_t> wrong;  // elements; unset: not checked
};

// One size. `bytes` and `count` as nccl-tests prints them.
struct Row {
  std::uint64_t bytes = 0;
  std::uint64_t count = 0;     // elements
  std::string type = "float";  // empty: not known (an imported table)
  std::string redop = "none";  // empty: not known
  int root = -1;               // -1: none, or not known
  std::optional<Side> out_of_place;
  std::optional<Side> in_place;
};

// The rows of one collective over one set of ranks in one order.
struct Series {
  Collective collective = Collective::all_reduce;
  std::string backend;  // "tcp", "gloo", "nccl"; empty: not known
  std::string order;    // "topology", "hostname", "worst"; empty: not known
  std::string fabric;   // "rdma", "tcp"; empty: not known
  std::size_t ranks = 0;
  std::size_t nodes = 1;  // of these and ranks 0: not known (an imported table)
  // Of ranks that are not known: there are at least so many. 0: not even that is known.
  std::size_t least_ranks = 0;
  // What else tells it from the others of an imported file: a node, the process that wrote it, or
  // "result 2 of 3". Empty: nothing.
  std::string source;
  // In one direction of one node's network; unset: unknown.
  std::optional<double> line_gbps;
  // The busbw that the slowest link in this order allows; unset: unknown.
  std::optional<double> limit_gbps;
  std::vector<Row> rows;
};

struct Device {
  std::size_t rank = 0;
  std::string host;
  long pid = 0;
  int device = 0;
  std::string name;         // of the GPU, or "cpu"
  std::string bus_id = {};  // of the GPU, "0000:1b:00.0"; empty: none
};

// All results of one call, or of another program's file.
struct Report {
  std::string version;     // of the program that measured, "toprun 0.1.0"
  std::string start_time;  // ISO 8601
  std::string end_time;    // empty: interrupted
  std::vector<std::string> args;
  std::vector<std::pair<std::string, std::string>> env;
  std::string library;  // "NCCL 2.30.7", "Gloo 0.5.0", "tcp"
  std::vector<Device> devices;
  std::vector<Series> series;
  std::vector<std::string> errors;
  // Parts that the reader of a foreign file skipped; whole sentences without a full stop.
  std::vector<std::string> notes;
};

}  // namespace toprun::bench
