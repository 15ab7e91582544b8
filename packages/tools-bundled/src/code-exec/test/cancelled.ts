/** Why no call is cancelled here: the processes are those of the sandbox, which keeps a spare one. */
export const cancelled = 'test/code-mode.test.ts of bulkhead cancels programs.'
