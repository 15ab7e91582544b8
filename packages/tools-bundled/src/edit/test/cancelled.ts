import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { CancelledCall } from '../../../test/cancelled-call.ts'

export const cancelled: CancelledCall = {
  args: () => ({ path: 'f.txt', old_string: 'before', new_string: 'after' }),
  holds: ({ workspace }) => ['before', 'after'].includes(readFileSync(join(workspace, 'f.txt'), 'utf8')),
}
