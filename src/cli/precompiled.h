// What base's has, and the parser of the verbs' arguments, which takes as long as all of that.
#pragma once

#include <CLI/CLI.hpp>

#include "base/precompiled.h"
