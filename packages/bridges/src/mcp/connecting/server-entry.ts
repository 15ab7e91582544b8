import { createHash } from 'node:crypto'
import {
  canonicalJson, ERRORS, isThisMachine, layerRank, type Diagnostic, type ErrorCode, type Json, type Layer, type LayerConfig,
  type McpServerConfig, type ResolvedConfig,
} from '@bulkhead/contract'

/** A server of the configuration that may be used. */
export interface ServerEntry {
  readonly name: string
  readonly config: McpServerConfig
  /** Of the configuration that names it. What an embedder passes counts as the user's. */
  readonly layer: Exclude<Layer, 'bundled'>
  /** The file that names it. */
  readonly location: string
  readonly extensionId: string
  /** Lower-case hex sha512 over what is started or reached, and with which variables and secrets. Values are no part of it. */
  readonly identity: string
  /** The command line or the URL, for people. */
  readonly address: string
}

export interface ServerEntries {
  readonly entries: readonly ServerEntry[]
  readonly diagnostics: readonly Diagnostic[]
}

/**
 * Who may be used, of all that the layers name. A name is that of the layer which has it first: a project can switch off what the
 * user has, or give it less time, and cannot put another server in its place. Off stays off, but for whoever passes options.
 */
export function serverEntries({ layers }: Pick<ResolvedConfig, 'layers'>): ServerEntries {
  const entries = new Map<string, ServerEntry>()
  const diagnostics: Diagnostic[] = []
  for (const source of layers.toSorted((a, b) => orderOf(a) - orderOf(b))) {
    for (const [name, config] of Object.entries(source.config.mcp ?? {})) {
      const entry = entryOf(name, config, source)
      const refuse = (code: ErrorCode, message: string, cure?: string) =>
        void diagnostics.push(diagnosticOf(entry, code, message, cure))
      const earlier = entries.get(name)
      const twin = entries.values().find((other) => other.name !== name && other.extensionId === entry.extensionId)
      const secretFault = findSecretFault(config)
      if (secretFault !== undefined) refuse('ConfigInvalid', `The server "${name}" ${secretFault}.`)
      else if (twin !== undefined) {
        const message = `The servers "${twin.name}" and "${name}" can hardly be told apart: the later one is not used.`
        refuse('RegistrationConflict', message, RENAME)
      } else if (earlier === undefined || source.layer === 'embedder') entries.set(name, entry)
      else if (earlier.identity === entry.identity) entries.set(name, tightened(earlier, config))
      else refuse('RegistrationConflict', `The server "${name}" of ${earlier.location} is another one, and is the one that is used.`, RENAME)
    }
  }
  return { entries: [...entries.values()], diagnostics }
}

const RENAME = 'Give the server a name of its own.'
const orderOf = ({ layer }: LayerConfig): number => layer === 'embedder' ? Infinity : layerRank(layer)

function entryOf(name: string, config: McpServerConfig, { layer, location }: LayerConfig): ServerEntry {
  return {
    name, config, location,
    layer: layer === 'project' ? 'project' : 'global',
    extensionId: `mcp-${name.toLowerCase().replaceAll('_', '-')}`.slice(0, 64),
    identity: sha512(canonicalJson(identityOf(config))),
    address: config.type === 'local' ? config.command.join(' ') : shownUrl(config.url),
  }
}

/** What stands behind a question mark is often a key. */
const shownUrl = (url: string): string => url.replace(/[?#].*$/s, '?…')

function identityOf(config: McpServerConfig): Json {
  if (config.type === 'local') return { type: 'local', command: config.command, env: (config.env ?? []).toSorted() }
  return { type: 'remote', url: config.url, headers: config.headers ?? {} } as unknown as Json
}

function tightened(earlier: ServerEntry, { enabled, timeoutMs }: McpServerConfig): ServerEntry {
  const times = [earlier.config.timeoutMs, timeoutMs].filter((ms) => ms !== undefined)
  return {
    ...earlier,
    config: {
      ...earlier.config,
      ...(enabled === false && { enabled }),
      ...(times.length > 0 && { timeoutMs: Math.min(...times) }),
    },
  }
}

/** A secret in a header is for the server alone: on an open line others would read it. */
function findSecretFault(config: McpServerConfig): string | undefined {
  if (config.type === 'local') return undefined
  const url = new URL(config.url)
  const { protocol, username, password } = url
  if (username !== '' || password !== '') return 'has a name or a password in its URL; name a variable in "headers" instead'
  const isOpen = protocol === 'http:' && !isThisMachine(url)
  return isOpen && Object.keys(config.headers ?? {}).length > 0 ? 'would be sent secrets over http; use https' : undefined
}

export const sha512 = (text: string): string => createHash('sha512').update(text).digest('hex')

/** Something that is wrong with a server or with what it offers. */
export const diagnosticOf = (
  { name, layer, location, extensionId }: ServerEntry, code: ErrorCode, message: string, cure: string = ERRORS[code].cure,
): Diagnostic => ({ severity: 'error', stage: 'register', code, layer, extensionId, location, path: `/mcp/${name}`, message, cure })
