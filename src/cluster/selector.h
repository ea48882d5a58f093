// Label and field selectors: which objects a list or a watch is about.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "cluster/resources.h"

namespace aliquot::cluster {

class Selector {
 public:
  // Grammar of labels: a=b, a==b, a!=b, a in (x,y), a notin (x), a, !a; of
  // fields: a=b, a==b, a!=b; joined by commas. Errors: 400.
  static Outcome<Selector> Parse(const Resource& resource, std::string_view labels,
                                 std::string_view fields);

  bool Matches(const Json& object) const;
  bool everything() const { return labels_.empty() && fields_.empty(); }

 private:
  // The label's value is one of these, or (negated) it is not, or it is absent.
  // Without values: the label is there, or not.
  struct LabelTerm {
    std::string key;
    bool negated = false;
    bool any_value = false;
    std::set<std::string, std::less<>> values;
  };
  struct FieldTerm {
    std::string path;
    bool negated = false;
    std::string value;
  };

  static bool ParseLabels(std::string_view text, std::vector<LabelTerm>& terms);

  std::vector<LabelTerm> labels_;
  std::vector<FieldTerm> fields_;
};

}  // namespace aliquot::cluster
