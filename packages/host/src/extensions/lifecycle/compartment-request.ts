import type { CompartmentRequest } from '@bulkhead/contract'
import type { ExtensionParts } from './extension-parts.ts'

/** The request to the sandbox for an extension. `files`: its verified bytes, unless it is a bundled module. */
export function compartmentRequest(
  { descriptor, arrangement, tools, services }: ExtensionParts, files: ReadonlyMap<string, Uint8Array> | undefined, signal: AbortSignal,
): CompartmentRequest {
  const { code, id, version, layer, manifest } = descriptor
  return {
    extension: { id, version, layer },
    placement: arrangement.placement,
    code: code.kind === 'files' ? { kind: 'files', main: manifest.main.slice('./'.length), files: files! } : code,
    tools,
    config: arrangement.config,
    concurrency: arrangement.compartments,
    limits: arrangement.limits,
    services: services(),
    signal,
  }
}
