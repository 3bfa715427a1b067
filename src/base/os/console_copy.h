#pragma once

namespace toprun {

// Copies everything that say() and say_block() write from now on to this descriptor, which must be
// open for appending because several processes write there. -1 ends the copying. Call it before
// other threads say anything.
void say_also_to(int fd);

}  // namespace toprun
