/* SPDX-License-Identifier: Apache-2.0 */
/* record_overview.h - the short overview at the end of `record`. */
#ifndef HL_CLI_RECORD_RECORD_OVERVIEW_H
#define HL_CLI_RECORD_RECORD_OVERVIEW_H

#include "model/overview/overview.h"

/* Computes the overview in little time; what takes longer is left out. *o is valid in any case, and
 * the caller frees it with hl_overview_fini. */
void hl_record_overview_make(struct hl_overview *o, struct hl_model *m);
/* Prints the most important numbers, without and then with the sites behind them, to stderr. */
void hl_record_overview_print_numbers(struct hl_model *m, const struct hl_overview *o);
/* trace: for the commands that are printed. */
void hl_record_overview_print_sites(
	struct hl_model *m, const struct hl_overview *o, const char *trace);

#endif
