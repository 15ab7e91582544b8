import type { Ceiling } from '@bulkhead/contract'
import type { CallCheck } from './guards.ts'

/** The workspace, and commands behind a wall. No network, no variables and no secrets. */
export const LEARNING_CEILING: Ceiling = {
  fs: { read: ['{workspace}/**'], write: ['{workspace}/**'] }, shell: [{ cmd: '*', args: [{ rest: true }] }], state: true,
}

/** A command that would run without a wall has a key with this mark. */
export const refuseOpen: CallCheck = ({ approvalKey }) => approvalKey.startsWith('[open]')
  ? { action: 'deny', reason: 'while a policy is learned, no command runs without a wall' } : undefined
