// Random material for tests of text grammars. The same seed gives the same
// texts; tests print it when they fail.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <string_view>

namespace aliquot::codec {

class RandomText {
 public:
  explicit RandomText(uint64_t seed) : random_(seed) {}

  // From 0 to below `limit`.
  size_t Below(size_t limit) { return random_() % limit; }

  // An int32, often small, sometimes 0, negative or at a limit.
  int64_t Int32() {
    switch (Below(6)) {
      case 0:
        return 0;
      case 1:
        return -static_cast<int64_t>(Below(100)) - 1;
      case 2:
        return INT32_MAX;
      case 3:
        return INT32_MIN;
      default:
        return static_cast<int64_t>(Below(100000));
    }
  }

  // Up to `longest` of `letters`.
  std::string Word(std::string_view letters, size_t longest = 8) {
    std::string word;
    for (size_t length = Below(longest + 1); word.size() < length;)
      word += letters[Below(letters.size())];
    return word;
  }

  // A few bytes changed, taken out, put in or doubled.
  std::string Mutate(std::string text) {
    constexpr std::string_view kBytes = ",;:{}[]\"\\-+.0123456789enulltrfa _TZ\n\x80\xff";
    for (size_t edits = 1 + Below(3); edits > 0; --edits) {
      const size_t at = Below(text.size() + 1);
      const char byte = kBytes[Below(kBytes.size())];
      if (at == text.size() || Below(3) == 0)
        text.insert(at, 1, byte);
      else if (Below(3) == 0)
        text.erase(at, 1 + Below(4));
      else if (Below(3) == 0)
        text.insert(at, text.substr(at, 1 + Below(12)));
      else
        text[at] = byte;
    }
    return text;
  }

 private:
  std::mt19937_64 random_;
};

}  // namespace aliquot::codec
