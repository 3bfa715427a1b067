#pragma once

#include <string>
#include <string_view>

namespace toprun::agent {

// The first word of the command line that makes this program a shim; the second is its socket.
inline constexpr std::string_view shim_word = "--container-shim";

// The one process of ours inside a container. It starts the ranks there, signals and reaps them,
// all on the orders of the agent outside, who listens at `socket` and to whom it hands back how
// each ended. Ranks write to descriptors of the agent's, so nothing they print passes through here.
//
//   connecting --hello--> serving --agent gone, or a signal--> killing --no process left--> ended
//
// Orders (agent/shim_wire.h), of which most are answered:
//   {order: "program", argv, environment, affinity} with its stdin, stdout, stderr; kept until
//   {order: "start", host: for messages}      → {pids: […]} or {failed: […]}
//   {order: "look", paths: […]}               → {seen: [bits of Seen]}
//   {order: "enter", folder}                  → {entered: true} or {failed: […]}
//   {order: "describe"}                       → {left: […]}
//   {order: "signal", pids: […], signal, only_handlers}   to these process groups
//   {order: "signal_all", signal}
// By itself it sends {ended: [[pid, status]…], childless}.
//
// The exit code of the process: 0, or 1 if it could not reach the agent.
int run_shim(const std::string& socket);

}  // namespace toprun::agent
