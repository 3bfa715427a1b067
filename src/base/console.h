#pragma once

#include <string_view>

namespace toprun {

// One line of toprun's own on stderr: "toprun: TEXT", in a single write so that lines of several
// processes never mix. Lost silently if stderr is closed. From any thread. Waits until it is
// written, except where somebody else writes it (base/voice.h).
void say(std::string_view text);

// As say(), for what is already a whole line or a block of lines; colours in it stay.
void say_block(std::string_view text);

}  // namespace toprun
