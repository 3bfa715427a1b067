#pragma once

#include <string_view>

#include "base/text/error.h"
#include "engines/kubernetes/workload.h"

namespace toprun::pods {

// Makes the job one that arrives through runai unchanged; pure. Values and words with blanks,
// quotes, commas or $ travel in one word (node/plan/packed_words.h); all others stay readable.
// Error (exit 2): the command line is too long.
Result<void> make_plain(engines::kubernetes::Workload& job);

// Has every node keep its output on the first claim that can be written, in a folder of the job's
// own: "/scratch/toprun/train-x7k2p.JOB_UUID". That folder, with %j for the job's id; empty: there
// is no such claim. Pure.
std::string keep_output(engines::kubernetes::Workload& job);

// Has the command say how many ranks each pod has: the operator beneath would have toprun count the
// CPUs of a pod without GPUs. Pure.
void count_ranks(engines::kubernetes::Workload& job);

// Has the master's pod alone end with the run's exit code, unless pods that fail are made again: a
// root that came back would wait for members that have ended well. Pure.
void count_one_failure(engines::kubernetes::Workload& job);

}  // namespace toprun::pods
