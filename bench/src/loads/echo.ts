import { readFile } from 'node:fs/promises'
import { compileGrant, DEFAULT_LIMITS, type CompartmentRequest } from '@bulkhead/contract'
import { requirementSet } from '@bulkhead/contract/validation'

/** The arguments that every side sends and returns. */
export type EchoArguments = { readonly text: string }

/** The bytes of `text`. */
export const PAYLOAD_BYTES = 100

/** The size of a typical large result, such as a file or a page. */
export const LARGE_PAYLOAD_BYTES = 100_000

/** The arguments of the call with this number. */
export type Payload = (i: number) => EchoArguments

/** Created by the first call, which is not measured. Calls differ, so that mixed up answers are detected. */
function payloadsOf(bytes: number, variety: number): Payload {
  let payloads: readonly EchoArguments[] | undefined
  return (i) => {
    payloads ??= Array.from({ length: variety }, (_, at) => ({ text: `${at}:`.padEnd(bytes, 'x') }))
    const found = payloads[i % variety]
    if (found === undefined) throw new RangeError(`Call ${i} has no payload.`)
    return found
  }
}

export const payload = payloadsOf(PAYLOAD_BYTES, 1024)
/** Fewer, to save memory, but more than are ever in flight. */
export const largePayload = payloadsOf(LARGE_PAYLOAD_BYTES, 128)

const main = new URL('../../extensions/echo/index.js', import.meta.url)

/** The request to open the echo extension with the default limits. */
export async function echoRequest(placement: 'thread' | 'process'): Promise<CompartmentRequest> {
  return {
    extension: { id: 'echo', version: '1.0.0', layer: 'project' },
    placement,
    code: { kind: 'files', main: './index.js', files: new Map([['index.js', await readFile(main)]]) },
    tools: [{
      name: 'echo', requires: {}, inputSchema: { type: 'object' }, grant: compileGrant(requirementSet.parse({}), {}),
    }],
    config: {},
    limits: DEFAULT_LIMITS,
    services: { log: () => undefined, env: new Map(), envDeclared: new Set() },
  }
}
