#include "node/prepare/probes/cloud_probe.h"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/steady_timer.hpp>

#include "base/os/uncaught.h"
#include "base/os/use_nothrow_awaitable.h"
#include "decide/topology/cloud/cloud.h"
#include "decide/topology/cloud/metadata.h"

namespace toprun::probes {
namespace asio = boost::asio;

struct CloudProbe::Asking {
  explicit Asking(asio::io_context& io) : over(io, SteadyTime::max()) {}
  asio::steady_timer over;
  std::optional<model::CloudPlace> place;
};

namespace {

// A pattern with several parts ("switch.switch.node") has levels above the node.
bool reported_by_slurm(const plan::Job& job) {
  return job.place.location_pattern && job.place.location_pattern->contains('.');
}

}  // namespace

CloudProbe::CloudProbe(asio::io_context& io, const plan::Job& job) {
  const std::string& topology = job.options.topology;
  if (!job.locates()) return;
  waited_for_ = topology != "auto" || !reported_by_slurm(job);
  const topology::Cloud cloud = topology::cloud_of(topology::read_dmi(topology::dmi_folder));
  if (!topology::worth_asking(cloud, topology)) return;
  asking_ = std::make_shared<Asking>(io);
  const auto ask = [](std::shared_ptr<Asking> asking,
                      topology::Cloud which) -> asio::awaitable<void> {
    const SteadyTime deadline = std::chrono::steady_clock::now() + topology::auto_budget;
    topology::CloudEvidence evidence =
        co_await topology::ask_cloud(which, topology::metadata_server(), deadline);
    asking->place = {std::move(evidence.cloud), std::move(evidence.text),
                     std::move(evidence.trouble)};
    asking->over.cancel();
  };
  asio::co_spawn(io, ask(asking_, cloud), end_of_task);
}

asio::awaitable<std::optional<model::CloudPlace>> CloudProbe::answer() const {
  if (!asking_) co_return std::nullopt;
  while (waited_for_ && !asking_->place) co_await asking_->over.async_wait(use_nothrow_awaitable);
  co_return asking_->place;
}

}  // namespace toprun::probes
