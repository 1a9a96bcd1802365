/*
 * signals.c - each --toggle-signal, and --snapshot-signal: a handler of ours where the program has
 * none.
 *
 * The program never sees it: what it asks about such a signal, it is told of the default action,
 * and what it sets is set. A signal that it ignores or handles is its own, from the start or from
 * the moment it says so. Without those options every call goes straight on.
 */
#include <signal.h>
#include <string.h>

#include "record/api.h"
#include "record/arch/syscall.h"
#include "record/real.h"
#include "record/recorder.h"
#include "record/signals.h"
#include "record/steer.h"
#include "record/tags.h"
#include "ring/record.h"

typedef void handler(int);

hl_export int sigaction(int sig, const struct sigaction *act, struct sigaction *old);
hl_export handler *signal(int sig, handler *h);
hl_export handler *bsd_signal(int sig, handler *h);
hl_export handler *ssignal(int sig, handler *h);
hl_export handler *sysv_signal(int sig, handler *h);
hl_export handler *__sysv_signal(int sig, handler *h);
hl_export handler *sigset(int sig, handler *h);
hl_export int sigignore(int sig);

static struct {
	int (*sigaction)(int, const struct sigaction *, struct sigaction *);
	handler *(*signal)(int, handler *);
	handler *(*sysv_signal)(int, handler *);
	handler *(*sigset)(int, handler *);
	int (*sigignore)(int);
} real;

/* Bits of the signals that have our handler, or that we have said are the program's. */
static uint64_t ours, told;

static uint64_t bit(int sig)
{
	return sig >= 1 && sig <= 64 ? UINT64_C(1) << (sig - 1) : 0;
}

void hl_signals_resolve(void)
{
	real.sigaction = hl_real_find("sigaction");
	real.signal = hl_real_find("signal");
	real.sysv_signal = hl_real_find("__sysv_signal");
	real.sigset = hl_real_find("sigset");
	real.sigignore = hl_real_find("sigignore");
}

/* As cheap as a mark of the program's own, and as safe in a handler. */
static void on_signal(int sig)
{
	const struct hl_region *r = hl_rec.region;

	if (!r || atomic_load(&hl_rec.phase) == HL_PHASE_OFF)
		return;
	if ((uint32_t)sig == r->snapshot_signal && hl_steer_mode(hl_steer()) == HL_MODE_TAGS)
		hl_tags_signalled();
	else if ((uint32_t)sig == r->snapshot_signal)
		hl_emit_mark(HL_MARK_SIGNAL, NULL);
	else if (atomic_load(&hl_rec.phase) == HL_PHASE_STOPPED)
		heaplapse_impl_start();
	else
		hl_emit_mark(HL_MARK_TOGGLE, NULL);
}

static void say_taken(int sig)
{
	const char *option =
		hl_rec.region->toggle_signals & bit(sig) ? "--toggle-signal" : "--snapshot-signal";

	if (__atomic_fetch_or(&told, bit(sig), __ATOMIC_RELAXED) & bit(sig))
		return;
	hl_life_message3("the signal of ", option,
		" is the program's own: it does nothing to the recording; use heaplapse ctl");
}

static void install(int sig)
{
	struct sigaction now, mine = {.sa_handler = on_signal, .sa_flags = SA_RESTART};

	if (!bit(sig) || !real.sigaction || real.sigaction(sig, NULL, &now) < 0)
		return;
	if (now.sa_handler != SIG_DFL) { /* ignored from before, or a library's */
		say_taken(sig);
		return;
	}
	if (real.sigaction(sig, &mine, NULL) == 0)
		__atomic_fetch_or(&ours, bit(sig), __ATOMIC_RELAXED);
}

void hl_signals_begin(void)
{
	const struct hl_region *r = hl_rec.region;

	if (!real.sigaction)
		hl_signals_resolve();
	for (int sig = 1; sig <= 64; sig++)
		if (r->toggle_signals & bit(sig))
			install(sig);
	install((int)r->snapshot_signal);
}

hl_inline bool is_ours(int sig)
{
	return hl_unlikely(__atomic_load_n(&ours, __ATOMIC_RELAXED) & bit(sig));
}

/* The program has set the signal to something of its own. */
hl_cold static void give_up(int sig)
{
	__atomic_fetch_and(&ours, ~bit(sig), __ATOMIC_RELAXED);
	say_taken(sig);
}

/* What it was before, as the program may know it. */
static handler *seen(int sig, handler *old, bool changed)
{
	if (!is_ours(sig) || old == SIG_ERR)
		return old;
	if (changed)
		give_up(sig);
	return old == on_signal ? SIG_DFL : old;
}

int sigaction(int sig, const struct sigaction *act, struct sigaction *old)
{
	int err;

	if (!real.sigaction)
		hl_signals_resolve();
	err = real.sigaction(sig, act, old);
	if (err < 0 || !is_ours(sig))
		return err;
	if (old && old->sa_handler == on_signal)
		memset(old, 0, sizeof(*old)); /* the default action, as the kernel tells it */
	if (act)
		give_up(sig);
	return err;
}

handler *signal(int sig, handler *h)
{
	if (!real.signal)
		hl_signals_resolve();
	return seen(sig, real.signal(sig, h), true);
}

handler *bsd_signal(int sig, handler *h)
{
	return signal(sig, h);
}

handler *ssignal(int sig, handler *h)
{
	return signal(sig, h);
}

handler *__sysv_signal(int sig, handler *h)
{
	if (!real.sysv_signal)
		hl_signals_resolve();
	return seen(sig, real.sysv_signal(sig, h), true);
}

handler *sysv_signal(int sig, handler *h)
{
	return __sysv_signal(sig, h);
}

handler *sigset(int sig, handler *h)
{
	if (!real.sigset)
		hl_signals_resolve();
	return seen(sig, real.sigset(sig, h), h != SIG_HOLD);
}

int sigignore(int sig)
{
	int err;

	if (!real.sigignore)
		hl_signals_resolve();
	err = real.sigignore(sig);
	if (err == 0 && is_ours(sig))
		give_up(sig);
	return err;
}
