#include "bench/gloo/gloo_backend.h"

#include <fmt/format.h>
#include <gloo/allgather.h>
#include <gloo/allreduce.h>
#include <gloo/alltoall.h>
#include <gloo/barrier.h>
#include <gloo/broadcast.h>
#include <gloo/config.h>
#include <gloo/gather.h>
#include <gloo/reduce.h>
#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/store.h>
#include <gloo/scatter.h>
#include <gloo/transport/tcp/device.h>

#include <exception>
#include <stdexcept>
#include <string>

#include "bench/measure/memory.h"
#include "node/store/client.h"

namespace toprun::libgloo {
namespace {

// Gives Gloo access to the job's store. Throws if the store fails, as Gloo expects.
class GlooStore final : public gloo::rendezvous::Store {
 public:
  GlooStore(store::Client& client, std::string prefix)
      : client_(client), prefix_(std::move(prefix)) {}

  void set(const std::string& key, const std::vector<char>& data) override;
  std::vector<char> get(const std::string& key) override;
  void wait(const std::vector<std::string>& keys) override { wait(keys, kDefaultTimeout); }
  void wait(const std::vector<std::string>& keys,
            const std::chrono::milliseconds& timeout) override;

 private:
  store::Client& client_;
  std::string prefix_;
};

template <class T>
T or_throw(Result<T> result) {
  if (!result) throw std::runtime_error(result.error().line());
  if constexpr (!std::is_void_v<T>) return *std::move(result);
}

void GlooStore::set(const std::string& key, const std::vector<char>& data) {
  or_throw(client_.set(prefix_ + key, std::string_view(data.data(), data.size())));
}

std::vector<char> GlooStore::get(const std::string& key) {
  wait({key}, kDefaultTimeout);
  const std::string value = or_throw(client_.get(prefix_ + key));
  return {value.begin(), value.end()};
}

void GlooStore::wait(const std::vector<std::string>& keys,
                     const std::chrono::milliseconds& timeout) {
  std::vector<std::string> full;
  for (const std::string& key : keys) full.push_back(prefix_ + key);
  if (!or_throw(client_.wait(full, timeout))) {
    throw std::runtime_error("not all ranks came within " + std::to_string(timeout.count() / 1000) +
                             " s");
  }
}

using bench::Collective;
using measure::Buffers;
using measure::Group;
using measure::Request;
using Context = std::shared_ptr<gloo::rendezvous::Context>;

// Gloo tells errors by exceptions.
template <class Call>
Result<void> called(const Request& request, Call call) {
  try {
    call();
    return {};
  } catch (const std::exception& error) {
    return fail(fmt::format("Gloo's {}", bench::facts_of(request.collective).name), error.what(),
                "perhaps a rank is stopped or a link is down");
  }
}

class GlooWork final : public measure::HostWork {
 public:
  GlooWork(Context context, const Request& request, const measure::RingPosition& ring,
           measure::HostBuffers memory)
      : HostWork(request, ring, std::move(memory)), context_(std::move(context)) {
    if (request.collective != Collective::sendrecv) return;
    const Buffers& buffers = memory_.buffers(false);
    const auto& need = memory_.lengths();
    out_ = context_->createUnboundBuffer(buffers.send, need.send);
    in_ = context_->createUnboundBuffer(buffers.receive, need.receive);
  }

 private:
  // Gloo's functions are templates over the element, whose length alone matters here.
  Result<void> once(bool in_place) override {
    const Buffers& buffers = memory_.buffers(in_place);
    return called(request_, [&] {
      switch (buffers.element) {
        case 1:
          return run_as<std::uint8_t>(buffers);
        case 2:
          return run_as<std::uint16_t>(buffers);
        case 4:
          return run_as<std::uint32_t>(buffers);
        default:
          return run_as<std::uint64_t>(buffers);
      }
    });
  }

  template <class T>
  void run_as(const Buffers& buffers) {
    T* const send = reinterpret_cast<T*>(buffers.send);
    T* const receive = reinterpret_cast<T*>(buffers.receive);
    const std::size_t count = buffers.part / sizeof(T);
    const std::size_t all = count * ring_.size;
    const int root = static_cast<int>(ring_.root);
    const bool is_root = ring_.position == ring_.root;
    switch (request_.collective) {
      case Collective::all_reduce: {
        gloo::AllreduceOptions options(context_);
        options.setAlgorithm(gloo::AllreduceOptions::Algorithm::RING);
        if (send != receive) options.setInput(send, count);
        options.setOutput(receive, count);
        options.setReduceFunction(reduction());
        return gloo::allreduce(options);
      }
      case Collective::reduce: {
        gloo::ReduceOptions options(context_);
        if (send != receive) options.setInput(send, count);
        options.setOutput(receive, count);
        options.setRoot(root);
        options.setReduceFunction(reduction());
        return gloo::reduce(options);
      }
      case Collective::all_gather: {
        gloo::AllgatherOptions options(context_);
        options.setInput(send, count);
        options.setOutput(receive, all);
        return gloo::allgather(options);
      }
      case Collective::broadcast: {
        gloo::BroadcastOptions options(context_);
        if (is_root && send != receive) options.setInput(send, count);
        options.setOutput(receive, count);
        options.setRoot(root);
        return gloo::broadcast(options);
      }
      case Collective::alltoall: {
        gloo::AlltoallOptions options(context_);
        options.setInput(send, all);
        options.setOutput(receive, all);
        return gloo::alltoall(options);
      }
      case Collective::gather: {
        gloo::GatherOptions options(context_);
        options.setInput(send, count);
        if (is_root) options.setOutput(receive, all);
        options.setRoot(root);
        return gloo::gather(options);
      }
      case Collective::scatter: {
        gloo::ScatterOptions options(context_);
        std::vector<T*> parts;
        for (std::size_t i = 0; i < ring_.size && is_root; ++i) parts.push_back(send + i * count);
        if (is_root) options.setInputs(parts, count);
        options.setOutput(receive, count);
        options.setRoot(root);
        return gloo::scatter(options);
      }
      case Collective::sendrecv:
        return send_and_receive();
      default: {
        gloo::BarrierOptions options(context_);
        return gloo::barrier(options);
      }
    }
  }

  void send_and_receive() {
    const std::size_t size = ring_.size;
    constexpr std::uint64_t slot = 1;
    in_->recv(static_cast<int>((ring_.position + size - 1) % size), slot);
    out_->send(static_cast<int>((ring_.position + 1) % size), slot);
    out_->waitSend(request_.stall_limit);
    in_->waitRecv(request_.stall_limit);
  }

  gloo::AllreduceOptions::Func reduction() const {
    const auto combine = measure::combine_of(request_.type, request_.op);
    return [combine](void* out, const void* a, const void* b, std::size_t elements) {
      combine(static_cast<const std::byte*>(a), static_cast<const std::byte*>(b),
              static_cast<std::byte*>(out), elements);
    };
  }

  Context context_;
  std::unique_ptr<gloo::transport::UnboundBuffer> out_;
  std::unique_ptr<gloo::transport::UnboundBuffer> in_;
};

class GlooBackend final : public measure::Backend {
 public:
  GlooBackend(Group& group, const Request& request, std::size_t index, measure::CellMesh& mesh)
      : group_(group), request_(request), index_(index), mesh_(mesh) {}

  Result<void> connect() override {
    return called(request_, [&] {
      gloo::transport::tcp::attr where;
      where.hostname = group_.peers[group_.self.rank].address;
      auto device = gloo::transport::tcp::CreateDevice(where);
      const auto& ring = mesh_.ring();
      context_ = std::make_shared<gloo::rendezvous::Context>(static_cast<int>(ring.position),
                                                             static_cast<int>(ring.size));
      context_->setTimeout(request_.stall_limit);
      GlooStore store(group_.store,
                      fmt::format("toprun.bench/{}/gloo/{}/", group_.self.attempt, index_));
      context_->connectFullMesh(store, device);
    });
  }

  Result<void> check_memory(std::uint64_t bytes, std::size_t processes) const override {
    return measure::check_memory(bytes, processes);
  }

  Result<std::unique_ptr<measure::Work>> work(std::size_t part) override {
    auto memory = TRY(measure::HostBuffers::of(request_, mesh_.ring(), part));
    return std::make_unique<GlooWork>(context_, request_, mesh_.ring(), std::move(memory));
  }

 private:
  Group& group_;
  const Request& request_;
  std::size_t index_;
  measure::CellMesh& mesh_;
  Context context_;
};

}  // namespace

Result<measure::Opened> open_gloo(Group& group, const Environment& /*environment*/) {
  measure::Opened opened;
  opened.library =
      fmt::format("gloo {}.{}.{}", GLOO_VERSION_MAJOR, GLOO_VERSION_MINOR, GLOO_VERSION_PATCH);
  if (group.self.rank == 0) opened.devices.assign(group.self.size, {"cpu", "", 0});
  opened.make = [](Group& all, const Request& request, std::size_t index, measure::CellMesh& mesh) {
    return std::make_unique<GlooBackend>(all, request, index, mesh);
  };
  return opened;
}

}  // namespace toprun::libgloo
