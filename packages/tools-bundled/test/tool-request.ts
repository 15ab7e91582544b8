import {
  compileGrant, DEFAULT_LIMITS, type BundledTool, type CompartmentRequest, type CompartmentServices,
  type VariableValues,
} from '@bulkhead/contract'
import { manifestSchema } from '@bulkhead/contract/validation'
import type { JsonObject } from '@bulkhead/kit/json'
import { createBundledExtensions, type BundledOptions } from '../src/index.ts'

/** The request with which the host opens a bundled tool: inline, with the capabilities of its manifest. */
export function toolRequest(
  tool: BundledTool, variables: VariableValues, services: Partial<CompartmentServices> = {},
  options: BundledOptions = {},
): CompartmentRequest {
  const { manifest, module } = createBundledExtensions(options).find((extension) => tool in extension.module.tools)!
  const { id, version, tools } = manifestSchema.parse(manifest)
  return {
    extension: { id, version, layer: 'bundled' },
    placement: 'inline',
    code: { kind: 'module', module },
    tools: tools.map(({ name, requires, inputSchema }) => ({
      name, inputSchema, requires: requires as JsonObject, grant: compileGrant(requires, variables),
    })),
    config: {},
    limits: DEFAULT_LIMITS,
    services: { log: () => {}, env: new Map(), envDeclared: new Set(), ...services },
  }
}
