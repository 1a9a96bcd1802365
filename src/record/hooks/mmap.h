/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mmap.h - hooks of mmap, munmap and mremap.
 */
#ifndef HL_RECORD_HOOKS_MMAP_H
#define HL_RECORD_HOOKS_MMAP_H

/* Finds the next functions, before main. */
void hl_mmap_resolve(void);

#endif
