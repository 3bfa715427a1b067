#pragma once

#include <string_view>

namespace toprun {

// One line of toprun's own on stderr: "toprun: TEXT", in a single write so that lines of several
// processes never mix. Lost silently if stderr is closed. Any thread may call it. It blocks until
// the line is written, unless a Voice writes it (base/os/voice.h).
void say(std::string_view text);

// As say(), for text that already consists of whole lines; it keeps their colours.
void say_block(std::string_view text);

}  // namespace toprun
