/* SPDX-License-Identifier: Apache-2.0 */
/*
 * code_address.h - a function without a name, given by an address: "0x5923d", or
 * "0x59200 [libtidy.so.5]" in one module.
 */
#ifndef HL_MODEL_STACK_CODE_ADDRESS_H
#define HL_MODEL_STACK_CODE_ADDRESS_H

#include "model/model.h"
#include "util/strbuf.h"

struct hl_code_address {
	uint64_t address; /* the start of the function, or any address in it */
	char *module;     /* path or file name; NULL: any module */
};

/* -ENOENT: the text does not begin with an address, or is a pattern. -EINVAL: it begins with one,
 * but does not have this form. -ENOMEM. */
int hl_code_address_parse(struct hl_code_address *a, const char *text);
void hl_code_address_fini(struct hl_code_address *a);
/* Is the frame code without a name, of the function that has this address? If the bounds of its
 * function are not known, only the address of the frame itself is. */
bool hl_code_address_matches(const struct hl_code_address *a, const struct hl_frame *f);

/* Appends the name of the frame's function, for code without a symbol in the form above. */
void hl_put_function(struct hl_strbuf *b, const struct hl_frame *f);

#endif
