#include "base/os/uncaught.h"

#include <gtest/gtest.h>

#include <new>
#include <stdexcept>
#include <system_error>
#include <thread>

#include <boost/system/system_error.hpp>

#include "base/text/error.h"

namespace toprun {
namespace {

template <class Exception>
void die_of(const Exception& exception) {
  explain_uncaught_exceptions();
  std::thread([&] { throw exception; }).join();
}

TEST(UncaughtException, EndsTheProcessWithALine) {
  using testing::ExitedWithCode;
  const auto no_file = std::make_error_code(std::errc::too_many_files_open);
  EXPECT_EXIT(die_of(std::system_error(no_file)), ExitedWithCode(exit_failure),
              "^toprun: cannot go on: Too many open files; raise the limit on open files "
              "\\(ulimit -n\\)\n$");
  EXPECT_EXIT(die_of(boost::system::system_error(boost::system::error_code(no_file))),
              ExitedWithCode(exit_failure),
              "^toprun: cannot go on: Too many open files; [^\n]*\n$");
  EXPECT_EXIT(die_of(std::system_error(EAGAIN, std::generic_category())),
              ExitedWithCode(exit_failure), "^toprun: [^\n]*ulimit -u[^\n]*\n$");
  EXPECT_EXIT(die_of(std::bad_alloc()), ExitedWithCode(exit_failure),
              "^toprun: out of memory; [^\n]*\n$");
  EXPECT_EXIT(die_of(std::logic_error("odd")), ExitedWithCode(exit_failure),
              "^toprun: cannot go on: odd; [^\n]*\n$");
}

}  // namespace
}  // namespace toprun
