#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include "base/os/pool.h"
#include "base/text/error.h"
#include "node/plan/job.h"
#include "node/prepare/prefetch/reading.h"

namespace toprun::prepare {

// Reads the files that this node's ranks will import into the node's page cache (--prefetch).
// Several threads read these files, and no other step of the run waits for these threads. A record
// (prefetch_record.h) lists the files. If there is none yet, a process makes one for later runs,
// after the ranks have imported the files.
//
//   finding --a record, and its files are not all cached--> reading --all read, or stopped--> idle
//      |----all cached, or no reading---------------------------------------------------------^
//      |----no record--> waiting --the ranks have imported--> recording --written, or failed--^
//                           ^-------the process was killed--------'
class Prefetch {
 public:
  // Starts at once to look for the record (prefetch_record.h).
  Prefetch(boost::asio::io_context& io, std::shared_ptr<const plan::Job> job);
  ~Prefetch();
  Prefetch(const Prefetch&) = delete;
  Prefetch& operator=(const Prefetch&) = delete;

  // Call ranks_have_started() when the ranks have started. A while later, this object assumes that
  // they have imported their modules.
  void ranks_have_started();
  // Call ranks_have_imported() when all ranks have connected to the store.
  void ranks_have_imported();
  // Returns how long the reading took. nullopt if nothing was read, the reading continues, or an
  // earlier call has returned the time.
  std::optional<std::chrono::milliseconds> take_time() {
    return std::exchange(time_, std::nullopt);
  }
  // Called when the reading ends.
  std::function<void()> on_read;

 private:
  struct Found;
  void heard(const Found& found);
  void read(std::shared_ptr<prefetch::Reading> reading);
  void thread_ended();
  void record();
  void recorded(const Result<bool>& made);
  void tell(const std::string& what) const;

  const std::shared_ptr<const plan::Job> job_;
  Pool pool_;  // a separate pool: a file server that hangs must not delay other work
  boost::asio::steady_timer timer_;
  enum class State { finding, reading, waiting, recording, idle } state_ = State::finding;
  std::shared_ptr<prefetch::Reading> reading_;
  std::size_t threads_ = 0;  // threads that are still reading
  std::chrono::steady_clock::time_point began_;
  std::optional<std::chrono::milliseconds> time_;
  bool may_record_ = false;  // the ranks have imported their modules, or had enough time for it
};

}  // namespace toprun::prepare
