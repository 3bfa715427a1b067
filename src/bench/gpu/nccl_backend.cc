#include "bench/gpu/nccl_backend.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <future>
#include <thread>

#include "base/text/text.h"
#include "bench/gpu/nccl.h"
#include "bench/measure/memory.h"

namespace toprun::gpu {
namespace {

using bench::Collective;
using measure::Buffers;
using measure::Group;
using measure::Request;
using std::chrono::steady_clock;

// NCCL connects all ranks of a cell; on thousands of nodes it takes minutes.
constexpr std::chrono::seconds init_limit{600};
constexpr std::size_t most_queued = 128;  // iterations that the GPU is given at once
constexpr std::chrono::microseconds poll_interval{20};

// What a process needs of its GPU, whatever it measures.
struct Platform {
  std::shared_ptr<Device> device;
  Nccl nccl;
};
using SharedPlatform = std::shared_ptr<const Platform>;

std::string key_of(const Group& group, std::string_view name) {
  return fmt::format("toprun.bench/{}/nccl/{}", group.self.attempt, name);
}

class NcclWork final : public measure::Work {
 public:
  struct Memories {
    DeviceMemory send;
    DeviceMemory receive;
  };

  NcclWork(SharedPlatform platform, Nccl::Comm comm, const Request& request,
           const measure::RingPosition& ring, measure::HostBuffers host, Memories memories,
           Stream stream)
      : platform_(std::move(platform)),
        comm_(comm),
        request_(request),
        ring_(ring),
        host_(std::move(host)),
        memories_(std::move(memories)),
        stream_(std::move(stream)) {}

  Result<void> fill(bool in_place) override {
    check().fill(host_.buffers(in_place));
    return memories_.send.write(host_send());
  }

  Result<std::vector<double>> run(bool in_place, std::size_t iterations,
                                  std::size_t aggregated) override {
    std::vector<double> times;
    while (times.size() < iterations) {
      const std::size_t queued = std::min(iterations - times.size(), most_queued);
      TRY(stream_.mark(0));
      for (std::size_t i = 0; i < queued; ++i) {
        TRY(start(in_place, aggregated));
        TRY(stream_.mark(i + 1));
      }
      for (std::size_t i = 0; i < queued; ++i) {
        TRY(wait_for(i + 1));
        const auto took = TRY(stream_.microseconds_between(i, i + 1));
        times.push_back(took / static_cast<double>(aggregated));
      }
    }
    return times;
  }

  Result<std::uint64_t> wrong(bool in_place) override {
    const Buffers& buffers = host_.buffers(in_place);
    TRY(in_place ? memories_.send.read(host_send())
                 : memories_.receive.read({buffers.receive, host_.lengths().receive}));
    return check().wrong(buffers);
  }

 private:
  measure::Check check() const { return {request_.collective, request_.type, request_.op, ring_}; }

  // All of the buffer that also holds the result when in place.
  std::span<std::byte> host_send() const {
    const auto& need = host_.lengths();
    return {host_.buffers(false).send, std::max(need.send, need.receive)};
  }

  Result<void> start(bool in_place, std::size_t aggregated) {
    const std::size_t part = host_.buffers(in_place).part;
    const std::byte* send = memories_.send.get();
    std::byte* receive = memories_.receive.get();
    if (in_place) {
      const auto where = measure::in_place(request_.collective, part, ring_);
      send = memories_.send.get() + where.send;
      receive = memories_.send.get() + where.receive;
    }
    if (aggregated == 1) return check(call(send, receive, part));
    int code = platform_->nccl.group_start();
    for (std::size_t i = 0; i < aggregated && code == 0; ++i) {
      code = call(send, receive, part);
    }
    return check(code == 0 ? platform_->nccl.group_end() : code);
  }

  int call(const std::byte* send, std::byte* receive, std::size_t part) {
    const Nccl& nccl = platform_->nccl;
    const std::size_t count = part / host_.buffers(false).element;
    const int type = static_cast<int>(request_.type);
    const int op = static_cast<int>(request_.op);
    const int root = static_cast<int>(ring_.root);
    void* const stream = stream_.get();
    switch (request_.collective) {
      case Collective::barrier:  // NCCL has none; PyTorch's is this too
        return nccl.all_reduce(send, receive, 1, type, op, comm_, stream);
      case Collective::all_reduce:
        return nccl.all_reduce(send, receive, count, type, op, comm_, stream);
      case Collective::all_gather:
        return nccl.all_gather(send, receive, count, type, comm_, stream);
      case Collective::reduce_scatter:
        return nccl.reduce_scatter(send, receive, count, type, op, comm_, stream);
      case Collective::broadcast:
        return nccl.broadcast(send, receive, count, type, root, comm_, stream);
      case Collective::reduce:
        return nccl.reduce(send, receive, count, type, op, root, comm_, stream);
      default:
        return call_group(send, receive, part);
    }
  }

  // Those that consist of messages between two ranks.
  int call_group(const std::byte* send, std::byte* receive, std::size_t part) {
    const Nccl& nccl = platform_->nccl;
    const std::size_t size = ring_.size;
    const bool is_root = ring_.position == ring_.root;
    std::vector<Message> out;
    std::vector<Message> in;
    switch (request_.collective) {
      case Collective::sendrecv:
        out.push_back({(ring_.position + 1) % size, 0});
        in.push_back({(ring_.position + size - 1) % size, 0});
        break;
      case Collective::gather:
        out.push_back({ring_.root, 0});
        for (std::size_t i = 0; i < size && is_root; ++i) in.push_back({i, i * part});
        break;
      case Collective::scatter:
        in.push_back({ring_.root, 0});
        for (std::size_t i = 0; i < size && is_root; ++i) out.push_back({i, i * part});
        break;
      default:
        for (std::size_t i = 0; i < size; ++i) {
          out.push_back({i, i * part});
          in.push_back({i, i * part});
        }
    }
    const std::size_t count = part / host_.buffers(false).element;
    const int type = static_cast<int>(request_.type);
    int code = nccl.group_start();
    for (const Message& one : out) {
      if (code == 0) {
        code = nccl.send(send + one.offset, count, type, static_cast<int>(one.peer), comm_,
                         stream_.get());
      }
    }
    for (const Message& one : in) {
      if (code == 0) {
        code = nccl.receive(receive + one.offset, count, type, static_cast<int>(one.peer), comm_,
                            stream_.get());
      }
    }
    return code == 0 ? nccl.group_end() : code;
  }
  struct Message {
    std::size_t peer;
    std::size_t offset;
  };

  Result<void> check(int code) const {
    return platform_->nccl.check(code, std::string(bench::facts_of(request_.collective).name),
                                 comm_);
  }

  Result<void> wait_for(std::size_t mark) {
    const auto deadline = steady_clock::now() + request_.stall_limit;
    for (;;) {
      const auto reached = TRY(stream_.reached(mark));
      if (reached) return {};
      int code = 0;
      TRY(check(platform_->nccl.async_error(comm_, &code)));
      TRY(check(code));
      if (steady_clock::now() > deadline) {
        return fail(fmt::format("{} hangs", bench::facts_of(request_.collective).name),
                    fmt::format("the GPU did not finish the operation within {} s",
                                request_.stall_limit.count()),
                    "perhaps a rank is stopped or a link is down; find a broken link with `toprun "
                    "bench pairs`");
      }
      std::this_thread::sleep_for(poll_interval);
    }
  }

  SharedPlatform platform_;
  Nccl::Comm comm_;
  const Request& request_;
  measure::RingPosition ring_;
  measure::HostBuffers host_;
  Memories memories_;
  Stream stream_;
};

class NcclBackend final : public measure::Backend {
 public:
  NcclBackend(SharedPlatform platform, Group& group, const Request& request, std::size_t index,
              measure::CellMesh& mesh)
      : platform_(std::move(platform)),
        group_(group),
        request_(request),
        index_(index),
        mesh_(mesh) {}

  Result<void> connect() override {
    if (is_over_tcp() && platform_->nccl.init_rank_with == nullptr) {
      return usage("--fabrics tcp",
                   fmt::format("NCCL {} cannot choose the network of one measurement",
                               platform_->nccl.version_text()),
                   "use NCCL 2.18 or later, or measure twice, once with NCCL_NET=Socket");
    }
    return init(TRY(id_of_all()));
  }

  Result<void> check_memory(std::uint64_t bytes, std::size_t processes) const override {
    TRY(measure::check_memory(bytes, processes));
    const auto free = TRY(platform_->device->free_bytes());
    if (bytes <= free) return {};
    return usage(fmt::format("{} MiB on GPU {}", bytes >> 20, platform_->device->bus_id()),
                 fmt::format("{} MiB are free", free >> 20), "measure smaller sizes: -e");
  }

  Result<std::unique_ptr<measure::Work>> work(std::size_t part) override {
    const auto& ring = mesh_.ring();
    auto host = TRY(measure::HostBuffers::of(request_, ring, part));
    const auto& need = host.lengths();
    // A barrier has no bytes but reduces one element.
    const std::size_t least = measure::facts_of(request_.type).bytes;
    auto send =
        TRY(DeviceMemory::of(platform_->device, std::max({need.send, need.receive, least})));
    auto receive = TRY(DeviceMemory::of(platform_->device, std::max(need.receive, least)));
    auto stream = TRY(Stream::of(platform_->device));
    return std::make_unique<NcclWork>(platform_, comm_, request_, ring, std::move(host),
                                      NcclWork::Memories{std::move(send), std::move(receive)},
                                      std::move(stream));
  }

 private:
  // The cell's first rank makes it.
  Result<Nccl::Id> id_of_all() {
    const std::string key = key_of(group_, fmt::format("id/{}", index_));
    Nccl::Id id{};
    if (mesh_.ring().position == 0) {
      TRY(platform_->nccl.check(platform_->nccl.get_id(&id), "making NCCL's id"));
      TRY(group_.store.set(key, std::string_view(id.bytes.data(), id.bytes.size())));
      return id;
    }
    const auto arrived = TRY(group_.store.wait(std::span(&key, 1), init_limit));
    if (!arrived) return fail("no NCCL unique id", "the first rank in the ring did not create it");
    const auto reported = TRY(group_.store.get(key));
    if (reported.size() != id.bytes.size())
      return fail("NCCL's unique id from the first rank in the ring",
                  fmt::format("it has {} bytes instead of {}", reported.size(), id.bytes.size()));
    std::ranges::copy(reported, id.bytes.begin());
    return id;
  }

  // NCCL waits without a limit for ranks that do not come.
  Result<void> init(const Nccl::Id& id) {
    struct Shared {
      std::promise<int> code;
      Nccl::Comm comm = nullptr;
    };
    auto shared = std::make_shared<Shared>();
    auto code = shared->code.get_future();
    const auto& ring = mesh_.ring();
    std::thread([shared, platform = platform_, id, size = static_cast<int>(ring.size),
                 position = static_cast<int>(ring.position), over_tcp = is_over_tcp()] {
      const Nccl& nccl = platform->nccl;
      Nccl::Config config;
      config.network = "Socket";
      const auto used = platform->device->use_here();
      shared->code.set_value(!used ? -1
                             : over_tcp
                                 ? nccl.init_rank_with(&shared->comm, size, id, position, &config)
                                 : nccl.init_rank(&shared->comm, size, id, position));
    }).detach();
    if (code.wait_for(init_limit) != std::future_status::ready) {
      return fail("starting NCCL",
                  fmt::format("NCCL did not connect {} within {} s", counted(ring.size, "rank"),
                              init_limit.count()),
                  "set NCCL_DEBUG=INFO to see how far NCCL got");
    }
    comm_ = shared->comm;
    return platform_->nccl.check(code.get(), "starting NCCL");
  }

  bool is_over_tcp() const { return mesh_.cell().fabric == "tcp"; }

  SharedPlatform platform_;
  Group& group_;
  const Request& request_;
  std::size_t index_;
  measure::CellMesh& mesh_;
  Nccl::Comm comm_ = nullptr;
};

// What each rank tells the first one: four lines.
struct RankInfo {
  std::string version;
  measure::Opened::Device device;
};

Result<std::vector<RankInfo>> info_of_all(Group& group, const Platform& platform) {
  std::vector<std::string> names;
  for (std::size_t rank = 0; rank < group.self.size; ++rank) {
    names.push_back(key_of(group, fmt::format("rank/{}", rank)));
  }
  TRY(group.store.set(
      names[group.self.rank],
      fmt::format("{}\n{}\n{}\n{}", platform.nccl.version_text(), platform.device->name(),
                  platform.device->bus_id(), platform.device->number())));
  std::vector<RankInfo> all;
  if (group.self.rank != 0) return all;
  const auto arrived = TRY(group.store.wait(names, init_limit));
  if (!arrived) return fail("not all ranks opened their GPU");
  const auto values = TRY(group.store.multi_get(names));
  for (const std::string& value : values) {
    const auto lines = split(value, '\n');
    RankInfo& reported = all.emplace_back();
    if (lines.size() != 4)
      return fail("the ranks' GPUs are not known",
                  "a rank was started by a different toprun build");
    reported.version = lines[0];
    reported.device = {std::string(lines[1]), std::string(lines[2]),
                       static_cast<int>(parse_int(lines[3]).value_or(0))};
  }
  return all;
}

Result<void> check_versions(const Group& group, const std::vector<RankInfo>& all) {
  for (std::size_t rank = 1; rank < all.size(); ++rank) {
    if (all[rank].version == all.front().version) continue;
    return fail(fmt::format("{} has NCCL {}, {} has {}", group.peers[rank].text(),
                            all[rank].version, group.peers.front().text(), all.front().version),
                "ranks of different versions do not connect",
                "make all nodes load the same version of NCCL, for example with LD_LIBRARY_PATH");
  }
  return {};
}

}  // namespace

Result<measure::Opened> open_nccl(Vendor vendor, Group& group, const Environment& environment) {
  auto nccl = TRY(Nccl::open(vendor, environment));
  const auto local_rank = parse_int(environment.get("LOCAL_RANK").value_or("0")).value_or(0);
  auto device =
      TRY(Device::open(vendor, static_cast<std::size_t>(std::max(local_rank, 0L)), environment));
  auto platform = std::make_shared<const Platform>(Platform{std::move(device), std::move(nccl)});
  const auto reported = TRY(info_of_all(group, *platform));
  TRY(check_versions(group, reported));
  measure::Opened opened;
  opened.library = fmt::format("{} {}", vendor == Vendor::nvidia ? "nccl" : "rccl",
                               platform->nccl.version_text());
  for (const RankInfo& one : reported) opened.devices.push_back(one.device);
  opened.make = [platform](Group& all, const Request& request, std::size_t index,
                           measure::CellMesh& mesh) {
    return std::make_unique<NcclBackend>(platform, all, request, index, mesh);
  };
  return opened;
}

}  // namespace toprun::gpu
