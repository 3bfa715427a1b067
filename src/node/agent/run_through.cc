#include "node/agent/run_through.h"

#include <boost/asio/co_spawn.hpp>

#include "base/os/timer.h"
#include "base/os/uncaught.h"
#include "base/os/use_nothrow_awaitable.h"
#include "run/conductor/settings.h"

namespace toprun::agent {
namespace asio = boost::asio;

namespace {

// Closes the link and waits until the root has received all messages.
asio::awaitable<void> part(asio::io_context& io, std::shared_ptr<model::Link> link) {
  const auto closed = std::make_shared<Timer>(io, run::farewell_timeout);
  link->on_closed = [closed] { closed->cancel(); };
  link->close();
  co_await closed->async_wait(use_nothrow_awaitable);
}

}  // namespace

asio::awaitable<int> lead(Services& services, Root& root, Member& member) {
  // The member runs beside the root until the root tells it, as all others, to finish.
  asio::co_spawn(services.io, member.run(),
                 [](const std::exception_ptr& error, int) { end_of_task(error); });
  const run::Course record = co_await root.run();
  // The output of other nodes' workers (--gather-output) comes before the run's last line.
  [[maybe_unused]] const bool all_shown = co_await services.flushed();
  // This comes first: an engine may end all processes as soon as the first has ended.
  co_await root.tell_the_end(record);
  services.ended_with = record.verdict.exit_code;
  co_await root.farewell();
  co_await member.clear_up();
  if (services.container) co_await services.container->end();
  co_return record.verdict.exit_code;
}

asio::awaitable<int> follow(Services& services, Member& member, std::shared_ptr<model::Link> link) {
  const int exit_code = co_await member.run();
  co_await member.clear_up();
  if (services.container) co_await services.container->end();
  co_await part(services.io, std::move(link));
  co_return exit_code;
}

}  // namespace toprun::agent
