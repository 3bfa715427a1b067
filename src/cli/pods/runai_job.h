#pragma once

#include "base/text/error.h"
#include "engines/kubernetes/workload.h"

namespace toprun::pods {

// Encodes the job's words and values so that the program runai passes them on unchanged. Pure. If
// values or words contain blanks, quotes, commas or $, the command is packed into one word
// (node/plan/packed_words.h). Otherwise the command stays readable. Error (exit 2): the command
// line is too long.
Result<void> make_plain(engines::kubernetes::Workload& job);

// Makes every node write its output to the first writable PersistentVolumeClaim, in a separate
// folder for the job: "/scratch/toprun/train-x7k2p.JOB_UUID". Returns this folder, in which %j
// stands for the job's id. The result is empty if there is no writable claim. Pure.
std::string keep_output(engines::kubernetes::Workload& job);

// Adds the number of ranks per pod to the job's toprun command. Without this number, toprun would
// start one rank per CPU in pods without GPUs, because of settings of Run:AI's operator. Pure.
void count_ranks(engines::kubernetes::Workload& job);

// Makes the exit code of the master's pod the run's exit code; all other pods exit with 0. Does
// nothing if failed pods are created again: a new root agent would wait for pods that have already
// exited with 0. Pure.
void count_one_failure(engines::kubernetes::Workload& job);

}  // namespace toprun::pods
