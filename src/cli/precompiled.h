// What base's has, and the parser of the verbs' arguments, which takes as long as all of that.
#pragma once

#include "base/precompiled.h"

#include <CLI/CLI.hpp>
