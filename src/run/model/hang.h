#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "base/text/clock.h"
#include "decide/hang/alarm.h"
#include "decide/hang/hang_verdict.h"

namespace toprun::model {

// Describes a hang: ranks that made no progress, and the ranks for which they wait.
struct Hang {
  WallTime noticed{};
  std::chrono::milliseconds after{0};  // the time without progress; not used if `alarm` is set
  std::optional<hang::Alarm> alarm;    // alarm that revealed the hang; unset: there was no alarm
  hang::Verdict verdict;
  std::vector<std::string> suspected;  // the suspects' nodes, in the suspects' order
  std::string next;                    // hang::next_of()
  std::vector<std::string> lines;      // hang::lines_of()
  std::optional<WallTime> over;        // when a rank made progress again
};

// Where the ranks of a running attempt are in their code.
struct Places {
  int attempt = 0;
  std::vector<hang::Group> groups;
  std::vector<int> unseen;         // ranks of nodes that did not answer
  std::vector<std::string> lines;  // hang::lines_of()
};

// Returns an object with the schema toprun.stacks/1.
nlohmann::json places_json(const Places& places);

// Returns "no rank has made progress for 30 s: rank 5 on n2 …", "rank 3 wrote exception_dump: …".
std::string headline(const Hang& hang);
// Returns what follows a verb, such as "hangs": " since 06:02:00: rank 2 on n1 sleeps". `beside`: a
// time in the same text.
std::string since_text(const Hang& hang, WallTime beside);
// Returns "had hung since 06:02:00: rank 2 on n1 sleeps", for a hang in which an attempt has ended.
std::string past_text(const Hang& hang, WallTime beside);
// Returns the time of the last progress. If this time is unknown, returns the time at which the
// hang was detected.
WallTime since(const Hang& hang);
nlohmann::json hang_json(const std::optional<Hang>& hang);  // null if unset
// Reads the output of hang_json(), except its groups and evidence. Malformed values stay unset, a
// missing time is WallTime{}. nullopt: `object` is null or has no `what`.
std::optional<Hang> hang_in(const nlohmann::json& object);

}  // namespace toprun::model
