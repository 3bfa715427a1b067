#include "decide/hang/alarm.h"

#include <gtest/gtest.h>

namespace toprun::hang {
namespace {

using Kind = Alarm::Kind;

TEST(Alarm, KeysOfAWatchdog) {
  const std::string three("\3\0\0\0", 4);
  struct Case {
    std::string_view key;
    std::string_view value;
    std::optional<Alarm> alarm;
  };
  for (const Case& one : std::initializer_list<Case>{
           {"/exception_dump", three, Alarm{Kind::exception_dump, 3}},
           {"exception_dump", three, Alarm{Kind::exception_dump, 3}},
           {"/exception_dump", "3", Alarm{Kind::exception_dump, {}}},
           {"/exception_dump", std::string_view("\xff\xff\xff\xff", 4),
            Alarm{Kind::exception_dump, {}}},
           {"/default_pg/0//cuda//remote_error:0", three, Alarm{Kind::remote_error, 3}},
           {"/default_pg/0//7//cuda//remote_error:7", three, Alarm{Kind::remote_error, {}}},
           {"//worker/attempt_0/default_pg/0//cuda//remote_error:0", "",
            Alarm{Kind::remote_error, {}}},
           {"/mine/exception_dump", three, std::nullopt},
           {"/exception_dump_ft", three, std::nullopt},
           {"/remote_error:0", three, std::nullopt},
           {"/default_pg/0//remote_error", three, std::nullopt},
           {"/default_pg/0//remote_errors:0", three, std::nullopt},
           {"/default_pg/remote_error:0/x", three, std::nullopt},
           {"", three, std::nullopt}}) {
    EXPECT_EQ(alarm_in(one.key, one.value), one.alarm) << one.key;
  }
}

TEST(Alarm, IsTold) {
  EXPECT_EQ(text_of({Kind::exception_dump, 3}), "rank 3 wrote exception_dump");
  EXPECT_EQ(text_of({Kind::remote_error, {}}), "a rank wrote remote_error");
  Kind kind{};
  EXPECT_TRUE(read_alarm_kind("remote_error", kind));
  EXPECT_EQ(kind, Kind::remote_error);
  EXPECT_FALSE(read_alarm_kind("remote", kind));
}

}  // namespace
}  // namespace toprun::hang
