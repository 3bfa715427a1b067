#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <functional>

#include <boost/asio/io_context.hpp>

namespace toprun::rendezvous {

// Runs the loop until `done` or for at most ten seconds.
inline void run_until(boost::asio::io_context& io, const std::function<bool()>& done) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (!done() && std::chrono::steady_clock::now() < deadline)
    io.run_one_for(std::chrono::milliseconds(50));
  ASSERT_TRUE(done());
}

}  // namespace toprun::rendezvous
