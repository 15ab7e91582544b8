import { readFile } from 'node:fs/promises'
import type { CompartmentRequest } from '@bulkhead/contract'
import { compileGrant, DEFAULT_LIMITS } from '@bulkhead/contract'
import { requirementSet } from '@bulkhead/contract/validation'

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
