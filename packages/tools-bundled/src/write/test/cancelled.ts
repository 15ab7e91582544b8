import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { CancelledCall } from '../../../test/cancelled-call.ts'

export const cancelled: CancelledCall = {
  args: () => ({ path: 'f.txt', content: 'x'.repeat(200_000) }),
  holds: ({ workspace }) => ['before', 'x'.repeat(200_000)].includes(readFileSync(join(workspace, 'f.txt'), 'utf8')),
}
