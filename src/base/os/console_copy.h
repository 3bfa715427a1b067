#pragma once

namespace toprun {

// From now on, copies all output of say() and say_block() to this descriptor. The descriptor must
// be open for appending, because several processes write to the file. With -1, copying ends. Call
// this before other threads call say().
void say_also_to(int fd);

}  // namespace toprun
