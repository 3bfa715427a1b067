#pragma once

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace toprun {

// A completion token: an awaited operation returns its error before its results and does not throw.
inline constexpr auto use_nothrow_awaitable = boost::asio::as_tuple(boost::asio::use_awaitable);

}  // namespace toprun
