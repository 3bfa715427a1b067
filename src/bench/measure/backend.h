#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/os/environment.h"
#include "bench/measure/cells.h"
#include "bench/measure/pattern.h"
#include "bench/measure/request.h"

namespace toprun::measure {

// The buffers of one rank for one size, and the operations on them. `in_place`: the same buffer is
// used for sending and receiving.
class Work {
 public:
  virtual ~Work() = default;
  // Writes the test data that this rank has to send (Check in pattern.h).
  virtual Result<void> fill(bool in_place) = 0;
  // Runs iterations directly after one another and returns the time of each iteration in
  // microseconds. An iteration is one operation. If `aggregated` is above 1, one iteration consists
  // of that many operations, which a GPU's library receives together. The iteration's time is then
  // divided by `aggregated`.
  virtual Result<std::vector<double>> run(bool in_place, std::size_t iterations,
                                          std::size_t aggregated) = 0;
  // Returns the number of wrong elements after fill() and one iteration.
  virtual Result<std::uint64_t> wrong(bool in_place) = 0;
};

// Moves the data of one rank for one Cell (a configuration to measure, see cells.h).
class Backend {
 public:
  virtual ~Backend() = default;
  // Connects this rank to the cell's other ranks, which all call connect() too. If a rank is
  // missing, the error names this rank.
  virtual Result<void> connect() = 0;
  // Checks that the memory suffices. Error (exit_usage): this host does not have `bytes` of free
  // memory for each of its `processes` ranks.
  virtual Result<void> check_memory(std::uint64_t bytes, std::size_t processes) const = 0;
  // Allocates the buffers for one size. `part`: as in Buffers (schedule.h).
  virtual Result<std::unique_ptr<Work>> work(std::size_t part) = 0;
};

// Makes the backend that measures one Cell (a configuration, see cells.h). `index`: the cell's
// index among the cells that are measured together.
using MakeBackend = std::function<std::unique_ptr<Backend>(Group& group, const Request& request,
                                                           std::size_t index, CellMesh& mesh)>;

// An opened backend and its devices.
struct Opened {
  std::string name = {};  // the backend's name
  struct Device {
    std::string name;
    std::string bus_id;  // PCI address; empty: unknown
    int number = 0;      // the device's number in its process
  };
  std::string library;          // "nccl 2.27.3", "tcp"
  std::vector<Device> devices;  // of each rank; on rank 0 only
  MakeBackend make;
};
struct NamedBackend {
  std::string_view name;
  std::function<Result<Opened>(Group& group, const Environment& environment)> open;
};

// Returns the number of bytes of one rank's three buffers. `part`: as in Buffers.
std::uint64_t memory_of(bench::Collective collective, std::size_t part, std::size_t ranks);

// Opens a backend that moves data between buffers in host memory over plain TCP sockets. The data
// is divided among Request::stripes connections.
Result<Opened> open_tcp(Group& group, const Environment& environment);

}  // namespace toprun::measure
