#pragma once

#include <memory>
#include <optional>

#include <boost/asio/awaitable.hpp>

#include "base/os/timer.h"
#include "base/text/clock.h"
#include "node/agent/publish/job_picture.h"

namespace toprun::publish {

// Who is shown picture after picture: the next one when something has happened, and once an
// interval; some time after the one before at the earliest. It may outlive the run.
class Follower {
 public:
  Follower(boost::asio::io_context& io, JobPicture& picture);
  ~Follower();
  Follower(const Follower&) = delete;
  Follower& operator=(const Follower&) = delete;

  // Waits until it is due. Nothing: it could not be written in time, or the run is gone.
  boost::asio::awaitable<std::optional<JobPicture::Parts>> next();
  // The last one showed the run's end, or the run is gone.
  bool is_over() const { return is_over_ || *picture_ == nullptr; }

  // Something has happened.
  void wake();

 private:
  boost::asio::awaitable<void> rest_until(SteadyTime end, bool or_event);

  const std::shared_ptr<JobPicture*> picture_;
  Timer pause_;
  std::optional<SteadyTime> shown_;
  bool has_moved_ = false;
  bool is_over_ = false;
};

}  // namespace toprun::publish
