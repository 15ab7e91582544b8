import type { CancelledCall } from '../../../test/cancelled-call.ts'

export const cancelled: CancelledCall = {
  args: () => ({ command: 'sleep 1000' }),
  reached: ({ children }) => children().length > 0,
}
