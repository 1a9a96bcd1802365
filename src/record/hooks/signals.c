/* SPDX-License-Identifier: Apache-2.0 */
/*
 * signals.c - the signals of --toggle-signal and --snapshot-signal: our handler is installed where
 * the program has none.
 *
 * The program never sees our handler. A query for such a signal returns the default action, and an
 * action that the program sets takes effect. A signal that the program ignores or handles belongs
 * to the program, from the start or from the moment it sets the action. Without those options every
 * call is passed straight to the real function.
 */
#include <signal.h>
#include <string.h>

#include "record/hooks/api.h"
#include "record/arch/syscall.h"
#include "record/interpose/next.h"
#include "record/session/recorder.h"
#include "record/emit/emit.h"
#include "record/session/lifecycle.h"
#include "record/hooks/signals.h"
#include "record/emit/sampling.h"
#include "record/tags/tags.h"
#include "ring/ring_record.h"

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

/* Signals that have our handler, and signals that were announced as the program's own. */
static uint64_t ours, announced;

static uint64_t signal_bit(int sig)
{
	return sig >= 1 && sig <= 64 ? UINT64_C(1) << (sig - 1) : 0;
}

void hl_signals_resolve(void)
{
	real.sigaction = hl_next_find("sigaction");
	real.signal = hl_next_find("signal");
	real.sysv_signal = hl_next_find("__sysv_signal");
	real.sigset = hl_next_find("sigset");
	real.sigignore = hl_next_find("sigignore");
}

/* As cheap as a mark that the program makes, and as safe in a handler. */
static void on_signal(int sig)
{
	const struct hl_region *r = hl_rec.region;

	if (!r || atomic_load(&hl_rec.phase) == HL_PHASE_OFF)
		return;
	if ((uint32_t)sig == r->snapshot_signal && hl_control_mode(hl_control()) == HL_MODE_TAGS)
		hl_tags_snapshot_from_signal();
	else if ((uint32_t)sig == r->snapshot_signal)
		hl_emit_mark(HL_MARK_SIGNAL, NULL);
	else if (atomic_load(&hl_rec.phase) == HL_PHASE_STOPPED)
		heaplapse_impl_start();
	else
		hl_emit_mark(HL_MARK_TOGGLE, NULL);
}

static void announce_taken(int sig)
{
	const char *option = hl_rec.region->toggle_signals & signal_bit(sig) ? "--toggle-signal"
									     : "--snapshot-signal";

	if (__atomic_fetch_or(&announced, signal_bit(sig), __ATOMIC_RELAXED) & signal_bit(sig))
		return;
	hl_print_message3("the signal of ", option,
		" is handled by the program and does not control recording; use heaplapse ctl");
}

static void install_handler(int sig)
{
	struct sigaction now, mine = {.sa_handler = on_signal, .sa_flags = SA_RESTART};

	if (!signal_bit(sig) || !real.sigaction || real.sigaction(sig, NULL, &now) < 0)
		return;
	if (now.sa_handler != SIG_DFL) { /* inherited as ignored, or set by a library */
		announce_taken(sig);
		return;
	}
	if (real.sigaction(sig, &mine, NULL) == 0)
		__atomic_fetch_or(&ours, signal_bit(sig), __ATOMIC_RELAXED);
}

void hl_signals_begin(void)
{
	const struct hl_region *r = hl_rec.region;

	if (!real.sigaction)
		hl_signals_resolve();
	for (int sig = 1; sig <= 64; sig++)
		if (r->toggle_signals & signal_bit(sig))
			install_handler(sig);
	install_handler((int)r->snapshot_signal);
}

hl_inline bool has_our_handler(int sig)
{
	return hl_unlikely(__atomic_load_n(&ours, __ATOMIC_RELAXED) & signal_bit(sig));
}

/* The program has set an action of its own. */
hl_cold static void release_signal(int sig)
{
	__atomic_fetch_and(&ours, ~signal_bit(sig), __ATOMIC_RELAXED);
	announce_taken(sig);
}

/* The previous action as the program may see it. */
static handler *hide_handler(int sig, handler *old, bool changed)
{
	if (!has_our_handler(sig) || old == SIG_ERR)
		return old;
	if (changed)
		release_signal(sig);
	return old == on_signal ? SIG_DFL : old;
}

int sigaction(int sig, const struct sigaction *act, struct sigaction *old)
{
	int err;

	if (!real.sigaction)
		hl_signals_resolve();
	err = real.sigaction(sig, act, old);
	if (err < 0 || !has_our_handler(sig))
		return err;
	if (old && old->sa_handler == on_signal)
		memset(old, 0, sizeof(*old)); /* the default action, as the kernel returns it */
	if (act)
		release_signal(sig);
	return err;
}

handler *signal(int sig, handler *h)
{
	if (!real.signal)
		hl_signals_resolve();
	return hide_handler(sig, real.signal(sig, h), true);
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
	return hide_handler(sig, real.sysv_signal(sig, h), true);
}

handler *sysv_signal(int sig, handler *h)
{
	return __sysv_signal(sig, h);
}

handler *sigset(int sig, handler *h)
{
	if (!real.sigset)
		hl_signals_resolve();
	return hide_handler(sig, real.sigset(sig, h), h != SIG_HOLD);
}

int sigignore(int sig)
{
	int err;

	if (!real.sigignore)
		hl_signals_resolve();
	err = real.sigignore(sig);
	if (err == 0 && has_our_handler(sig))
		release_signal(sig);
	return err;
}
