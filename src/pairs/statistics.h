#pragma once

#include <vector>

namespace toprun::pairs {

// The smallest of the values that is not below so large a share, 0 … 1, of them. Values: 1 or
// more, in any order; they are reordered.
double quantile(std::vector<double>& values, double share);

// Of an even number of values, the mean of the two in the middle.
double median(std::vector<double> values);

// The standard deviation of a normal distribution with these values' median distance from
// `centre`, which a few odd values do not move. One value or more.
double deviation(std::vector<double> values, double centre);

}  // namespace toprun::pairs
