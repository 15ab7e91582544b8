import type { Stats } from 'node:fs'

/** Why a file of the operator's own is not believed, in words that go on after its name: who can write it can speak for them. */
export function findForeignHand({ mode, uid }: Stats): string | undefined {
  const self = process.geteuid?.()
  if (self === undefined) return undefined
  if (uid !== self) return 'belongs to somebody else'
  return (mode & 0o022) === 0 ? undefined : 'can be written by others; take that right away with chmod go-w'
}
