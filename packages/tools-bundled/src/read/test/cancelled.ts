import type { CancelledCall } from '../../../test/cancelled-call.ts'

export const cancelled: CancelledCall = {
  args: () => ({ path: 'sparse', offset: 2 }),
}
