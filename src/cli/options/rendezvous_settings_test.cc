#include "cli/options/rendezvous_settings.h"

#include <gtest/gtest.h>

namespace toprun::options {
namespace {

using Settings = RendezvousSettings;

Result<Settings> parsed(std::string text, std::string_view backend = "c10d") {
  return parse_rendezvous_settings(Argument{"--flag", std::move(text), false}, backend);
}

TEST(RendezvousSettings, WhatHasAnEffect) {
  EXPECT_EQ(parsed(""), Settings());
  EXPECT_EQ(parsed(" "), Settings());
  EXPECT_EQ(parsed("is_host=True, join_timeout = 60,store_type=TCP"),
            (Settings{{{"is_host", "1"}, {"join_timeout", "60"}, {"store_type", "tcp"}}, {}}));
  EXPECT_EQ(parsed("is_host=no"), (Settings{{{"is_host", "0"}}, {}}));
  EXPECT_EQ(parsed("join_timeout=1,join_timeout=+1_0"), (Settings{{{"join_timeout", "10"}}, {}}));
  EXPECT_EQ(parsed("is_host=maybe,is_host=1"), (Settings{{{"is_host", "1"}}, {}}));
  EXPECT_EQ(parsed("join_timeout=60", "static"), (Settings{{{"join_timeout", "60"}}, {}}));
  EXPECT_EQ(parsed("join_timeout=99999999999"), (Settings{{{"join_timeout", "1000000000"}}, {}}));
}

TEST(RendezvousSettings, WhatHasNone) {
  const struct {
    const char* text;
    const char* backend;
    const char* note;
  } rows[] = {
      {"join_timout=1", "c10d", "--flag: join_timout has no effect; did you mean join_timeout?"},
      {"rank=0", "c10d", "--flag: rank has no effect; --node-rank gives the rank of this node"},
      {"rank=0,is_host=1,x=2", "c10d",
       "--flag: rank, x have no effect; --node-rank gives the rank of this node"},
      {"'join_timeout=5,last_call_timeout=1,timeout=5'", "c10d",
       "--flag: 'join_timeout, timeout=5' have no effect; did you mean join_timeout?"},
      {"timeout=0", "static", "--flag: timeout=0 has no effect; the value must be at least 1"},
      {"join_timeout=x", "static",
       "--flag: join_timeout=x has no effect; the value must be a whole number"},
      {"keep_alive_interval=0", "c10d",
       "--flag: keep_alive_interval=0 has no effect; the value must be at least 1"},
      {"store_type=file", "static",
       "--flag: store_type=file has no effect; the value is not supported"},
  };
  for (const auto& row : rows) {
    const auto settings = parsed(row.text, row.backend);
    ASSERT_TRUE(settings) << row.text << ": " << settings.error().line();
    EXPECT_EQ(settings->note, row.note);
  }
  EXPECT_TRUE(
      parsed("zzz=1")->note.starts_with("--flag: zzz has no effect; the known keys are is_host"));
  EXPECT_TRUE(
      parsed("overlap_timeout=600")->note.starts_with("--flag: overlap_timeout has no effect; "));
}

TEST(RendezvousSettings, WhatIsRefused) {
  const struct {
    const char* text;
    const char* backend;
    const char* why;
  } rows[] = {
      {"is_host", "c10d", "\"is_host\" is not KEY=VALUE"},
      {"is_host=1,", "c10d", "\"\" is not KEY=VALUE"},
      {"=1", "c10d", "\"=1\" is not KEY=VALUE"},
      {"x=", "static", "\"x=\" is not KEY=VALUE"},
      {"is_host=maybe", "c10d", "is_host=maybe must be 1 or 0"},
      {"store_type=file", "c10d",
       "store_type=file is not supported; use store_type=tcp or leave it out"},
      {"join_timeout=0", "c10d", "join_timeout=0 must be a whole number of at least 1"},
      {"join_timeout=1.5", "c10d", "join_timeout=1.5 must be a whole number"},
      {"join_timeout=1__0", "c10d", "join_timeout=1__0 must be a whole number"},
      {"join_timeout=100000000000000", "c10d", "join_timeout=100000000000000 is too large"},
      {"timeout=5'", "static", "timeout=5' must be a whole number"},
  };
  for (const auto& row : rows) {
    const auto settings = parsed(row.text, row.backend);
    ASSERT_FALSE(settings) << row.text;
    EXPECT_EQ(settings.error()->exit_code, exit_usage) << row.text;
    EXPECT_EQ(settings.error().line(), fmt::format("--flag {}: {}", row.text, row.why));
  }
}

}  // namespace
}  // namespace toprun::options
