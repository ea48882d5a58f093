#include "aliquot/base/check.h"

#include <cstdio>
#include <cstdlib>

namespace aliquot {

void CheckFailed(const char* condition, const char* file, int line) {
  std::fprintf(stderr, "Check failed: %s at %s:%d\n", condition, file, line);
  std::abort();
}

}  // namespace aliquot
