// What an extender's answer to /filter says, as far as a load has to know: a
// measurement of errors would be none.
//
// Thread safety: any thread (a parser per thread inside).
#pragma once

#include <string>
#include <string_view>

namespace aliquot::load {

enum class Verdict {
  kFits,     // some nodes are left
  kRefused,  // none is
  kFailed,   // an error, or no answer of an extender
};

struct Answer {
  Verdict verdict = Verdict::kFailed;
  std::string problem = {};  // of kFailed
};

Answer ReadAnswer(int status, std::string_view body);

}  // namespace aliquot::load
