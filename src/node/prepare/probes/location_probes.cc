#include "node/prepare/probes/location_probes.h"

#include <set>
#include <string>
#include <string_view>
#include <utility>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/steady_timer.hpp>

#include "base/net/hostlist.h"
#include "base/os/timer.h"
#include "base/os/uncaught.h"
#include "base/process/command.h"
#include "decide/topology/cloud/cloud.h"
#include "decide/topology/nvlink.h"

namespace toprun::probes {
namespace asio = boost::asio;
namespace {

// The order by topology and the workers' TOPRUN_LOCATION need the nodes' locations.
topology::Request locate_request(const std::vector<model::Join>& members, const plan::Job& job) {
  topology::Request request;
  request.topology = job.options.topology;
  request.environment = job.environment;
  std::set<std::string> named;
  for (const model::Join& join : members) {
    if (!named.insert(join.host).second) continue;
    topology::Member member{join.host, join.location.value_or(""),
                            join.location_pattern.value_or("")};
    if (join.cloud) {
      member.cloud =
          topology::CloudEvidence{join.cloud->cloud, join.cloud->text, join.cloud->trouble};
    }
    if (join.nvlink)
      member.nvlink = topology::ProgramOutput{join.nvlink->text, join.nvlink->trouble};
    if (join.kube) {
      member.node = join.kube->name;
      if (join.kube->labels) member.labels = *join.kube->labels;
    }
    if (join.ports) member.ports = *join.ports;
    request.members.push_back(std::move(member));
  }
  return request;
}

Result<void> all_located(const topology::Map& map, const topology::Request& request) {
  std::set<std::string_view> located;
  for (const topology::Map::Entry& entry : map.hosts) {
    if (entry.location.path.known()) located.insert(entry.host);
  }
  std::vector<std::string> unknown;
  for (const topology::Member& member : request.members) {
    if (!located.contains(member.name)) unknown.push_back(member.name);
  }
  if (unknown.empty()) return {};
  return fail(
      "--topology-required",
      "the place of these nodes in the network is not known: " + hosts::compress_hostlist(unknown),
      "add these nodes to a topology file, and give this file with --topology FILE");
}

model::ProgramOutput ask(const Environment& environment) {
  auto text = process::output_of(topology::nvlink_command(), environment, topology::auto_budget);
  if (!text) return {{}, text.error().line()};
  if (text->size() > topology::max_evidence_bytes || !topology::is_plain(*text)) {
    return {{}, "nvidia-smi's answer is too long or no plain text"};
  }
  return {*std::move(text), {}};
}

// A pattern with several parts ("switch.switch.node") has levels above the node.
bool reported_by_slurm(const plan::Job& job) {
  return job.place.location_pattern && job.place.location_pattern->contains('.');
}

}  // namespace

Result<topology::Map> locate(const std::vector<model::Join>& members, const plan::Job& job) {
  if (!job.locates()) return topology::Map{};
  const topology::Request request = locate_request(members, job);
  auto map = topology::locate(request);
  if (!map || !job.options.topology_required) return map;
  TRY(all_located(*map, request));
  return map;
}

// nvidia-smi is killed after topology::auto_budget; if the driver hangs, it may survive that.
constexpr std::chrono::milliseconds answer_limit = topology::auto_budget + std::chrono::seconds(1);

struct NvlinkProbe::Asking {
  explicit Asking(asio::io_context& io) : over(io, SteadyTime::max()) {}
  Timer over;
  std::optional<model::ProgramOutput> reported;
};

NvlinkProbe::NvlinkProbe(Pool& pool, const plan::Job& job) {
  if (!job.locates() || !topology::may_have_nvlink_domain()) return;
  asking_ = std::make_shared<Asking>(pool.io());
  pool.run<model::ProgramOutput>(
      answer_limit, [environment = job.environment] { return ask(environment); },
      [asking = asking_](Pool::Answer<model::ProgramOutput> reported) {
        if (reported) {
          asking->reported = *std::move(reported);
        } else if (reported.error() == Pool::NoAnswer::late) {
          asking->reported = {{}, "nvidia-smi does not end: its driver hangs"};
        } else {
          asking->reported = {{}, "nvidia-smi: " + Pool::words_for(reported.error(), answer_limit)};
        }
        asking->over.cancel();
      });
}

asio::awaitable<std::optional<model::ProgramOutput>> NvlinkProbe::answer() const {
  if (!asking_) co_return std::nullopt;
  while (!asking_->reported) co_await asking_->over.async_wait(use_nothrow_awaitable);
  co_return asking_->reported;
}

struct CloudProbe::Asking {
  explicit Asking(asio::io_context& io) : over(io, SteadyTime::max()) {}
  asio::steady_timer over;
  std::optional<model::CloudPlace> place;
};

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
