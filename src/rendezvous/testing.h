#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <functional>

#include <boost/asio/io_context.hpp>

namespace toprun::rendezvous {

// Ends a test that hangs. Nothing is measured by it: a second of an idle machine becomes fifteen
// with a sanitizer beside other tests.
inline constexpr std::chrono::seconds hang_limit{100};

// Runs the loop until `done`.
inline void run_until(boost::asio::io_context& io, const std::function<bool()>& done) {
  const auto deadline = std::chrono::steady_clock::now() + hang_limit;
  while (!done() && std::chrono::steady_clock::now() < deadline)
    io.run_one_for(std::chrono::milliseconds(50));
  ASSERT_TRUE(done());
}

}  // namespace toprun::rendezvous
