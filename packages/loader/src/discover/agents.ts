import { join, posix } from 'node:path'
import {
  BulkheadError, checkRequirements, type AgentDescriptor, type AgentManifest,
  type Diagnostic,
} from '@bulkhead/contract'
import { agentManifestSchema, firstFault } from '@bulkhead/contract/validation'
import { deepFreeze } from '@bulkhead/kit/json-copy'
import { visibleText } from '@bulkhead/kit/text'
import { parseStrictJson } from '../files/json-file.ts'
import { readRegularFile } from '../files/read-file.ts'
import { listFolder } from '../files/read-package.ts'
import { sha512 } from '../model/digest.ts'
import type { LoaderLimits } from '../model/limits.ts'
import { diagnose, type Fault } from '../model/result.ts'
import { findFolderFault } from './extension-folders.ts'

type AgentLayer = Exclude<AgentDescriptor['layer'], 'embedder'>

/** The agents of one layer. */
export interface LayerAgents {
  readonly agents: readonly AgentDescriptor[]
  /** Why the folder or a file cannot be used. */
  readonly diagnostics: readonly Diagnostic[]
  /** The digest of each file, by its path in the layer; null for one that cannot be read. */
  readonly digests: ReadonlyMap<string, string | null>
}

/** In the folder of a layer: one file per agent. */
export const AGENT_FOLDER = 'agents'
const ENDING = '.json'

/** Reads the files of the folder `agents`. Follows no links. Contract: never throws. */
export function readAgents(
  layer: AgentLayer, root: string | null, { manifestBytes, extensions }: LoaderLimits,
): LayerAgents {
  const folder = root === null ? '' : join(root, AGENT_FOLDER)
  const unusable = root === null ? 'missing' : findFolderFault(folder)
  if (unusable === 'missing') return { agents: [], diagnostics: [], digests: new Map() }
  const listing = unusable === undefined ? listFolder(folder, extensions) : { ok: false as const, message: unusable }
  if (!listing.ok) {
    const message = `The agents folder of the ${layer} layer ${listing.message}.`
    const fault: Fault = { stage: 'locate', code: 'PackageUnsafe', path: '', message, location: folder }
    const diagnostics = [diagnose({ layer, extensionId: null, location: folder }, fault)]
    return { agents: [], diagnostics, digests: new Map([[AGENT_FOLDER, null]]) }
  }
  const digests = new Map<string, string | null>()
  const agents = listing.entries.filter(({ name }) => name.endsWith(ENDING)).map(({ name: file }): AgentDescriptor => {
    const location = join(folder, file)
    const name = file.slice(0, -ENDING.length)
    const read = readRegularFile(location, { maxBytes: manifestBytes })
    digests.set(`${AGENT_FOLDER}/${file}`, read.ok ? sha512(read.bytes) : null)
    const agent = read.ok ? parseAgent(read.bytes, name, layer) : invalid('', `The file of the agent ${read.message}.`)
    if ('manifest' in agent) return { name, layer, location, manifest: agent.manifest }
    const fault = diagnose({ layer, extensionId: null, location }, { ...agent.fault, location })
    return { name, layer, location, manifest: undefined, fault }
  })
  return { agents, diagnostics: agents.flatMap(({ fault }) => fault ?? []), digests }
}

type Parsed = { readonly manifest: AgentManifest } | { readonly fault: Fault }

const invalid = (path: string, message: string, cure?: string): { readonly fault: Fault } =>
  ({ fault: { stage: 'shape', code: 'AgentInvalid', path, message, ...(cure && { cure }) } })

function parseAgent(bytes: Uint8Array, name: string, layer: AgentLayer): Parsed {
  const json = parseStrictJson(bytes)
  if (!json.ok) return invalid(json.path, `The file of the agent ${json.message}.`)
  const checked = agentManifestSchema.safeParse(json.value)
  if (!checked.success) {
    const { path, message } = firstFault(checked.error.issues, agentManifestSchema, 'The agent')
    return invalid(path, message)
  }
  const manifest = checked.data
  if (manifest.name !== name) {
    return invalid('/name', `The name "${manifest.name}" differs from that of the file, "${visibleText(name)}".`)
  }
  return patternFault(manifest) ?? (layer === 'project' ? rootFault(manifest) : undefined) ?? { manifest: deepFreeze(manifest) }
}

function patternFault(manifest: AgentManifest): { readonly fault: Fault } | undefined {
  for (const key of ['ceiling', 'requires'] as const) {
    try {
      checkRequirements(manifest[key] ?? {})
    } catch (error) {
      return invalid(`/${key}`, BulkheadError.from(error).message)
    }
  }
  return undefined
}

/** A first check without the file system. The host follows links when a session is opened. */
function rootFault({ roots }: AgentManifest): { readonly fault: Fault } | undefined {
  const index = roots.findIndex((root) => posix.isAbsolute(root) || /^\.\.(?:\/|$)/.test(posix.normalize(root)))
  return index < 0 ? undefined : invalid(
    `/roots/${index}`, `The root "${visibleText(roots[index]!)}" is outside the project, and an agent of a project may not `
    + 'name such a folder.', 'Define the agent in your own layer, or pass the folder in `roots` of `openSession`.',
  )
}
