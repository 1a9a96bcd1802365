/* SPDX-License-Identifier: Apache-2.0 */
/*
 * preload_order.h - the message for a program whose calls do not reach us.
 */
#ifndef HL_RECORD_INTERPOSE_PRELOAD_ORDER_H
#define HL_RECORD_INTERPOSE_PRELOAD_ORDER_H

/* Ends the recording because another allocator is bound before us, and prints how to change the
 * order. */
void hl_preload_order_refuse(const char *preload);

#endif
