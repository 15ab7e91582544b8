import type { CancelledCall } from '../../../test/cancelled-call.ts'

export const cancelled: CancelledCall = {
  args: ({ server }) => ({ url: `http://${server}/page` }),
  reached: ({ begun }) => begun.requests === 1,
}
