import { canonicalJson, isJsonObject, parseJson, type Json, type JsonObject } from '@bulkhead/kit/json'
import { BulkheadError } from '../model/errors.ts'
import { CALL_LIMITS } from '../model/limits.ts'

export interface ApprovalKeyTemplate {
  (args: JsonObject): string
  /** The arguments that the key is made of, such as `city` or `target.host`. */
  readonly madeOf: readonly string[]
}

/**
 * Compiles a template such as `{action}:{path}` once, at load. Two different sets of named arguments never give the
 * same key:
 * - In values, `%`, control characters and the separators of the template are written as `%xx`, byte by byte in UTF-8.
 * - An absent argument is `%-`.
 * - A value that is not a string is written as JSON, and a string that looks like such JSON gets the prefix `%'`.
 *   Throws ApprovalKeyInvalid for an invalid or ambiguous template.
 */
export function compileApprovalKey(template: string): ApprovalKeyTemplate {
  const parts = template.split(/\{([^{}]*)\}/)
  const literals = parts.filter((_, index) => index % 2 === 0)
  const names = parts.filter((_, index) => index % 2 === 1)
  const between = literals.slice(1, -1)
  if (!template.isWellFormed()) throw unreadable(template, 'contains half of a surrogate pair')
  if (names.length === 0) throw unreadable(template, 'names no argument')
  if (literals.some((text) => /[{}]/.test(text))) throw unreadable(template, 'has a brace without its pair')
  if (!names.every((name) => PLACEHOLDER.test(name))) {
    throw unreadable(template, 'has a placeholder that is not a path such as {city} or {target.host}')
  }
  if (between.includes('')) throw unreadable(template, 'has two placeholders with nothing between them')
  if (between.some((text) => text.includes('%'))) {
    throw unreadable(template, 'has a % between two placeholders, where % marks an escaped character')
  }
  const separators = new Set(between.join(''))
  const paths = names.map((name) => name.split('.'))
  const madeOf = `, made of ${names.map((name) => JSON.stringify(name)).join(' and ')},`
  const keyFor = (args: JsonObject): string => checkApprovalKey(literals.reduce((key, literal, index) =>
    key + valueText(valueAt(args, paths[index - 1]!), separators) + literal), madeOf)
  return Object.assign(keyFor, { madeOf: names })
}

/** Of the arguments with these names, those that a key is not made of, and those of which it is made of a part. */
export const argumentsLeftOut = (
  names: readonly string[], { madeOf }: Pick<ApprovalKeyTemplate, 'madeOf'> = { madeOf: [] },
): readonly string[] => names.filter((name) => !madeOf.includes(name)).map((name) => {
  const parts = madeOf.filter((path) => path.startsWith(`${name}.`))
  return parts.length === 0 ? name : `${name} (besides ${parts.join(', ')})`
})

/**
 * Returns the key, or throws ApprovalKeyInvalid: 1 to 1024 bytes, well formed, no control characters. `madeOf` names
 * the arguments to shorten.
 */
export function checkApprovalKey(key: unknown, madeOf = ''): string {
  if (typeof key !== 'string' || key === '') throw invalid('The approval key is empty or not a string.')
  if (!key.isWellFormed() || CONTROL.test(key)) throw invalid('The approval key has control characters.')
  const bytes = encoder.encode(key).length
  if (bytes > CALL_LIMITS.approvalKeyBytes) {
    throw invalid(`The approval key${madeOf} has ${bytes} bytes; ${CALL_LIMITS.approvalKeyBytes} are allowed.`)
  }
  return key
}

const PLACEHOLDER = /^[A-Za-z_][\w-]*(?:\.[A-Za-z_][\w-]*)*$/
const CONTROL = /[\p{Cc}\u2028\u2029]/u
const MAY_BE_JSON = /^(?:[-\d[{]|(?:true|false|null)$)/
const encoder = new TextEncoder()

function valueAt(args: JsonObject, path: readonly string[]): Json | undefined {
  let value: Json | undefined = args
  for (const step of path) value = isJsonObject(value) && Object.hasOwn(value, step) ? value[step] : undefined
  return value
}

function valueText(value: Json | undefined, separators: ReadonlySet<string>): string {
  if (value === undefined) return '%-'
  if (typeof value !== 'string') return escape(canonicalJson(value), separators)
  return (readsAsJson(value) ? "%'" : '') + escape(value, separators)
}

/** Whether a value that is not a string is written as the same text. */
function readsAsJson(text: string): boolean {
  // Keys are made for every call. Most strings do not need the parser.
  if (!MAY_BE_JSON.test(text)) return false
  const parsed = parseJson(text)
  return parsed.ok && canonicalJson(parsed.value) === text
}

/** The first character of an escape determines its length, so a separator may also be a hexadecimal digit. */
const escape = (text: string, separators: ReadonlySet<string>): string => isPlain(text, separators) ? text
  : Array.from(text, (char) => char === '%' || separators.has(char) || CONTROL.test(char) ? percent(char) : char).join('')

/** Most are. */
const isPlain = (text: string, separators: ReadonlySet<string>): boolean =>
  !text.includes('%') && !CONTROL.test(text) && !separators.values().some((one) => text.includes(one))

const percent = (char: string): string =>
  Array.from(encoder.encode(char), (byte) => '%' + byte.toString(16).padStart(2, '0')).join('')

const invalid = (message: string) => new BulkheadError('ApprovalKeyInvalid', message)
const unreadable = (template: string, fault: string) => invalid(`The approval key template "${template}" ${fault}.`)

/** One thing that a call would do. */
export interface CallSubject {
  /** What an approval or an allow rule refers to. A wide key covers only uses that are known to be alike. */
  readonly key: string
  /**
   * Other names of the same thing. Rules that deny or ask match any of them; rules that allow match only the key.
   * Absent for a key that is a path or a host.
   */
  readonly names?: readonly string[]
  /** Wider keys, nearest first. An approval of one of them covers this one. */
  readonly within?: readonly string[]
  /** The file or folder that the key names, by its absolute path. */
  readonly place?: { readonly kind: 'file' | 'folder'; readonly path: string }
  /** What rules and the allowlist name it by besides the key: the folder of a file. */
  readonly plain?: string
}

/** One thing that a call cannot do without. */
export interface CallNeed {
  readonly kind: 'fs.read' | 'fs.write' | 'net' | 'shell'
  /** An absolute path, a host with its port, or the name of a program. */
  readonly subject: string
  /** Set for a folder that is searched: access to anything below it is enough. */
  readonly below?: true
  /** The arguments of a program, if known. */
  readonly args?: readonly string[]
}

/** The commands of a call, as far as its arguments tell. It chooses their wall and the words of a question. */
export interface CommandReading {
  /** The line and its folder. A wall that stopped it is remembered for the same line. */
  readonly line: string
  /** Set if it seems to only read: what differs behind the look wall, where a wrong guess does no harm. */
  readonly look?: Pick<ArgumentsReading, 'key' | 'subjects'>
  /** The hosts that it seems to need. `all`: they have no names that a relay knows, as with ssh. */
  readonly hosts?: readonly string[] | 'all'
}

/** What the arguments of a call mean, found by reading them only. */
export interface ArgumentsReading {
  /** The key for an approval of the whole call. */
  readonly key: string
  /** Everything the call would do. An allow must cover all of them; a deny of one denies the call. */
  readonly subjects: readonly CallSubject[]
  /** What the call would touch, one line each, for the person who is asked. */
  readonly touches: readonly string[]
  /** Why a person is asked even if rules allow the call. `fresh`: even if the same was approved before. */
  readonly asks: readonly { readonly reason: string; readonly fresh: boolean }[]
  /** Why the call is always denied. */
  readonly denies: readonly string[]
  /**
   * Whether the call only reads inside the workspace. Then a bundled tool runs without approval. `walled`: that is a
   * judgement of its words or of files, so it does only where a file wall stands around commands.
   */
  readonly onlyReads?: boolean | 'walled'
  /** For a tool that runs commands: the host chooses the wall around them by this. */
  readonly command?: CommandReading
  /** The wall around commands that every call of this tool starts. If rules keep one from starting, the call is denied. */
  readonly startsBehind?: 'look' | 'work'
  /** What the call needs. A ceiling that forbids one of these denies the call before a person is asked. */
  readonly needs?: readonly CallNeed[]
  /** What the call would write, for the diff that an approval shows. Read only if a person is asked. */
  readonly writes?: PreviewedWrites
  /** What rules on files and hosts apply to, for a bundled tool. Absent: everything the tool may do. */
  readonly effects?: CallEffects
  /** The tools that the program in the arguments may call, or `all` if that cannot be told. */
  readonly tools?: readonly string[] | 'all'
}

/** A file as a call would leave it: with this content, without it if it is null, or with a string replaced. */
export type PreviewedWrite = { readonly path: string } & (
  | { readonly content: string | Uint8Array | null }
  | { readonly replace: { readonly before: string; readonly after: string; readonly all: boolean } }
)

/** Known from the arguments, or from the present content of the files that the call would write. */
export type PreviewedWrites =
  | readonly PreviewedWrite[]
  | ((fs: { read(path: string): Promise<Uint8Array> }) => Promise<readonly PreviewedWrite[]>)

/** What a call would do with files and the network. An absent field is unknown. */
export interface CallEffects {
  readonly reads?: readonly AffectedPath[]
  readonly writes?: readonly AffectedPath[]
  /** The call reaches no host. */
  readonly net?: false
}

export interface AffectedPath {
  /** Absolute, without `..`. It may contain links. */
  readonly path: string
  /** Whether everything below it is included. */
  readonly below: boolean
}

export interface ReaderContext {
  /** The canonical path of {workspace}. */
  readonly workspace: string
  /** Canonical folders beside it that {workspace} also stands for. */
  readonly roots?: readonly string[]
  /** Canonical paths that no tool may write, as `ProtectedPlaces` takes them. */
  readonly neverWritten?: readonly string[]
  /** The beginning of a file in the workspace. Absent for one that is missing or leads out of it. */
  readonly readStart?: ((path: string) => string | undefined) | undefined
}

/**
 * Reads the arguments of a tool with a locked name for the host, also if a third party implements the tool: the code
 * that runs a call does not describe it. Contract: pure and quick. A throw denies the call.
 */
export type ArgumentsReader = (args: JsonObject, context: ReaderContext) => ArgumentsReading
