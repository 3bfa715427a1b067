#include <gtest/gtest.h>

#include "cli/options/flags.h"
#include "cli/options/values.h"
#include "node/store/protocol.h"

namespace toprun::cli {
namespace {

// The server's own defaults are those that the help tells.
TEST(Store, TellsTheLimitsThatItHas) {
  const store::Limits limits;
  const std::vector<std::pair<std::string_view, std::size_t>> expected = {
      {"--max-key", limits.key_bytes},
      {"--max-value", limits.value_bytes},
      {"--max-keys-per-request", limits.keys_per_request},
      {"--max-request", limits.request_bytes},
      {"--max-memory", limits.total_bytes},
      {"--max-connections", limits.connections},
      {"--max-backlog", limits.backlog_bytes},
  };
  for (const auto& [name, limit] : expected) {
    const options::Flag* flag = options::find_flag(name, options::Command::store);
    ASSERT_NE(flag, nullptr) << name;
    EXPECT_EQ(options::parse_size({std::string(name), std::string(flag->default_value)}), limit);
  }
}

}  // namespace
}  // namespace toprun::cli
