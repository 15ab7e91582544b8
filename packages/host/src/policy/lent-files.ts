import type { ExtensionDescriptor } from '@bulkhead/contract'
import type { Sidecar } from '../records/timeouts.ts'
import type { CallScope } from './call.ts'

type Borrower = Pick<ExtensionDescriptor, 'id' | 'layer'>

/** The bundled tools that may read saved results. */
const READERS: ReadonlySet<string> = new Set(['read', 'grep'])
export const NO_FILES: ReadonlySet<string> = new Set()

export const mayBorrow = ({ id, layer }: Borrower): boolean => layer === 'bundled' && READERS.has(id)

/**
 * A long result is given to the model as the path of a file outside the workspace. Bundled reading tools may read
 * exactly these files, of the session of the call. No third-party tool may, neither under their names nor through them.
 */
export function filesLentTo(
  { parent, session }: Pick<CallScope, 'parent' | 'session'>, borrower: Borrower, sidecar: Sidecar | undefined,
): ReadonlySet<string> {
  const isNested = parent !== undefined && !parent.isProgram
  return isNested || !mayBorrow(borrower) ? NO_FILES : sidecar?.files?.(session.id) ?? NO_FILES
}
