#pragma once

#include <string_view>

namespace toprun {

// Prints "toprun: TEXT" on stderr. A single write(2) keeps the lines of several processes apart.
// The line is lost without an error if stderr is closed. Any thread may call say(). say() blocks
// until the line is written, unless a LogSink writes the line (base/os/log_sink.h).
void say(std::string_view text);

// Like say(), for text that already consists of whole lines. Colours in the text are kept.
void say_block(std::string_view text);

}  // namespace toprun
