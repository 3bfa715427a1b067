#include "node/worker/warm/settling.h"

#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>

#include "base/os/use_nothrow_awaitable.h"

namespace toprun::warm {

namespace asio = boost::asio;

// The parent owns the descriptor and closes it when it refuses: the wait is cancelled before that.
asio::awaitable<void> settle(asio::io_context& io, std::shared_ptr<Parent> parent) {
  asio::steady_timer limit(io);
  while (!parent->settled()) {
    const auto channel = std::make_shared<asio::posix::stream_descriptor>(io, parent->descriptor());
    limit.expires_at(parent->deadline());
    limit.async_wait([channel](const boost::system::error_code& cancelled) {
      boost::system::error_code ignored;
      if (!cancelled) channel->cancel(ignored);
    });
    co_await channel->async_wait(asio::posix::stream_descriptor::wait_read, use_nothrow_awaitable);
    channel->release();
    if (std::chrono::steady_clock::now() < parent->deadline()) {
      parent->hear();
    } else {
      parent->refuse_late();
    }
  }
}

}  // namespace toprun::warm
