import type { CancelledCall } from '../../../test/cancelled-call.ts'

export const cancelled: CancelledCall = {
  args: () => ({ patch: '*** Begin Patch\n*** Add File: patched.txt\n+x\n*** End Patch' }),
}
