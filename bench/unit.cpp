/* SPDX-License-Identifier: Apache-2.0 */
// unit.cpp - a C++ unit with much debug information. bench/symbols builds a large program from it,
// and clang compiles it there.
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <regex>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>
namespace
{
// Types of this unit only, so that every unit has its own instances of the library's templates.
struct Traits : std::regex_traits<char> {
};
struct Key {
	std::string text;
	bool operator<(const Key &other) const
	{
		return text < other.text;
	}
	bool operator==(const Key &other) const
	{
		return text == other.text;
	}
};
struct Hash {
	std::size_t operator()(const Key &key) const
	{
		return std::hash<std::string>()(key.text);
	}
};
struct Base {
	virtual ~Base() = default;
	virtual int total() const = 0;
};
template <typename T> struct Item : Base {
	std::vector<T> values;
	explicit Item(int n)
	{
		for (int i = 0; i < n; i++)
			values.push_back(T());
	}
	int total() const override
	{
		return (int)values.size();
	}
};
} // namespace

extern "C" int unit_run(int n)
{
	std::basic_regex<char, Traits> pattern("(a|b)*c[d-f]+|x{2,3}(?:yz)?[[:alpha:]]+");
	std::map<Key, std::vector<Key>> ordered;
	std::unordered_map<Key, std::set<Key>, Hash> hashed;
	std::vector<std::unique_ptr<Base>> items;
	std::function<int(const Key &)> known = [&](const Key &key) {
		return (int)ordered.count(key);
	};
	int sum = 0;
	for (int i = 0; i < n; i++) {
		Key key{"a key that is not short " + std::to_string(i)};
		std::match_results<std::string::const_iterator> found;
		ordered[key].push_back(key);
		hashed[key].insert(key);
		items.push_back(std::make_unique<Item<Key>>(i));
		items.push_back(std::make_unique<Item<std::pair<Key, int>>>(i));
		sum += std::regex_search(key.text, found, pattern) + known(key) +
		       items.back()->total();
	}
	return sum;
}
