import { LOCKED_TOOLS, type LoadReport } from '@bulkhead/contract'
import type { Registry } from '../extensions/registry/registry.ts'
import type { KnownNames, Naming } from '../model/unknown-names.ts'
import type { SessionOptions } from './session.ts'

/** What the options of a session name. */
export const sessionNaming = (id: string, { rules, roles, tools: offered }: SessionOptions): Naming =>
  ({ layer: 'embedder', location: `session ${id}`, config: { rules: rules && [...rules], roles }, offered })

/** `absent`: extensions that were not loaded, with their tools. */
export function knownNames(
  registry: Registry, absent: LoadReport['absent'] = new Map(), roles: ReadonlySet<string>,
): KnownNames {
  const { candidates, unprepared, settings: { file: { mcp = {}, openapi = {} } } } = registry
  const descriptors = [...candidates, ...unprepared].map(({ descriptor }) => descriptor)
  const servers =
    [...Object.keys(mcp).map((name) => `mcp:${name}`), ...Object.keys(openapi).map((name) => `openapi:${name}`)]
  return {
    offered: new Set(registry.offered().enabled().map(({ tool }) => tool.name)),
    tools: new Set([
      ...LOCKED_TOOLS, ...descriptors.flatMap(({ manifest }) => manifest.tools.map(({ name }) => name)),
      ...[...absent.values()].flat(),
    ]),
    extensions: new Set([...descriptors.map(({ id }) => id), ...absent.keys()]),
    servers: new Set([
      ...servers, ...descriptors.flatMap(({ server }) => server ? [`${server.kind}:${server.name}`] : []),
    ]),
    roles,
    sources: new Set(descriptors.flatMap(({ server }) =>
      server ? [...server.tools.values()].map((tool) => `${server.kind}:${server.name}:${tool}`) : [])),
  }
}
