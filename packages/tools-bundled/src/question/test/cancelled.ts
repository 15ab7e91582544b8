import type { CancelledCall } from '../../../test/cancelled-call.ts'

export const cancelled: CancelledCall = {
  args: () => ({ questions: [{ question: 'Which?' }] }),
  reached: ({ begun }) => begun.questions === 1,
}
