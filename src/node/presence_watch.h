#pragma once

#include <memory>
#include <string>
#include <thread>

#include <boost/asio/io_context.hpp>

#include "node/attendance.h"
#include "plan/job.h"

namespace toprun::node {

// Asks the engine from time to time where processes of the run are, while somebody waits for
// others. A thread waits for the answer, so that the agent's own loop does not.
//
//   resting --look_if_due()--> asking --answer--> resting; --the engine does not tell--> over
class PresenceWatch {
 public:
  PresenceWatch(boost::asio::io_context& io, const plan::Job& job);
  ~PresenceWatch();  // waits until a look is over

  void look_if_due();
  bool has_ended(const std::string& node) const;

 private:
  struct Looking;
  boost::asio::io_context& io_;
  const plan::Job& job_;
  std::shared_ptr<Looking> looking_;
  std::thread thread_;
  SteadyTime next_look_;
};

}  // namespace toprun::node
