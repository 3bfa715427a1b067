#include "launch/pmi_meeting.h"

#include "base/text.h"
#include "hosts/address.h"
#include "scheduler/mpi.h"
#include "scheduler/pmi.h"

namespace toprun::launch {
namespace {

constexpr std::chrono::seconds meeting_limit{120};
constexpr std::size_t max_addresses = 8;

std::string own_addresses() {
  std::vector<std::string> texts;
  const auto own = hosts::local_addresses();
  if (!own) return hosts::host_name();
  for (const hosts::LocalAddress& local : *own) {
    const bool useful = !local.address.is_loopback() && !local.address.is_link_local();
    if (useful && texts.size() < max_addresses) texts.push_back(local.address.text());
  }
  return texts.empty() ? hosts::host_name() : join(texts, ",");
}

}  // namespace

Result<void> meet(scheduler::Allocation& place, const Environment& environment) {
  const auto fd = parse_int(environment.get(scheduler::pmi_fd_variable).value_or(""));
  if (place.engine != "mpi" || !place.task || place.tasks == 1 || !fd) return {};
  const bool is_rank_0 = *place.task == 0;
  const auto meeting =
      scheduler::meet_by_pmi(static_cast<int>(*fd), is_rank_0, is_rank_0 ? own_addresses() : "",
                             std::chrono::steady_clock::now() + meeting_limit);
  if (!meeting) return std::unexpected(meeting.error());
  place.job = "mpi." + meeting->job;
  place.port = scheduler::mpi_port(place.job);
  place.root_candidates.clear();
  for (const std::string_view address : split(meeting->said, ',')) {
    place.root_candidates.emplace_back(address);
  }
  return {};
}

}  // namespace toprun::launch
