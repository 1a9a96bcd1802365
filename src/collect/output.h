/*
 * output.h - the second thread: takes what the first has matched, in batches, and makes files of
 * it.
 *
 * The queue between the two is bounded. The first thread never waits for it: when it is full, it
 * stops emptying rings until there is room, and the program waits for its rings. The second may
 * wait for disk and /proc as long as it likes.
 */
#ifndef HL_COLLECT_OUTPUT_H
#define HL_COLLECT_OUTPUT_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/event.h"
#include "trace/writer.h"
#include "util/vec.h"

#define HL_BATCH_ITEMS 4096u
#define HL_QUEUE_MAX   64u

/* What an item is: enum hl_op for heap events, else one of these in the same byte. */
enum {
	HL_ITEM_NODE = 16,
	HL_ITEM_MODULE,
	HL_ITEM_THREAD,
	HL_ITEM_EXTRA,
	HL_ITEM_LIVE_SET,
	HL_ITEM_COST,
	HL_ITEM_END,
};

/* Pointers in items are malloc'ed and belong to the item. */
union hl_item {
	struct hl_event event; /* .op tells which */
	struct {
		union {
			struct hl_node node;
			struct hl_module *module;
			uint64_t tid;
			struct hl_extra *extra;
			struct hl_live_block *blocks;
			struct hl_end end;
			struct hl_cost *cost;
		};
		size_t n;
		struct hl_counters *counters;
		uint64_t pad[3];
		uint8_t op; /* at the place of event.op */
	} other;
};
_Static_assert(sizeof(union hl_item) == 64, "one line");
_Static_assert(offsetof(union hl_item, other.op) == offsetof(struct hl_event, op), "one tag");

struct hl_output;

struct hl_batch {
	struct hl_batch *next;
	struct hl_output *to;
	uint32_t n;
	_Alignas(64) union hl_item items[HL_BATCH_ITEMS];
};

/* Where the traces go and how they are named. Strings belong to the caller. */
struct hl_output_settings {
	const char *pattern; /* with %p %e %t %n %h %% */
	int dir_fd;          /* relative patterns start here */
	bool overwrite;
};

/* How many events of a region are on disk. The region and its outputs each hold it. */
struct hl_durable {
	_Atomic uint64_t events;
	_Atomic uint32_t holders;
};

struct hl_durable *hl_durable_new(void);
void hl_durable_drop(struct hl_durable *d);

struct hl_queue {
	pthread_mutex_t lock;
	pthread_cond_t filled;
	struct hl_batch *head, **tail, *spare;
	_Atomic uint32_t n;
	bool closing;
	pthread_t thread;
	struct hl_output *outputs; /* the second thread's list */
	const struct hl_output_settings *settings;
	HL_VEC(char *) made; /* names of this run's files */
	/* Called by the second thread. */
	void (*on_closed)(void *arg, uint64_t pid, const char *path, int err);
	/* Each snapshot, in a sentence; NULL: nobody wants to know. */
	void (*on_snapshot)(void *arg, const char *sentence);
	void *arg;
};

int hl_queue_start(struct hl_queue *q);
/* Everything queued is written; the thread has ended. */
void hl_queue_stop(struct hl_queue *q);

/* An empty batch; NULL when memory is short. */
struct hl_batch *hl_queue_get(struct hl_queue *q);
void hl_queue_put(struct hl_queue *q, struct hl_batch *batch);
static inline bool hl_queue_full(const struct hl_queue *q)
{
	return atomic_load_explicit(&q->n, memory_order_relaxed) >= HL_QUEUE_MAX;
}

/*
 * A trace to be. Made by the first thread, opened, written and freed by the second (with the END
 * item). meta's strings are copied; durable gets one more holder.
 */
struct hl_output *hl_output_new(struct hl_queue *q, const struct hl_meta *meta,
	uint64_t start_mono_ns, struct hl_durable *durable, bool sample_rss);

/* The name that a pattern gives; 0, -EINVAL for a bad pattern, -ENAMETOOLONG. */
int hl_output_name(char *buf, size_t n, const char *pattern, const char *program, uint64_t pid,
	uint64_t unix_ns, uint32_t number);

/* Only plain files and links are replaced, the links themselves: never a device, a FIFO or a
 * folder. */
bool hl_output_may_replace(int dir_fd, const char *name);

/*
 * Could a trace of this process be made? 0; -EEXIST when the file is there and may not be replaced;
 * -errno of the folder or the pattern.
 */
int hl_output_check(const struct hl_output_settings *s, const char *program, uint64_t pid);

#endif
