#pragma once

namespace toprun {

// What say() and say_block() write from now on goes to this descriptor too, which is to be opened
// to append: several processes write there. -1: no more. It is set before other threads say anything.
void say_also_to(int fd);

}  // namespace toprun
