#pragma once

#include <memory>
#include <optional>
#include <string>

#include <boost/asio/awaitable.hpp>

#include "base/os/pool.h"
#include "run/model/record.h"

namespace toprun::publish {

// How long the end of a run waits for a file system that does not accept the report.
inline constexpr std::chrono::seconds report_limit{10};

// --report's file. The pool writes one version at a time, so that no version replaces a newer one;
// of the versions that arrive meanwhile it writes only the newest.
class ReportFile {
 public:
  // Without a path it writes nothing. `again`: an earlier run of the same job may have left the
  // file; its end is kept in what replaces it.
  ReportFile(Pool& pool, std::optional<std::string> path, bool again);

  // A version while the run goes on: the last attempt may not have ended. Reports on stderr, once,
  // that it cannot be written.
  void keep(model::RunRecord record);
  // The last version. Reports on stderr if it cannot be written, or not within report_limit.
  boost::asio::awaitable<void> finish(model::RunRecord record);

 private:
  struct State;
  static void write(const std::shared_ptr<State>& state, model::RunRecord record);

  std::shared_ptr<State> state_;
};

}  // namespace toprun::publish
