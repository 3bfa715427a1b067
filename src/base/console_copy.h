#pragma once

namespace toprun {

// What say() and say_block() write from now on goes to this descriptor too, which is to be opened
// to append: several processes write there. -1: no more.
void say_also_to(int fd);

}  // namespace toprun
