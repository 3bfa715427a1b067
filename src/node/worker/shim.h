#pragma once

#include <string>
#include <string_view>

namespace toprun::worker {

// With this first argument, the program is a shim; the second argument is the path of its socket.
inline constexpr std::string_view shim_word = "--container-shim";

// Runs the shim: toprun's only process inside a container. The agent, which is outside, listens at
// `socket` and sends requests ("order"). The shim starts the ranks, signals and reaps them, and
// reports how each ended. Ranks write to the agent's descriptors, so their output does not pass
// through the shim.
//
//   connecting --hello--> serving --agent gone, or a signal--> killing --no process left--> ended
//
// The requests (node/worker/shim_link.h) and their answers:
//   {order: "program", argv, environment, affinity} with the program's stdin, stdout and stderr
//     The shim keeps the program until the next "start".
//
//   {order: "start", host: for messages}
//     → {pids: […], cold: why no rank was forked} or {failed: […]}
//
//   {order: "look", paths: […]}
//     → {seen: [bits of Seen]}
//
//   {order: "enter", folder}
//     → {entered: true} or {failed: […]}
//
//   {order: "warm_up", argv, environment, modules, host}
//     then, until settled, {order: "warmth"}
//     → {warmth: [settled, why not, ms, imported]} or {failed: […]}
//
//   {order: "describe"}
//     → {left: […]}
//
//   {order: "signal", pids: […], signal, only_handlers}: to these process groups
//
//   {order: "signal_all", signal}
//
// Without a request, the shim sends {ended: [[pid, status]…], childless}.
//
// Returns the exit code of the shim: 0, or 1 if it could not connect to the agent.
int run_shim(const std::string& socket);

}  // namespace toprun::worker
