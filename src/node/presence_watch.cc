#include "node/presence_watch.h"

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>

#include "scheduler/engine.h"

namespace toprun::node {
namespace asio = boost::asio;
using std::chrono::steady_clock;

struct PresenceWatch::Looking {
  enum class State { resting, asking, over } state = State::resting;
  Attendance attendance;
};

namespace {

// All that is waited for has to be of the one step that the engine tells of.
bool is_one_step(const plan::Job& job) {
  const std::string& engine = job.place.engine;
  return job.place.started_together && (engine == "slurm" || engine == "manual");
}

}  // namespace

PresenceWatch::PresenceWatch(asio::io_context& io, const plan::Job& job)
    : io_(io),
      job_(job),
      looking_(std::make_shared<Looking>(Looking{
          {}, Attendance(steady_clock::now() + slowest_begin + job.nnodes * more_per_node)})),
      next_look_(steady_clock::now() + first_presence_look) {
  if (!is_one_step(job)) looking_->state = Looking::State::over;
}

PresenceWatch::~PresenceWatch() {
  if (thread_.joinable()) thread_.join();
}

void PresenceWatch::look_if_due() {
  const auto now = steady_clock::now();
  if (looking_->state != Looking::State::resting || now < next_look_) return;
  if (thread_.joinable()) thread_.join();  // it has answered
  next_look_ = now + between_presence_looks + job_.nnodes * more_per_node;
  looking_->state = Looking::State::asking;
  thread_ = std::thread(
      [looking = looking_, environment = job_.environment, work = asio::make_work_guard(io_)] {
        auto presence = scheduler::presence(environment);
        asio::post(work.get_executor(), [looking, presence = std::move(presence)] {
          looking->state = presence ? Looking::State::resting : Looking::State::over;
          if (presence) looking->attendance.look(*presence, steady_clock::now());
        });
      });
}

bool PresenceWatch::has_ended(const std::string& node) const {
  return looking_->attendance.has_ended(node);
}

}  // namespace toprun::node
