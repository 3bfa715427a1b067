#include <algorithm>

#include "bench/measure/backend.h"
#include "bench/measure/memory.h"

namespace toprun::measure {
namespace {

using bench::Collective;

class TcpWork final : public HostWork {
 public:
  TcpWork(const Request& request, const CellMesh& mesh, HostBuffers memory)
      : HostWork(request, mesh.ring(), std::move(memory)), mesh_(mesh) {
    for (const bool in_place : {false, true}) {
      lanes_[in_place] = mesh.lanes(request.collective, memory_.buffers(in_place), request.stripes);
    }
  }

 private:
  Result<void> once(bool in_place) override {
    if (request_.collective == Collective::barrier) return mesh_.barrier(request_.stall_limit);
    const Buffers& buffers = memory_.buffers(in_place);
    keep_own(request_.collective, ring_, buffers);
    return transfer(lanes_[in_place], combine_of(request_.type, request_.op), buffers.element,
                    request_.stall_limit);
  }

  const CellMesh& mesh_;
  std::vector<Lane> lanes_[2];
};

class TcpBackend final : public Backend {
 public:
  TcpBackend(const Request& request, CellMesh& mesh) : request_(request), mesh_(mesh) {}

  Result<void> connect() override { return mesh_.connect(request_.collective, request_.stripes); }

  Result<void> check_memory(std::uint64_t bytes, std::size_t processes) const override {
    return measure::check_memory(bytes, processes);
  }

  Result<std::unique_ptr<Work>> work(std::size_t part) override {
    auto memory = TRY(HostBuffers::of(request_, mesh_.ring(), part));
    return std::make_unique<TcpWork>(request_, mesh_, std::move(memory));
  }

 private:
  const Request& request_;
  CellMesh& mesh_;
};

}  // namespace

std::uint64_t memory_of(Collective collective, std::size_t part, std::size_t ranks) {
  const Lengths need = lengths(collective, part, ranks);
  return std::max(need.send, need.receive) + need.receive + need.scratch;
}

Result<Opened> open_tcp(Group& group, const Environment& /*environment*/) {
  Opened opened;
  opened.library = "tcp";
  if (group.self.rank == 0) opened.devices.assign(group.self.size, {"cpu", "", 0});
  opened.make = [](Group& /*group*/, const Request& request, std::size_t /*index*/,
                   CellMesh& mesh) { return std::make_unique<TcpBackend>(request, mesh); };
  return opened;
}

}  // namespace toprun::measure
