import type { CancelledCall } from '../../../test/cancelled-call.ts'

export const cancelled: CancelledCall = {
  args: ({ server }) => ({ url: `http://${server}/api`, method: 'POST' }),
  reached: ({ begun }) => begun.requests === 1,
}
