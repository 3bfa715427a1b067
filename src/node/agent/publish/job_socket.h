#pragma once

#include <functional>
#include <memory>
#include <unordered_map>
#include <vector>

#include <boost/asio/awaitable.hpp>

#include "base/os/pool.h"
#include "node/agent/publish/job_picture.h"
#include "node/plan/job.h"
#include "observe/live/server.h"
#include "run/conductor/coordinator.h"
#include "run/model/hang.h"

namespace toprun::publish {

// Answers requests from this user's other processes while the job runs (docs/reference/live.md).
class JobSocket {
 public:
  // `ask_places` asks the members where the ranks are in their code; tell() delivers their answer.
  // All references must outlive this object.
  JobSocket(Pool& pool, const plan::Job& job, const run::Coordinator& coordinator,
            JobPicture& picture, std::function<void(int question)> ask_places);
  ~JobSocket();
  JobSocket(const JobSocket&) = delete;
  JobSocket& operator=(const JobSocket&) = delete;

  // Opens the socket. If opening fails, prints a message, because the job cannot be queried without
  // the socket.
  void open();
  // Returns the answer to a request that arrived on the socket.
  boost::asio::awaitable<live::Answer> answer(live::Question question);
  void tell(const std::vector<int>& questions, const model::Places& places);

 private:
  Result<void> listen();
  boost::asio::awaitable<live::Answer> name();
  boost::asio::awaitable<live::Answer> report();
  boost::asio::awaitable<live::Answer> places();
  boost::asio::awaitable<live::Answer> picture();
  boost::asio::awaitable<live::Answer> pictures();  // one picture per line, until the run's end
  boost::asio::awaitable<live::Answer> metrics(snapshot::MetricsForm form);

  // Points to this JobSocket, and to null once it is destroyed. A coroutine that waits for an
  // answer may outlive the run.
  const std::shared_ptr<JobSocket*> self_;
  Pool& pool_;
  const plan::Job& job_;
  const run::Coordinator& coordinator_;
  JobPicture& picture_;
  const std::function<void(int)> ask_places_;
  // The pending requests for the ranks' places in their code, by the number passed to `ask_places`.
  std::unordered_map<int, std::function<void(const model::Places&)>> questions_;
  int last_question_ = 0;
  std::unique_ptr<live::Server> server_;  // null: the socket could not be opened
};

}  // namespace toprun::publish
