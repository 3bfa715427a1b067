#include "node/agent/rank_sight.h"

#include "node/agent/evidence/last_act.h"
#include "node/agent/evidence/nccl_ras.h"

namespace toprun::agent {

std::function<RankSight::RankSamples()> RankSight::watch(std::vector<RunningRank> ranks) const {
  return [progress = std::make_shared<Progress>(std::move(ranks))] { return progress->look(); };
}

std::vector<hang::Group> RankSight::places_of(const std::vector<RunningRank>& ranks,
                                              const Environment& environment) const {
  return agent::places_of(ranks, environment);
}

std::vector<evidence::RecorderFiles> RankSight::listening(
    const std::vector<evidence::RecorderFiles>& files) const {
  return evidence::listening(files);
}

recorder::Summary RankSight::ask_recorders(const std::vector<evidence::RecorderFiles>& files,
                                           std::chrono::milliseconds limit) const {
  return evidence::ask_recorders(files, limit);
}

std::shared_ptr<Fd> RankSight::connect_to_nccl(const Environment& environment) const {
  return evidence::connect_to_nccl(environment);
}

std::vector<ras::Finding> RankSight::reported_by_nccl(const Fd& connection,
                                                      const std::vector<pid_t>& pids,
                                                      std::chrono::milliseconds limit) const {
  return evidence::reported_by_nccl(connection, pids, limit);
}

void RankSight::abort_with_traceback(pid_t pid) const {
  evidence::abort_with_traceback(pid);
}

}  // namespace toprun::agent
