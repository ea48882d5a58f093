// Kubernetes quantities ("3k", "16Gi", "1500m"), read exactly: no floating
// point. Grammar and the odd corners: resource.Quantity of apimachinery.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace aliquot {

// A parsed quantity: an exact decimal, and whether its text was in the form
// from which apimachinery hands out a plain integer.
class Quantity {
 public:
  // No value for text that is not a quantity (also for "", "K", "1e", "+").
  static std::optional<Quantity> Parse(std::string_view text);

  // Quantity.AsInt64: only for text without fractional digits (even ".0") and
  // without a negative exponent (m, u, n, e-3), small enough for the fast form;
  // "100Ti" has none. `3k` -> 3000, `1500m` -> none, `16.0Gi` -> none.
  std::optional<int64_t> AsInt64() const { return plain_; }

  // Quantity.Value: rounded away from zero to an integer, saturated at the
  // limits of int64 (apimachinery overflows to 0 there).
  int64_t Value() const { return value_; }

 private:
  std::optional<int64_t> plain_;
  int64_t value_ = 0;
};

}  // namespace aliquot
