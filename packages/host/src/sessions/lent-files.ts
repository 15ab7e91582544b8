import type { CompartmentServices, ExtensionDescriptor } from '@bulkhead/contract'
import type { RunningCall } from '../calls/running-call.ts'
import type { Sidecar } from '../model/sidecar.ts'
import type { RunningCalls } from '../extensions/running-calls.ts'

/** The tools of ours by which a model opens the file that a long result of it went to. */
const READERS: ReadonlySet<string> = new Set(['read', 'grep'])
const NONE: ReadonlySet<string> = new Set()

export interface LendingSources {
  readonly descriptor: Pick<ExtensionDescriptor, 'id' | 'layer'>
  readonly running: Pick<RunningCalls<RunningCall>, 'get'>
  readonly sidecar: Sidecar | undefined
}

/**
 * A result too long for a model is told to it by the path of a file, which lies outside the workspace: exactly these files, of the
 * session that the call is made in, may be read by it. No stranger's tool is lent any, neither under their names nor through
 * them.
 */
export function lendFiles({ descriptor: { id, layer }, running, sidecar }: LendingSources): Pick<CompartmentServices, 'lentFiles'> {
  if (sidecar?.files === undefined || layer !== 'bundled' || !READERS.has(id)) return {}
  return {
    lentFiles: (callId) => {
      const call = running.get(callId)?.call
      return call === undefined || call.parent !== undefined ? NONE : sidecar.files?.(call.session.id) ?? NONE
    },
  }
}
