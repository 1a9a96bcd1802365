/* SPDX-License-Identifier: Apache-2.0 */
/* pace.c - see pace.h. */
#include "collect/pace.h"

#include "base/bits.h"
#include "collect/drain/region.h"

#define MIN_NS     20000u
#define BUSY_NS    5000000u             /* maximum while there are events */
#define IDLE_NS    UINT64_C(1000000000) /* without events for so long: there are none */
#define ANSWER_NS  200000u              /* maximum while someone waits for an answer */
#define QUEUE_NS   200000u              /* minimum while the queue is full */
#define CHECK_NS   UINT64_C(5000000)
#define WATCHED_NS UINT64_C(20000000)

static uint32_t longest_interval(const struct hl_pace_input *in)
{
	bool is_quiet = !in->has_regions || in->only_samples || in->since_data_ns > IDLE_NS;

	return is_quiet ? HL_PACE_SLEEP_MAX_NS : BUSY_NS;
}

/* Aims at rings that are a quarter full. */
static uint32_t adapt_interval(const struct hl_pace_input *in)
{
	uint32_t last = in->leaving ? 0 : in->interval_ns;

	if (in->fullest > HL_FILL_ALL / 2)
		return 0;
	if (in->fullest > HL_FILL_ALL / 4)
		return last / 2;
	if (in->fullest >= HL_FILL_ALL / 8)
		return last;
	return last < MIN_NS ? MIN_NS : last * 2;
}

static uint32_t next_interval(const struct hl_pace_input *in)
{
	uint32_t most = longest_interval(in);
	/* Without targets there are no rings to scan: new programs connect. */
	uint32_t ns = in->has_targets ? hl_min_u32(adapt_interval(in), most) : most;

	if (in->requested)
		ns = hl_min_u32(ns, ANSWER_NS);
	return in->queue_full ? hl_max_u32(ns, QUEUE_NS) : ns;
}

struct hl_pace hl_pace_next(const struct hl_pace_input *in)
{
	uint32_t interval = next_interval(in), sleep = in->crowded || in->copying ? 0 : interval;

	/* Not 0: a snapshot that cannot be taken must not make the loop spin. */
	if (sleep > in->due_ns)
		sleep = hl_max_u32((uint32_t)in->due_ns, MIN_NS);
	return (struct hl_pace){.interval_ns = interval,
		.sleep_ns = sleep,
		.check_ns = in->watched && sleep ? WATCHED_NS : CHECK_NS,
		.check = in->leaving || in->requested};
}
