#pragma once

#include "bench/measure/backend.h"
#include "bench/measure/host_buffers.h"

namespace toprun::measure {

// The work of a backend whose buffers are in host memory. Each function returns when its operation
// is complete.
class HostWork : public Work {
 public:
  HostWork(const Request& request, const RingPosition& ring, HostBuffers memory)
      : request_(request), ring_(ring), memory_(std::move(memory)) {}

  Result<void> fill(bool in_place) final;
  Result<std::vector<double>> run(bool in_place, std::size_t iterations,
                                  std::size_t aggregated) final;
  Result<std::uint64_t> wrong(bool in_place) final;

 protected:
  // Runs one iteration. For Op::avg, once() computes the sum, and HostWork divides the sum.
  virtual Result<void> once(bool in_place) = 0;

  const Request& request_;
  const RingPosition ring_;
  HostBuffers memory_;

 private:
  Check check() const { return {request_.collective, request_.type, request_.op, ring_}; }
};

}  // namespace toprun::measure
