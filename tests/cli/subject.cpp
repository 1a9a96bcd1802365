// subject.cpp - templates, namespaces, lambdas and destructors, to be symbolized.
#include <algorithm>
#include <map>
#include <memory>
#include <regex>
#include <string>
#include <vector>

namespace shop
{
struct Item {
	std::string name;
	std::vector<int> prices;
	virtual ~Item() = default;
	virtual int total() const
	{
		int sum = 0;
		for (int p : prices)
			sum += p;
		return sum;
	}
};

template <typename T> static std::unique_ptr<T> make(const std::string &name)
{
	auto item = std::make_unique<T>();
	item->name = name + "!";
	item->prices.push_back((int)name.size());
	return item;
}
} // namespace shop

namespace
{
// It has internal linkage, so DWARF has no linkage name for it.
template <typename T> struct Shelf {
	T *items;
	[[gnu::noinline]] explicit Shelf(std::size_t n) : items(new T[n]())
	{
	}
};

std::map<std::string, std::unique_ptr<shop::Item>> stock;

int count(const char *pattern)
{
	std::regex re(pattern);
	return (int)std::count_if(stock.begin(), stock.end(),
		[&](const auto &entry) { return std::regex_search(entry.first, re); });
}
} // namespace

int main(int argc, char **argv)
{
	for (int i = 0; i < argc; i++)
		stock[argv[i]] = shop::make<shop::Item>(argv[i]);
	Shelf<long> shelf((std::size_t)argc);
	return (int)shelf.items[0] + count("a.*b") + stock.begin()->second->total();
}
/* SPDX-License-Identifier: Apache-2.0 */
