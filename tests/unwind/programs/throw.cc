// throw.cc - exceptions through many frames, in several threads at once, with containers that allocate.
#include <algorithm>
#include <cstdlib>
#include <functional>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

struct noisy {
	std::string text = std::string(40, 'x');
	~noisy() { std::string again(text + "y"); (void)again.size(); }
};

__attribute__((noinline)) static int descend(int depth, int thrown)
{
	noisy n;
	std::vector<int> v(depth + 1);

	if (depth == thrown)
		throw std::runtime_error("at " + std::to_string(depth) + std::string(30, '.'));
	if (depth == 0)
		return 0;
	try {
		return descend(depth - 1, thrown) + (int)v.size();
	} catch (const std::logic_error &) {
		return -1;
	}
}

static void work(int rounds)
{
	std::map<std::string, int> m;

	for (int r = 0; r < rounds; r++) {
		try {
			descend(5 + r % 30, r % 20);
		} catch (const std::exception &e) {
			m[std::string(e.what()) + std::to_string(r % 200)]++;
		}
		std::function<int(int)> f = [&](int x) { return x ? f(x - 1) + (int)std::string(50, 'z').size() : 0; };
		f(r % 10);
		std::vector<std::string> s;
		for (int i = 0; i < 5; i++)
			s.push_back(std::string(20 + (r * 7 + i * 13) % 40, 'a'));
		std::sort(s.begin(), s.end(), [](const std::string &a, const std::string &b) {
			auto copy = std::make_unique<std::string>(a);
			return *copy < b;
		});
	}
}

int main(int argc, char **argv)
{
	int rounds = argc > 1 ? std::atoi(argv[1]) : 300;

	for (int wave = 0; wave < 3; wave++) {
		std::vector<std::thread> threads;
		for (int i = 0; i < 4; i++)
			threads.emplace_back(work, rounds);
		work(rounds);
		for (auto &t : threads)
			t.join();
	}
	return 0;
}
