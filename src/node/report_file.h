#pragma once

#include <memory>
#include <optional>
#include <string>

#include <boost/asio/awaitable.hpp>

#include "base/pool.h"
#include "view/report.h"

namespace toprun::node {

// What the end of a run waits for a file system that does not take its report.
inline constexpr std::chrono::seconds report_limit{10};

// --report's file. It is written on the pool: one version at a time, so that none replaces a newer
// one, and of those that come meanwhile the newest.
class ReportFile {
 public:
  // No path: nothing is written.
  ReportFile(Pool& pool, std::optional<std::string> path);

  // While the run goes on: the last attempt may not have ended.
  void keep(view::RunRecord record);
  // The last one. Says why it is not written, be it that report_limit has passed.
  boost::asio::awaitable<void> finish(view::RunRecord record);

 private:
  struct State;
  static void write(const std::shared_ptr<State>& state, view::RunRecord record);

  std::shared_ptr<State> state_;
};

}  // namespace toprun::node
