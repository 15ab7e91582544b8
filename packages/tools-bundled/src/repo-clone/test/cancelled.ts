import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { CancelledCall } from '../../../test/cancelled-call.ts'

export const cancelled: CancelledCall = {
  args: ({ server }) => ({ url: `http://${server}/x.git`, path: 'cloned' }),
  reached: ({ begun }) => begun.requests === 1,
  holds: ({ workspace }) => !existsSync(join(workspace, 'cloned')),
}
