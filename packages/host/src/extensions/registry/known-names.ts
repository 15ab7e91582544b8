import { LOCKED_TOOLS, type LoadReport } from '@bulkhead/contract'
import type { KnownNames } from '../../model/unknown-names.ts'
import type { Registry } from './registry.ts'

export function knownNames(registry: Registry, absent: LoadReport['absent'] = new Map()): KnownNames {
  const { candidates, unprepared, settings: { file: { mcp = {}, openapi = {} } } } = registry
  const descriptors = [...candidates, ...unprepared].map(({ descriptor }) => descriptor)
  const servers = [...Object.keys(mcp).map((name) => `mcp:${name}`), ...Object.keys(openapi).map((name) => `openapi:${name}`)]
  return {
    isOffered: (tool) => registry.view.listing(tool) !== undefined,
    tools: new Set([
      ...LOCKED_TOOLS, ...descriptors.flatMap(({ manifest }) => manifest.tools.map(({ name }) => name)), ...[...absent.values()].flat(),
    ]),
    extensions: new Set([...descriptors.map(({ id }) => id), ...absent.keys()]),
    servers: new Set([...servers, ...descriptors.flatMap(({ server }) => server ? [`${server.kind}:${server.name}`] : [])]),
    sources: new Set(descriptors.flatMap(({ server }) =>
      server ? [...server.tools.values()].map((tool) => `${server.kind}:${server.name}:${tool}`) : [])),
  }
}
