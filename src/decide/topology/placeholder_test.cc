#include <gtest/gtest.h>

#include "decide/topology/physical_host.h"

namespace toprun::topology {
namespace {

TEST(Placeholder, IsNoDomain) {
  for (const std::string_view name : {"",
                                      "-",
                                      "--",
                                      "none",
                                      "None",
                                      "null",
                                      "<nil>",
                                      "<none>",
                                      "<no value>",
                                      "unknown",
                                      "Unknown",
                                      "N/A",
                                      "[N/A]",
                                      "[Not Supported]",
                                      "not-available",
                                      "not_available",
                                      "unavailable",
                                      "no-imds-data",
                                      "no-topology",
                                      "(null)",
                                      "0x0",
                                      "00000000-0000-0000-0000-000000000000",
                                      "00000000-0000-0000-0000-000000000000.0",
                                      "00000000-0000-0000-0000-000000000000.32766",
                                      "0x0000000000000000",
                                      "00000000000000000000000000000000"}) {
    EXPECT_TRUE(is_placeholder(name)) << name;
  }
}

TEST(Placeholder, NamesStayNames) {
  for (const std::string_view name :
       {"0", "00", "0000", "00000000", "0-0", "r0", "nonet", "unknown-3", "nullrack", "n", "[0]",
        "no", "00000000-0000-0000-0000-000000000001.0", "0x0000000000000001", "s-0",
        "00000000-0000-0000-0000-00000000000a"}) {
    EXPECT_FALSE(is_placeholder(name)) << name;
  }
}

}  // namespace
}  // namespace toprun::topology
