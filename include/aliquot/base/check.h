// ALIQUOT_CHECK ends the process when one of our own invariants is broken.
// Never for input from outside: that is a Result.
#pragma once

namespace aliquot {

[[noreturn]] void CheckFailed(const char* condition, const char* file, int line);

}  // namespace aliquot

#define ALIQUOT_CHECK(condition)                              \
  do {                                                        \
    if (!(condition)) [[unlikely]]                            \
      ::aliquot::CheckFailed(#condition, __FILE__, __LINE__); \
  } while (false)
