import { createHash } from 'node:crypto'
import {
  ERRORS, layerRank, type ConfigFile, type ConnectedExtension, type Diagnostic, type ErrorCode, type Layer,
  type LayerConfig, type ResolvedConfig,
} from '@bulkhead/contract'
import { isThisMachine } from '@bulkhead/kit/hosts'

/** A server or document of the configuration that offers tools. */
export interface Entry<Config> {
  readonly name: string
  readonly config: Config
  /** The layer that defines it. Entries passed by an embedder count as global. */
  readonly layer: Exclude<Layer, 'bundled'>
  /** The file that defines it. */
  readonly location: string
  /** JSON Pointer into that file. */
  readonly path: string
  readonly extensionId: string
  /** Lower-case hex sha512 of the settings that identify it. */
  readonly identity: string
}

export interface Entries<Named> {
  readonly entries: readonly Named[]
  readonly diagnostics: readonly Diagnostic[]
}

interface Switched {
  readonly enabled?: boolean | undefined
  readonly timeoutMs?: number | undefined
}

/** A key of the configuration and how to read its members. */
export interface EntryKind<Config, Named extends Entry<Config>> {
  readonly key: 'mcp' | 'openapi' | 'lsp'
  /** The word for one entry in messages. */
  readonly noun: string
  read(config: ConfigFile): Readonly<Record<string, Config>> | undefined
  make(entry: Omit<Entry<Config>, 'identity'>): Named
  /** Why the entry cannot be used, as the end of a sentence. */
  findFault(config: Config, layer: Entry<Config>['layer']): string | undefined
}

/**
 * The usable entries of all layers. The first layer that defines a name owns it: a project can disable an entry of the
 * user or shorten its timeout, but cannot replace it. Only options passed to the host can enable a disabled entry.
 */
export function entriesOf<Config extends Switched, Named extends Entry<Config>>(
  { layers }: Pick<ResolvedConfig, 'layers'>, kind: EntryKind<Config, Named>,
): Entries<Named> {
  const entries = new Map<string, Named>()
  const diagnostics: Diagnostic[] = []
  const rename = `Give the ${kind.noun} a different name.`
  for (const source of layers.toSorted((a, b) => orderOf(a) - orderOf(b))) {
    for (const [name, config] of Object.entries(kind.read(source.config) ?? {})) {
      const entry = kind.make(placed(kind.key, name, config, source))
      const refuse = (code: ErrorCode, message: string, cure?: string) =>
        void diagnostics.push(diagnosticOf(entry, code, message, cure))
      const earlier = entries.get(name)
      const similar = entries.values().find((other) => other.name !== name && other.extensionId === entry.extensionId)
      const fault = kind.findFault(config, entry.layer)
      if (fault !== undefined) refuse('ConfigInvalid', `The ${kind.noun} "${name}" ${fault}.`)
      else if (similar !== undefined) {
        const message = `The ${kind.noun}s "${similar.name}" and "${name}" are too similar: the later one is not used.`
        refuse('RegistrationConflict', message, rename)
      } else if (earlier === undefined || source.layer === 'embedder') entries.set(name, entry)
      else if (earlier.identity === entry.identity) {
        entries.set(name, { ...earlier, config: tightened(earlier.config, config) })
      } else {
        const message = `The ${kind.noun} "${name}" is already defined in ${earlier.location}, which takes precedence.`
        refuse('RegistrationConflict', message, rename)
      }
    }
  }
  return { entries: [...entries.values()], diagnostics }
}

/** The policy of a machine has no entries. */
const orderOf = ({ layer }: LayerConfig): number =>
  layer === 'embedder' || layer === 'machine' ? Infinity : layerRank(layer)

function placed<Config>(
  key: string, name: string, config: Config, { layer, location }: LayerConfig,
): Omit<Entry<Config>, 'identity'> {
  return {
    name, config, location, path: `/${key}/${name}`,
    layer: layer === 'project' ? 'project' : 'global',
    extensionId: `${key}-${name.toLowerCase().replaceAll('_', '-')}`.slice(0, 64),
  }
}

function tightened<Config extends Switched>(earlier: Config, { enabled, timeoutMs }: Config): Config {
  const times = [earlier.timeoutMs, timeoutMs].filter((ms) => ms !== undefined)
  return {
    ...earlier,
    ...(enabled === false && { enabled }),
    ...(times.length > 0 && { timeoutMs: Math.min(...times) }),
  }
}

/** A diagnostic about an entry or its tools. */
export const diagnosticOf = (
  { path, layer, location, extensionId }: Omit<Entry<unknown>, 'config' | 'identity' | 'name'>, code: ErrorCode,
  message: string,
  cure: string = ERRORS[code].cure, severity: Diagnostic['severity'] = 'error',
): Diagnostic => ({ severity, stage: 'register', code, layer, extensionId, location, path, message, cure })

/** Lower-case hex. */
export const sha512 = (data: string | Uint8Array): string => createHash('sha512').update(data).digest('hex')

/** Why secrets cannot be sent to an address, as the end of a sentence. */
export function findSecretFault(address: string, sendsSecrets: boolean): string | undefined {
  const url = new URL(address)
  const { protocol, username, password } = url
  if (username !== '' || password !== '') return 'has a user name or password in its URL; use a variable instead'
  const isOpen = protocol === 'http:' && !isThisMachine(url)
  return isOpen && sendsSecrets ? 'would receive secrets over http; use https' : undefined
}

/** A URL for display, without its query, which often contains a key. */
export const shownUrl = (url: string): string => url.replace(/[?#].*$/s, '?…')

/** The extensions of a bridge. */
export interface Offered {
  readonly extensions: readonly ConnectedExtension[]
  readonly diagnostics: readonly Diagnostic[]
}

const LONGEST = 64
const MARK = 8

/** Joins words with `between`, using only characters that every model API accepts. Long names end in a digest. */
export function toolName(words: readonly string[], between = '_'): string {
  const written = words.join(between).replaceAll(/[^A-Za-z0-9_]/g, '_')
  const name = /^[A-Za-z]/.test(written) ? written : `op_${written}`
  return name.length <= LONGEST
    ? name
    : `${name.slice(0, LONGEST - MARK - 1)}_${sha512(words.join('\0')).slice(0, MARK)}`
}

const LABEL_CHARS = 128

/** Untrusted metadata of a server or document, if present. */
export const textOf = (value: unknown): string | undefined =>
  typeof value === 'string' && value.trim() !== '' ? value.toWellFormed() : undefined

export const cut = (text: string, most: number): string =>
  text.length <= most ? text : `${text.slice(0, most - 1).toWellFormed()}…`

export const labelOf = (text: string | undefined): { readonly label?: string } =>
  text === undefined ? {} : { label: cut(text, LABEL_CHARS) }

/** The declared version, if it is valid, with a suffix that changes with the rest of the definition. */
export function versionFrom(declared: string, marks: readonly string[]): string {
  const [found] = /^\d{1,6}\.\d{1,6}\.\d{1,6}(?![\d.])/.exec(declared) ?? []
  const exact = found?.split('.').map(Number).join('.') ?? '0.0.0'
  return `${exact}+${sha512(marks.join('\0')).slice(0, 12)}`
}
