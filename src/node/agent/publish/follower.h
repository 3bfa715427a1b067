#pragma once

#include <memory>
#include <optional>

#include <boost/asio/awaitable.hpp>

#include "base/os/timer.h"
#include "base/text/clock.h"
#include "node/agent/publish/job_picture.h"

namespace toprun::publish {

// A reader that receives one picture (the state) of the job after another. The next picture is due
// when an event has changed the state, and at least once per interval. There is a minimum time
// between two pictures. A Follower may outlive the run.
class Follower {
 public:
  Follower(boost::asio::io_context& io, JobPicture& picture);
  ~Follower();
  Follower(const Follower&) = delete;
  Follower& operator=(const Follower&) = delete;

  // Waits until the next picture is due. nullopt: the picture could not be written in time, or the
  // run has ended.
  boost::asio::awaitable<std::optional<JobPicture::Parts>> next();
  // True: the last picture showed the run's end, or the run has ended.
  bool is_over() const { return is_over_ || *picture_ == nullptr; }

  // Call wake() after an event.
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
