/* SPDX-License-Identifier: Apache-2.0 */
/* statics.cpp - objects with static storage that allocate before main; their sizes are known to
 * statics_test.py. */
#include <cstddef>

struct Buffer {
	char *data;
	explicit Buffer(std::size_t size) : data(new char[size])
	{
	}
};

static Buffer first(3000);
const Buffer second(500);

int main()
{
	Buffer in_main(70000);

	return first.data == second.data || in_main.data == nullptr;
}
