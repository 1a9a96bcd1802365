/* SPDX-License-Identifier: Apache-2.0 */
/*
 * early_late.cpp - allocations before a recorder may have started, or after it may have stopped.
 *
 * Before main: a constructor of the earliest priority, static initialisers. After main: atexit, the
 * destructors of statics, of thread_local objects (of a thread and of main) and of pthread keys,
 * destructor functions of the latest priority. Each of them is a site that allocates one block that
 * stays and one that is freed. The very last destructor writes the counts.
 */
#include "truth.h"
#include <pthread.h>

namespace
{

enum {
	CONSTRUCTOR,
	STATIC_INIT,
	MAIN,
	THREAD,
	KEY_DESTRUCTOR,
	THREAD_LOCAL_DESTRUCTOR,
	MAIN_THREAD_LOCAL_DESTRUCTOR,
	ATEXIT,
	STATIC_DESTRUCTOR,
	DESTRUCTOR,
	SITES,
};

const char *const names[SITES] = {
	"site_constructor",
	"site_static_init",
	"site_main",
	"site_thread",
	"site_key_destructor",
	"site_thread_local_destructor",
	"site_main_thread_local_destructor",
	"site_atexit",
	"site_static_destructor",
	"site_destructor",
};

} // namespace

#define DEFINE_SITE(name)                           \
	extern "C" TRUTH_SITE void *name(size_t n); \
	extern "C" TRUTH_SITE void *name(size_t n)  \
	{                                           \
		void *p = malloc(n);                \
                                                    \
		TRUTH_KEEP_FRAME();                 \
		return p;                           \
	}

DEFINE_SITE(site_constructor)
DEFINE_SITE(site_static_init)
DEFINE_SITE(site_main)
DEFINE_SITE(site_thread)
DEFINE_SITE(site_key_destructor)
DEFINE_SITE(site_thread_local_destructor)
DEFINE_SITE(site_main_thread_local_destructor)
DEFINE_SITE(site_atexit)
DEFINE_SITE(site_static_destructor)
DEFINE_SITE(site_destructor)

namespace
{

/* No two of these run at once: the only other thread is joined before main continues. */
void use(void *(*site)(size_t), unsigned number)
{
	size_t stays = 1000 + number, goes = 2000 + number;
	void *p = site(stays);
	void *q = site(goes);

	if (!p || !q)
		abort();
	truth_alloc(number, stays);
	truth_alloc(number, goes);
	free(q);
	truth_free(number, goes);
}

__attribute__((constructor(101))) void begin()
{
	truth_open("early_late", names, SITES);
	use(site_constructor, CONSTRUCTOR);
}

__attribute__((destructor(101))) void end()
{
	use(site_destructor, DESTRUCTOR);
	truth_write();
}

struct whole_life {
	whole_life()
	{
		use(site_static_init, STATIC_INIT);
	}
	~whole_life()
	{
		use(site_static_destructor, STATIC_DESTRUCTOR);
	}
} whole_life;

struct thread_life {
	bool main = false;
	~thread_life()
	{
		if (main)
			use(site_main_thread_local_destructor, MAIN_THREAD_LOCAL_DESTRUCTOR);
		else
			use(site_thread_local_destructor, THREAD_LOCAL_DESTRUCTOR);
	}
};
thread_local thread_life my_life;

void key_gone(void *)
{
	use(site_key_destructor, KEY_DESTRUCTOR);
}

pthread_key_t key;

void *work(void *)
{
	my_life.main = false;
	pthread_setspecific(key, &key);
	use(site_thread, THREAD);
	return nullptr;
}

} // namespace

int main()
{
	pthread_t id;

	my_life.main = true;
	atexit([] { use(site_atexit, ATEXIT); });
	use(site_main, MAIN);
	if (pthread_key_create(&key, key_gone) || pthread_create(&id, nullptr, work, nullptr))
		abort();
	pthread_join(id, nullptr);
	return 0;
}
