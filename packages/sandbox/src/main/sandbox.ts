import type { CompartmentRequest, CompartmentSession, Sandbox } from '@bulkhead/contract'
import { BulkheadError } from '@bulkhead/contract'
import { openCompartment } from './open.ts'

export interface SandboxOptions {
  /** The folder that relative paths of tools mean. Absolute. */
  readonly workspace: string
}

/** Places for code of extensions, all of them ended by `close`. */
export function createSandbox({ workspace }: SandboxOptions): Sandbox {
  const sessions = new Set<CompartmentSession>()
  const opening = new Set<Promise<unknown>>()
  const closed = new AbortController()

  const open = async (request: CompartmentRequest): Promise<CompartmentSession> => {
    const signal = request.signal === undefined ? closed.signal : AbortSignal.any([closed.signal, request.signal])
    const session = await openCompartment({ ...request, signal }, workspace)
    sessions.add(session)
    void session.ended.then(() => sessions.delete(session))
    return session
  }

  return {
    async open(request) {
      if (closed.signal.aborted) throw closed.signal.reason
      const attempt = open(request)
      opening.add(attempt)
      try {
        return await attempt
      } finally {
        opening.delete(attempt)
      }
    },
    async close() {
      closed.abort(new BulkheadError('HostClosed', 'The sandbox is closed.'))
      await Promise.allSettled(opening)
      await Promise.all([...sessions].map((session) => session.close()))
    },
  }
}
