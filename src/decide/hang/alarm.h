#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace toprun::hang {

// A rank's own word that it has given up waiting: its watchdog writes a key into the store before
// it, and all others, end (torch/csrc/distributed/c10d/ProcessGroupNCCL.cpp).
struct Alarm {
  enum class Kind {
    exception_dump,  // a collective has timed out: all ranks dump and abort
    remote_error,    // a group's rank tells the others of its error
  };
  Kind kind = Kind::exception_dump;
  std::optional<int> rank = {};  // of all ranks; unset: the value names a rank of some group

  bool operator==(const Alarm&) const = default;
};

// What writing this key to the store means; nullopt: nothing. "exception_dump" has no prefix but
// the client's own "/"; "remote_error:GROUP" stands under its group's, as in
// "/default_pg/0//cuda//remote_error:0". The value is the rank, a number of 4 bytes.
std::optional<Alarm> alarm_in(std::string_view key, std::string_view value);

std::string_view name_of(Alarm::Kind kind);  // the key's name
// False if no name fits.
bool read_alarm_kind(std::string_view name, Alarm::Kind& kind);
// "rank 3 wrote exception_dump".
std::string text_of(const Alarm& alarm);

}  // namespace toprun::hang
