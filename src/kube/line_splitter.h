// LineSplitter: lines out of a stream that comes in arbitrary pieces.
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace aliquot::kube {

class LineSplitter {
 public:
  enum class State { kMore, kStopped, kTooLong };

  explicit LineSplitter(size_t longest) : longest_(longest) {}

  // Calls `on_line` for each line that is complete now, without its end, until
  // it answers false. Empty lines are left out.
  State Feed(std::string_view bytes, const std::function<bool(std::string_view)>& on_line) {
    for (;;) {
      const size_t end = bytes.find('\n');
      if (end == std::string_view::npos) break;
      std::string_view line = bytes.substr(0, end);
      bytes.remove_prefix(end + 1);
      if (!begun_.empty()) line = begun_.append(line);
      const bool go_on = line.empty() || on_line(line);
      begun_.clear();
      if (!go_on) return State::kStopped;
    }
    if (begun_.size() + bytes.size() > longest_) return State::kTooLong;
    if (begun_.empty() && begun_.capacity() > kKeptBytes) begun_ = std::string();
    begun_.append(bytes);
    return State::kMore;
  }

 private:
  static constexpr size_t kKeptBytes = 1 << 20;
  const size_t longest_;
  std::string begun_;  // of a line whose end has not come yet
};

}  // namespace aliquot::kube
