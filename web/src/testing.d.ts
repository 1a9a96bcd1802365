// SPDX-License-Identifier: Apache-2.0
// testing.d.ts - the parts of Node that unit tests use; the page has no types of Node.
declare module 'node:test' {
  export function test(name: string, run: () => void | Promise<void>): void;
}
declare module 'node:assert/strict' {
  export function equal(actual: unknown, expected: unknown, message?: string): void;
  export function deepEqual(actual: unknown, expected: unknown, message?: string): void;
}
