#include "node/agent/ranks_meter.h"

#include <algorithm>

#include "base/text/shown_line.h"
#include "machine/meter/usage.h"

namespace toprun::agent {
using worker::Workers;
namespace {

// Most drivers answer within this, and a first picture waits not much longer for its figures.
constexpr std::chrono::milliseconds gpu_patience{300};

}  // namespace

std::vector<Said> said_by(const std::vector<Workers::LastOutput>& outputs, int world_size,
                          SteadyTime now) {
  const auto newest = std::ranges::max_element(outputs, {}, &Workers::LastOutput::read);
  std::vector<Said> all;
  for (auto output = outputs.begin(); output != outputs.end(); ++output) {
    Said& said = all.emplace_back();
    if (!output->read) continue;
    said.silence = age(*output->read, now);
    if (world_size > most_ranks_with_lines && output != newest) continue;
    said.last_line = last_state(output->tail, meter::longest_last_line);
    if (world_size > most_ranks_with_several_lines) continue;
    said.last_lines =
        last_public_lines(output->tail, meter::most_last_lines, meter::longest_last_line);
  }
  return all;
}

std::optional<meter::Node> RanksMeter::look(const std::vector<RunningRank>& ranks,
                                            const std::vector<Said>& said) {
  const std::unique_lock only(looking_, std::try_to_lock);
  if (!only) return std::nullopt;
  std::vector<pid_t> pids;
  for (const RunningRank& rank : ranks) pids.push_back(found(rank));
  meter::Node node = meter_.look(pids);
  for (std::size_t i = 0; i < std::min(node.ranks.size(), said.size()); ++i) {
    node.ranks[i].silence = said[i].silence;
    node.ranks[i].last_line = said[i].last_line;
    node.ranks[i].last_lines.assign(said[i].last_lines.begin(), said[i].last_lines.end());
  }
  for (std::size_t i = 0; i < std::min(node.ranks.size(), pids.size()); ++i) {
    node.ranks[i].pid = pids[i];
  }
  const std::vector<meter::NamedGpu> gpus = gpus_.read(gpu_patience);
  for (std::size_t i = 0; i < std::min(node.ranks.size(), ranks.size()); ++i) {
    const auto gpu = meter::gpu_of(i, ranks[i].visible_gpus, gpus);
    if (gpu) node.ranks[i].gpu = gpus[*gpu].gpu;
  }
  return node;
}

void RanksMeter::look_at_gpus() {
  gpus_.end(meter::read_gpus(environment_, "/"), std::chrono::steady_clock::now());
}

// To find it takes a look at all processes of the host.
pid_t RanksMeter::found(const RunningRank& rank) {
  if (rank.marks.empty()) return rank.pid;
  pid_t& outside = outside_[{rank.rank, rank.pid}];
  if (outside == 0) outside = process_of(rank);
  return outside;
}

}  // namespace toprun::agent
