#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace toprun::hang {

// A key in PyTorch's TCPStore. It shows that a rank has given up waiting: PyTorch's watchdog writes
// the key before all ranks abort (torch/csrc/distributed/c10d/ProcessGroupNCCL.cpp).
struct Alarm {
  enum class Kind {
    exception_dump,  // a collective has timed out: all ranks dump and abort
    remote_error,    // a rank reports an error to the other ranks in its group
  };
  Kind kind = Kind::exception_dump;
  std::optional<int> rank = {};  // global rank; unset: the value is a rank within another group

  bool operator==(const Alarm&) const = default;
};

// Returns the alarm that has this key and value; nullopt: the key is not an alarm. "exception_dump"
// has no prefix except the client's own "/". "remote_error:GROUP" has the prefix of its group, as
// in "/default_pg/0//cuda//remote_error:0". The value of such a key is the rank as a 4-byte number.
std::optional<Alarm> alarm_in(std::string_view key, std::string_view value);

std::string_view name_of(Alarm::Kind kind);  // the key's name
// Sets `kind` to the kind with this name. False: there is none.
bool read_alarm_kind(std::string_view name, Alarm::Kind& kind);
// Returns "rank 3 wrote exception_dump".
std::string text_of(const Alarm& alarm);

}  // namespace toprun::hang
