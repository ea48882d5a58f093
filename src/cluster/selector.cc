#include "cluster/selector.h"

#include <algorithm>

#include "aliquot/base/strings.h"

namespace aliquot::cluster {
namespace {

bool IsSupported(const Resource& resource, std::string_view field) {
  if (field == "metadata.name" || field == "metadata.namespace") return true;
  const auto among = [field](std::initializer_list<std::string_view> names) {
    return std::find(names.begin(), names.end(), field) != names.end();
  };
  switch (resource.kind) {
    case Kind::kPod:
      return among({"spec.nodeName", "spec.restartPolicy", "spec.schedulerName",
                    "spec.serviceAccountName", "spec.hostNetwork", "status.phase", "status.podIP",
                    "status.podIPs", "status.nominatedNodeName"});
    case Kind::kNode:
      return field == "spec.unschedulable";
    case Kind::kNamespace:
      return field == "status.phase";
    case Kind::kEvent:
      return among({"involvedObject.kind", "involvedObject.namespace", "involvedObject.name",
                    "involvedObject.uid", "involvedObject.apiVersion",
                    "involvedObject.resourceVersion", "involvedObject.fieldPath", "reason",
                    "reportingComponent", "source", "type"});
    case Kind::kSecret:
      return field == "type";
    case Kind::kResourceQuota:
    case Kind::kLease:
    case Kind::kMutatingWebhookConfiguration:
      return false;
  }
  return false;
}

// The value at a dotted path, or null.
const Json* At(const Json& object, std::string_view path) {
  const Json* at = &object;
  for (const std::string_view part : Split(path, '.')) {
    if (!at->is_object()) return nullptr;
    const auto it = at->find(part);
    if (it == at->end()) return nullptr;
    at = &*it;
  }
  return at;
}

std::string FieldText(const Json& object, std::string_view path) {
  // An event's source is the component that reported it.
  if (path == "source") path = "source.component";
  const Json* value = At(object, path == "status.podIPs" ? "status.podIP" : path);
  const bool boolean = path == "spec.hostNetwork" || path == "spec.unschedulable";
  if (boolean) return value != nullptr && *value == true ? "true" : "false";
  if (value != nullptr && value->is_string()) return value->get<std::string>();
  return path == "source.component" ? FieldText(object, "reportingComponent") : "";
}

// Splits at commas that are not inside of parentheses.
std::vector<std::string_view> SplitTerms(std::string_view text) {
  std::vector<std::string_view> terms;
  size_t begin = 0;
  bool inside = false;
  for (size_t i = 0; i <= text.size(); ++i) {
    if (i < text.size() && text[i] == '(') inside = true;
    if (i < text.size() && text[i] == ')') inside = false;
    if (i == text.size() || (text[i] == ',' && !inside)) {
      terms.push_back(Trim(text.substr(begin, i - begin)));
      begin = i + 1;
    }
  }
  return terms;
}

bool IsKey(std::string_view text) {
  return !text.empty() && text.find_first_of(" ()!=,") == std::string_view::npos;
}

}  // namespace

bool Selector::ParseLabels(std::string_view text, std::vector<LabelTerm>& terms) {
  if (Trim(text).empty()) return true;
  for (const std::string_view part : SplitTerms(text)) {
    LabelTerm term;
    if (const size_t open = part.find('('); open != std::string_view::npos) {
      if (!part.ends_with(')')) return false;
      const std::string_view head = Trim(part.substr(0, open));
      const size_t blank = head.find(' ');
      if (blank == std::string_view::npos) return false;
      const std::string_view word = Trim(head.substr(blank));
      if (word != "in" && word != "notin") return false;
      term.key = head.substr(0, blank);
      term.negated = word == "notin";
      for (const std::string_view value : Split(part.substr(open + 1, part.size() - open - 2), ','))
        term.values.emplace(Trim(value));
    } else if (const size_t equals = part.find('='); equals != std::string_view::npos) {
      term.negated = equals > 0 && part[equals - 1] == '!';
      const size_t value = part.substr(equals).starts_with("==") ? equals + 2 : equals + 1;
      term.key = Trim(part.substr(0, equals - (term.negated ? 1 : 0)));
      term.values.emplace(Trim(part.substr(value)));
    } else {
      term.negated = part.starts_with('!');
      term.any_value = true;
      term.key = Trim(part.substr(term.negated ? 1 : 0));
    }
    if (!IsKey(term.key)) return false;
    for (const std::string& value : term.values) {
      if (!IsLabelValue(value)) return false;
    }
    terms.push_back(std::move(term));
  }
  return true;
}

Outcome<Selector> Selector::Parse(const Resource& resource, std::string_view labels,
                                  std::string_view fields) {
  Selector selector;
  if (!ParseLabels(labels, selector.labels_)) {
    return BadRequest("unable to parse requirement: " + std::string(labels));
  }
  if (Trim(fields).empty()) return selector;
  for (const std::string_view part : Split(fields, ',')) {
    const size_t equals = part.find('=');
    if (equals == std::string_view::npos) {
      return BadRequest("invalid selector: '" + std::string(fields) + "'; can't understand '" +
                        std::string(part) + "'");
    }
    FieldTerm term;
    term.negated = equals > 0 && part[equals - 1] == '!';
    term.path = part.substr(0, equals - (term.negated ? 1 : 0));
    term.value = part.substr(part.substr(equals).starts_with("==") ? equals + 2 : equals + 1);
    if (!IsSupported(resource, term.path)) {
      return BadRequest("field label not supported: " + term.path);
    }
    selector.fields_.push_back(std::move(term));
  }
  return selector;
}

bool Selector::Matches(const Json& object) const {
  const Json* labels = labels_.empty() ? nullptr : At(object, "metadata.labels");
  for (const LabelTerm& term : labels_) {
    bool found = false;
    if (labels != nullptr) {
      const auto it = labels->find(term.key);
      found = it != labels->end() &&
              (term.any_value || term.values.contains(it->get_ref<const std::string&>()));
    }
    if (found == term.negated) return false;
  }
  for (const FieldTerm& term : fields_) {
    if ((FieldText(object, term.path) == term.value) == term.negated) return false;
  }
  return true;
}

}  // namespace aliquot::cluster
