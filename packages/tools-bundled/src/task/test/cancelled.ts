import type { CancelledCall } from '../../../test/cancelled-call.ts'

export const cancelled: CancelledCall = {
  args: () => ({ subagent_type: 'explore', prompt: 'look' }),
  reached: ({ begun }) => begun.tasks === 1,
}
